import { createHash } from "node:crypto";
import { Database } from "../../src/store/database.ts";
import { Store, type NewLine } from "../../src/store/store.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { placesNamed, type ChainPlace, type Place, type PlaceJson } from "../../src/wire/places.ts";
import type { ModelLine } from "../model/model.ts";

/** What a store is told of a line. */
export function newLine(line: ModelLine, receivedMs = 0): NewLine {
  const { author, seq, id, thread = "", type, timestamp, to, body, isSigned } = line;
  const place: Place = { author, seq, id };
  const fields = { from: author, timestamp, type, to, body, correlation_id: thread };
  const bytes = Buffer.from(JSON.stringify(isSigned ? { ...fields, signature: "" } : fields));
  return {
    ...{ ...place, prev: line.prev, thread, type, sentMs: 0, receivedMs, bytes },
    ...{ isLive: true, isOurs: true, isUrgent: false, keyId: null, isVerified: true },
    names: seq === null ? [] : placesNamed(body),
  };
}

/** A store in memory that holds these lines, taken in in this order. */
export function storeOf(lines: readonly ModelLine[], wireId = "w"): Store {
  const store = new Store(Database.open(":memory:"));
  store.write((into) => {
    for (const line of lines) into.hold(newLine(line));
    while (!store.asks.judge(wireId, 1)) continue;
  });
  return store;
}

/** Writes the chain of one agent, branch by branch. */
export class Writer {
  readonly lines: ModelLine[] = [];
  readonly author: string;
  #last: ChainPlace | undefined;
  #loose = 0;

  constructor(author: string) {
    this.author = author;
  }

  /** Appends a line; returns its place as it stands in JSON. */
  say(type: string, thread: string, body: unknown, to: readonly string[] = ["*"]): PlaceJson {
    const seq = (this.#last?.seq ?? 0) + 1;
    const prev = this.#last?.id ?? null;
    const id = idOf(`${this.author} ${seq} ${prev} ${type} ${thread} ${JSON.stringify(body)}`);
    const value = fromPlain(body);
    this.lines.push({
      ...{ author: this.author, seq, id, prev, thread, type, to, body: value, isSigned: true },
      timestamp: `${this.author} ${seq}`,
    });
    this.#last = { author: this.author, seq, id };
    return [this.author, seq, id];
  }

  /** A line in no chain. */
  sayLoose(type: string, thread: string, body: unknown, to?: readonly string[]): PlaceJson {
    this.#loose += 1;
    const id = idOf(`${this.author} loose ${this.#loose}`);
    const timestamp = `${this.author} loose ${this.#loose}`;
    const value = fromPlain(body);
    this.lines.push({
      ...{ author: this.author, seq: null, id, prev: null, timestamp, thread, type, to },
      ...{ body: value, isSigned: true },
    });
    return [this.author, null, id];
  }

  beat(heads: Readonly<Record<string, PlaceJson>>): PlaceJson {
    const entries = Object.entries(heads).map(([author, [, seq, id]]) => [author, [seq, id, seq]]);
    return this.say("heartbeat", "", { heads: Object.fromEntries(entries) as unknown });
  }

  /** The next line follows this one, whatever was written since. */
  goBackTo([author, seq, id]: PlaceJson): void {
    this.#last = seq === null ? undefined : { author, seq, id };
  }

  get last(): PlaceJson {
    if (this.#last === undefined) throw new Error(`${this.author} has said nothing`);
    return [this.#last.author, this.#last.seq, this.#last.id];
  }
}

function idOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
