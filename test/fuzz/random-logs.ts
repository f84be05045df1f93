import { lineOf, signV30, signV31, type Fields, type Person } from "../trust/people.ts";
import { sha256Hex, V31_OMIT, canonicalBytes } from "../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import type { Picker } from "./picker.ts";

/** A line that stands in one of an author's logs, or may be copied into another. */
interface Written {
  readonly log: string;
  readonly id: string;
  readonly type: string;
  readonly from: string;
  readonly thread: string;
  readonly seq: number | undefined;
  readonly line: Uint8Array;
}

const OTHER_WIRE = "0123456789abcdef";

/**
 * What agents without a daemon write who keep to no rule: chained and unchained lines of all
 * versions, for this wire, another or none, copies, forks and gaps; proposals, acks of anything,
 * reverts and beats over whatever stands there.
 */
export class RandomAuthors {
  readonly #pick: Picker;
  readonly #people: ReadonlyMap<string, Person>;
  readonly #wireId: string;
  readonly #pairs: readonly (readonly [from: string, to: string])[];
  readonly #written: Written[] = [];
  readonly #sizes = new Map<string, number>();

  constructor(
    pick: Picker,
    wireId: string,
    people: readonly Person[],
    pairs: readonly (readonly [from: string, to: string])[],
  ) {
    this.#pick = pick;
    this.#wireId = wireId;
    this.#people = new Map(people.map((who) => [who.handle, who]));
    this.#pairs = pairs;
  }

  /** A line of somebody else's that may be answered. */
  heard(log: string, line: string): void {
    const said = JSON.parse(line) as Record<string, unknown>;
    this.#sizes.set(log, (this.#sizes.get(log) ?? 0) + 1);
    const seq = typeof said["seq"] === "number" ? said["seq"] : undefined;
    this.#written.push({
      log,
      id: String(said["event_id"]),
      type: String(said["type"]),
      from: String(said["from"]),
      thread: String(said["correlation_id"]),
      seq,
      line: Buffer.from(line),
    });
  }

  /** The next line, and into which log it goes. */
  next(nowMs: number): { readonly log: string; readonly line: Uint8Array } {
    const pick = this.#pick;
    const [from, to] = pick.one(this.#pairs);
    const log = `${from}_to_${to}`;
    const own = this.#written.filter((each) => each.from === from);
    this.#sizes.set(log, (this.#sizes.get(log) ?? 0) + 1);
    if (own.length > 0 && pick.once(9)) {
      const { line } = pick.one(own);
      return { log, line: pick.once(3) ? respelled(line) : line };
    }
    const said = this.#said(from, to, nowMs);
    const line = this.#signed(said, from, log);
    this.#note(log, line);
    return { log, line };
  }

  #said(from: string, to: string, nowMs: number): Fields {
    const pick = this.#pick;
    const timestamp = new Date(nowMs - (pick.once(6) ? pick.below(90_000) : 0)).toISOString();
    const others = [...this.#people.keys()].filter((each) => each !== from);
    const about = this.#written.filter((each) => each.from !== from || pick.once(4)).slice(-8);
    const target = about.length === 0 ? undefined : pick.one(about);
    const base = { timestamp, from, to: pick.once(6) ? [pick.one([...others, "*"])] : [to] };
    const thread = target === undefined || pick.once(4) ? timestamp : target.thread;
    const said = { ...base, subject: "by hand", correlation_id: thread, ack_required: false };
    const type = pick.one(["proposal", "proposal", "ack", "ack", "ack", "correction", "heartbeat"]);
    if (type === "proposal") {
      return { ...said, type, ack_required: true, body: { required: [to], decision: "so" } };
    }
    if (type === "heartbeat")
      return { ...said, type, correlation_id: "beat", body: this.#beat(from) };
    const { id } = target ?? { id: "0".repeat(64) };
    if (type === "correction") {
      const mine = this.#written.findLast((each) => each.from === from && each.type === "proposal");
      return { ...said, type, correlation_id: mine?.thread ?? thread, body: { reverts: mine?.id } };
    }
    const approve = pick.one([{}, {}, { approve: true }, { approve: false }]);
    const names = pick.once(5) ? {} : { acks: id };
    const correlation = thread === timestamp ? "a thread" : thread;
    return { ...said, type, correlation_id: correlation, body: { ...names, ...approve } };
  }

  #beat(from: string): object {
    const pick = this.#pick;
    const heads = [...this.#sizes].flatMap(([log, size]) => {
      if (log.startsWith(`${from}_to_`)) return [];
      const lines = pick.once(5) ? pick.below(size + 2) : size;
      return [[log, { lines, read_lines: lines, refused: [] }] as const];
    });
    return { wakeup_count: 1, state: "idle", heads: Object.fromEntries(heads) };
  }

  #signed(said: Fields, from: string, log: string): Uint8Array {
    const pick = this.#pick;
    const who = this.#people.get(from) as Person;
    const here = { wire: this.#wireId };
    const named = pick.one([here, here, here, {}, { wire: OTHER_WIRE }]);
    switch (pick.one(["chained", "chained", "chained", "v3.1", "v3.0", "v3.0", "v2.0"])) {
      case "chained":
        return lineOf(
          signV31({ ...said, ...this.#place(log), ...(pick.once(12) ? named : here) }, who),
        );
      case "v3.1":
        return lineOf(signV31({ ...said, ...named }, who));
      case "v3.0":
        return lineOf(signV30({ ...said, ...named }, who));
      default:
        return lineOf({ ...said, ...named });
    }
  }

  /** Mostly the next place in the chain. */
  #place(log: string): object {
    const chained = this.#written.filter((each) => each.log === log && each.seq !== undefined);
    const head = this.#pick.once(25)
      ? chained[this.#pick.below(chained.length + 1)]
      : chained.at(-1);
    const seq = (head?.seq ?? 0) + (this.#pick.once(25) && head !== undefined ? 2 : 1);
    return { log, seq, ...(head === undefined ? {} : { prev: head.id }) };
  }

  #note(log: string, line: Uint8Array): void {
    const said = JSON.parse(Buffer.from(line).toString("utf8")) as Record<string, unknown>;
    const bytes = canonicalBytes(fromPlain(said) as JsonObject, V31_OMIT);
    this.#written.push({
      log,
      id: sha256Hex(bytes),
      type: String(said["type"]),
      from: String(said["from"]),
      thread: String(said["correlation_id"]),
      seq: typeof said["seq"] === "number" ? said["seq"] : undefined,
      line,
    });
  }
}

/** The same content in other bytes. */
function respelled(line: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(line).toString("utf8").replace('","', '", "'));
}
