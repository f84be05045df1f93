import { appendFileSync } from "node:fs";
import { composeLine, composeLoose, type Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { makeSigner } from "../../../src/wire/signature.ts";
import { secretOf, WIRE_ID } from "../../support/core-wire.ts";
import { HOSTILE } from "./cast.ts";
import type { Stage } from "./stage.ts";
import { inWire, microsOf, textOf } from "./texts.ts";
import type { HeldLine } from "../../../src/store/store.ts";

type Head = { readonly seq: number; readonly id: string };

/** A member with a key that is believed, whose lines are whatever may harm others. */
export class Hostile {
  readonly #stage: Stage;
  readonly #signer = makeSigner(HOSTILE, secretOf(HOSTILE));
  /** Every line of its chains: it goes on behind any of them. */
  readonly #heads: (Head | undefined)[] = [undefined];
  #count = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** It sees all that others hold, as who shares a folder does. */
  read(): void {
    for (const name of this.#stage.cast.honest) this.#stage.carrying.carryWell(name, HOSTILE);
  }

  act(): string {
    const { luck } = this.#stage;
    const [name, act] = luck.weighted<readonly [string, () => void]>([
      [3, ["goes on", () => this.#chain({})]],
      [1, ["forks its chain", () => this.#chain({}, luck.pick(this.#heads))]],
      [1, ["leaves a gap", () => this.#chain({}, this.#far())]],
      [3, ["asks", () => this.#ask()]],
      [3, ["answers what it was not asked", () => this.#answer()]],
      [3, ["closes an ask", () => this.#close()]],
      [1, ["names what nobody holds", () => this.#chain({ body: fromPlain(this.#nothing()) })]],
      [2, ["shows heads", () => this.#beat()]],
      [2, ["writes as somebody else", () => this.#forge()]],
      [2, ["repeats lines of others", () => this.#repeat()]],
      [1, ["writes of another wire", () => this.#chain({}, this.#heads.at(-1), "1".repeat(16))]],
      [1, ["changes a line that it signed", () => this.#flip()]],
      [1, ["writes no lines at all", () => this.#junk()]],
      [1, ["writes outside its chain", () => this.#loose()]],
    ]);
    act();
    return name;
  }

  #chain(
    draft: Partial<Draft>,
    head: Head | undefined = this.#heads.at(-1),
    wireId = WIRE_ID,
  ): Head {
    // No thread is named by the timestamp of an answer in it.
    const timestamp = this.#timestamp(draft.type === "ack" ? draft.correlationId : undefined);
    const at = { timestamp, wireId, head };
    const whole = {
      type: "ship",
      to: ["*"],
      subject: "hostile",
      body: "",
      ackRequired: draft.type === "proposal",
      ...draft,
    };
    const { line, id } = composeLine(whole, at, this.#signer);
    this.#append(Buffer.from(line).toString());
    const made = { seq: (head?.seq ?? 0) + 1, id };
    if (wireId === WIRE_ID && made.seq < 1_000) this.#heads.push(made);
    return made;
  }

  #ask(): void {
    const { luck, cast, asked } = this.#stage;
    const parties = luck.some(cast.honest.filter((name) => cast.roster.has(name)));
    const is = luck.pick(["proposal", "request"] as const);
    const body = fromPlain({ required: parties, decision: "mine", request_type: "x" });
    const timestamp = this.#timestamp();
    const { seq, id } = this.#chain({ type: is, to: parties, body, correlationId: timestamp });
    asked.push({ line: { author: HOSTILE, seq, id, thread: timestamp }, is, parties });
  }

  #answer(): void {
    const ask = this.#anyAsk();
    if (ask === undefined) return;
    const name = this.#stage.luck.pick(["acks", "answers", "counters"]);
    const type = name === "counters" ? "proposal" : "ack";
    const required = [ask.author];
    const body = fromPlain({ [name]: placeJson(ask), approve: true, required });
    this.#chain({ type, to: required, correlationId: ask.thread, body });
  }

  #close(): void {
    const { luck, asked } = this.#stage;
    const ask = this.#anyAsk();
    if (ask === undefined) return;
    const parties = asked.find(({ line }) => line.id === ask.id)?.parties ?? [];
    const answers = parties.map((by) => {
      const line = this.#anyLine(by);
      return { by, ack: line && placeJson(line), at: line && [line.seq, line.id] };
    });
    const body = fromPlain({
      decides: placeJson(ask),
      outcome: luck.pick(["approved", "approved", "ended", "rejected"]),
      answers: JSON.parse(JSON.stringify(answers)) as unknown,
      reason: "so",
    });
    this.#chain({ type: "correction", to: ["*"], correlationId: ask.thread, body });
  }

  #beat(): void {
    const { luck, cast } = this.#stage;
    const heads = cast.honest.map((name) => {
      const line = this.#anyLine(name);
      const place = luck.chance(0.5) || line === undefined ? this.#place() : [line.seq, line.id];
      return [name, [...place, luck.between(0, 9)]];
    });
    const body = fromPlain({ heads: Object.fromEntries(heads) as unknown, read: {} });
    this.#chain({ type: "heartbeat", body });
  }

  #forge(): void {
    const { luck, cast } = this.#stage;
    const victim = luck.pick(cast.honest);
    const line = this.#anyLine(victim);
    const seq = line?.seq ?? null;
    const head = line === undefined || seq === null ? undefined : { seq, id: line.id };
    const at = { timestamp: this.#timestamp(), wireId: WIRE_ID, head };
    const draft = { type: "ship", to: ["*"], subject: "forged", body: "" };
    const forged = makeSigner(victim, secretOf(HOSTILE));
    this.#append(Buffer.from(composeLine(draft, at, forged).line).toString());
  }

  #repeat(): void {
    const { luck, cast } = this.#stage;
    const lines = cast.honest.flatMap((name) => this.#anyLine(name) ?? []);
    for (const line of luck.shuffled([...lines, ...lines])) {
      const text = textOf(line);
      this.#append(luck.chance(0.5) ? text : text.replace('"subject":"', '"subject":" '));
    }
  }

  #flip(): void {
    const { luck } = this.#stage;
    const at = { timestamp: this.#timestamp(), wireId: WIRE_ID, head: this.#heads.at(-1) };
    const draft = { type: "ship", to: ["*"], subject: "flipped", body: "" };
    const bytes = Buffer.from(composeLine(draft, at, this.#signer).line);
    const place = luck.between(0, bytes.length);
    bytes[place] = (bytes[place] ?? 0) ^ (1 << luck.between(0, 7));
    this.#append(bytes.toString("latin1"));
  }

  #junk(): void {
    const { luck } = this.#stage;
    this.#append(
      luck.pick([
        "[".repeat(5_000),
        `{"from":"forge","seq":1,"type":"ship"}`,
        "x".repeat(70_000),
        '{"a":1,"a":2}',
        "\u0000\u0001",
        "",
      ]),
    );
  }

  #loose(): void {
    const at = { timestamp: this.#timestamp(), wireId: WIRE_ID };
    const draft = { type: "heartbeat", to: ["*"], subject: "", body: fromPlain(this.#nothing()) };
    this.#append(Buffer.from(composeLoose(draft, at, this.#signer).line).toString());
  }

  #append(text: string): void {
    const { luck, carrying, cast } = this.#stage;
    const to = luck.pick(["", ...cast.honest]);
    const name = to === "" ? ["outbox", `${HOSTILE}.jsonl`] : [`${HOSTILE}_to_${to}.jsonl`];
    appendFileSync(inWire(carrying.folder(HOSTILE), ...name), `${text}\n`);
  }

  #far(): Head {
    return { seq: (this.#heads.at(-1)?.seq ?? 0) + 3, id: this.#id() };
  }

  #nothing() {
    const [seq, id] = this.#place();
    return { about: ["forge", seq, id], text: "of nothing" };
  }

  #place(): [number, string] {
    return [this.#stage.luck.between(1, 90), this.#id()];
  }

  #id(): string {
    return Array.from({ length: 64 }, () => this.#stage.luck.between(0, 16).toString(16)).join("");
  }

  #anyAsk() {
    const { luck, asked } = this.#stage;
    return asked.length === 0 ? undefined : luck.pick(asked.slice(-6)).line;
  }

  #anyLine(author: string): HeldLine | undefined {
    const { luck, wire } = this.#stage;
    const core = wire.agents.get(author)?.core;
    const { seq = 0 } = core?.store.chains.whole(author) ?? {};
    if (core === undefined || seq === 0) return undefined;
    return core.store.chain(author, { after: luck.between(0, seq), limit: 1 })[0];
  }

  #timestamp(besides?: string): string {
    this.#count += 1;
    const timestamp = microsOf(this.#stage.wire.nowMs, this.#count);
    return timestamp === besides ? this.#timestamp() : timestamp;
  }
}
