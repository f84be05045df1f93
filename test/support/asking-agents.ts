import { createHash } from "node:crypto";
import { closingsOf, type OpenAsk, type Situation } from "../../src/protocol/asks/closing.ts";
import { readAsk } from "../../src/protocol/asks/ask-line.ts";
import { outcomeOf, type Outcome } from "../../src/protocol/asks/outcome.ts";
import type { History } from "../../src/protocol/asks/history.ts";
import { Database } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/wire/durations.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import type { ChainPlace, PlaceJson } from "../../src/wire/places.ts";
import type { ModelLine } from "../model/model.ts";
import { newLine } from "./chain-lines.ts";

const BEGIN_MS = Date.UTC(2026, 5, 1);
export const WIRE = "w";

/** What an agent says: the rest of a line follows from its chain. */
interface Words {
  readonly type: string;
  readonly thread: string;
  readonly body: unknown;
  readonly to?: readonly string[] | undefined;
}

/** An agent with a store of its own, that gets lines of others when it is handed them, and closes its asks. */
export class AskingAgent {
  readonly name: string;
  readonly store = new Store(Database.open(":memory:"));
  readonly history: History = this.store.history(WIRE);
  readonly lines: ModelLine[] = [];
  /** It answers what it reads, and no daemon closes for it. */
  readonly isChained: boolean;
  /** The last line of each author up to which all are held. */
  readonly whole = new Map<string, ChainPlace>();
  readonly readTo = new Map<AskingAgent, number>();
  readonly forked = new Set<string>();
  readonly left = new Set<string>();
  nowMs = BEGIN_MS;
  #next = 0;

  constructor(name: string, isChained = true) {
    this.name = name;
    this.isChained = isChained;
    if (isChained) this.say({ type: "heartbeat", thread: "", body: {} });
  }

  /** Says a line, and takes it in; returns its place as it stands in JSON. */
  say({ type, thread, body, to = ["*"] }: Words): PlaceJson {
    const last = this.whole.get(this.name);
    const seq = this.isChained ? (last?.seq ?? 0) + 1 : null;
    this.#next += 1;
    const id = createHash("sha256").update(`${this.name} ${this.#next}`).digest("hex");
    const line: ModelLine = {
      ...{ author: this.name, seq, id, prev: seq === null ? null : (last?.id ?? null) },
      timestamp: new Date(this.nowMs + this.#next).toISOString().replace("Z", "000Z"),
      ...{ thread, type, to, body: fromPlain(body), isSigned: true },
    };
    const begun = thread === "new" ? { ...line, thread: line.timestamp } : line;
    this.lines.push(begun);
    this.take(begun);
    return [this.name, seq, id];
  }

  /** The thread of its last line. */
  get thread(): string {
    return this.lines.at(-1)?.thread ?? "";
  }

  take(line: ModelLine): void {
    this.store.write((into) => {
      const addressed = line.to?.some((name) => name === this.name || name === "*") === true;
      const { n } = into.hold({ ...newLine(line, this.nowMs), isLive: true, isOurs: addressed });
      if (line.seq === null && line.to === undefined) this.store.asks.addParty(n, this.name);
      while (!this.store.asks.judge(WIRE, 16)) continue;
    });
    const { author, seq, id } = line;
    if (seq !== null && seq === (this.whole.get(author)?.seq ?? 0) + 1)
      this.whole.set(author, { author, seq, id });
  }

  /** What became of an ask, by the lines that it holds. */
  outcome([author, seq, id]: PlaceJson, of?: string): Outcome["is"] {
    const place = { author, seq, id };
    const line = this.history.linked(place) ?? this.history.loose(place);
    const ask = line === undefined ? undefined : readAsk(line);
    if (ask === undefined) throw new Error("no ask is there");
    return outcomeOf(this.history, ask, of).is;
  }

  /** Takes in some more lines of another agent, in their order; returns whether there were any. */
  read(other: AskingAgent, count = Infinity): boolean {
    const from = this.readTo.get(other) ?? 0;
    const some = other.lines.slice(from, from + count);
    for (const line of some) this.take(line);
    this.readTo.set(other, from + some.length);
    return some.length > 0;
  }

  /** A beat of another agent says now that it is free. */
  ready(party: string): void {
    const whole = this.whole.get(party);
    this.store.write(() => {
      if (whole !== undefined) this.store.asks.addReady(this.name, whole, this.nowMs);
    });
  }

  beat(): void {
    const heads = [...this.whole.values()]
      .filter(({ author }) => author !== this.name)
      .map(({ author, seq, id }) => [author, [seq, id, seq]]);
    if (heads.length > 0)
      this.say({
        type: "heartbeat",
        thread: "",
        body: { heads: Object.fromEntries(heads) as unknown },
      });
  }

  situation(): Situation {
    return {
      ...{ us: this.name, nowMs: this.nowMs, answerMs: 30 * MINUTE_MS, proposalMs: 24 * HOUR_MS },
      whole: (author) => this.whole.get(author),
      isForked: (author) => this.forked.has(author),
      isMember: (author) => !this.left.has(author),
      chains: (author) => this.whole.has(author),
      isSilent: () => false,
      cadenceMs: () => MINUTE_MS,
      isReadToEnd: () => true,
    };
  }

  /** Closes what there is to close; returns what it has written. */
  close(): PlaceJson[] {
    const written: PlaceJson[] = [];
    for (let before = -1; this.isChained && before < written.length;) {
      before = written.length;
      for (const open of this.store.asks.open(this.name)) {
        const others = this.store.asks.open(this.name, open.ask.thread);
        const drafts = closingsOf(
          this.history,
          this.situation(),
          open,
          others.filter(isOther(open)),
        );
        for (const draft of drafts) written.push(this.say(draft));
        if (drafts.length > 1) break;
      }
    }
    return written;
  }
}

function isOther({ ask }: OpenAsk): (other: OpenAsk) => boolean {
  return (other) => other.ask.place.id !== ask.place.id;
}
