import { createHash } from "node:crypto";
import type { History } from "../../src/protocol/asks/history.ts";
import { Database } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { fromPlain, type JsonValue } from "../../src/wire/json/json.ts";
import { placesNamed, type Place, type PlaceJson } from "../../src/wire/places.ts";

/** Noon, milliseconds of Unix time: times of these lines are minutes behind it. */
const NOON_MS = Date.UTC(2026, 5, 1, 12);
const MINUTE_MS = 60_000;

export function atMinute(minute: number): number {
  return NOON_MS + Math.round(minute * MINUTE_MS);
}

/** A line with the times at which it was written and taken in. */
export interface TimedLine extends Place {
  readonly prev: string | null;
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly isLive: boolean;
  readonly thread: string;
  readonly type: string;
  readonly to: readonly string[] | undefined;
  readonly isAckRequired: boolean;
  readonly body: JsonValue;
}

export interface Saying {
  readonly thread?: string;
  readonly to?: readonly string[];
  readonly minute?: number;
  /** When it is taken in, if not when it is written. */
  readonly takenMinute?: number;
  readonly isHistorical?: boolean;
  readonly isAckRequired?: boolean;
}

/** Writes the lines of one agent, each a second behind the one before unless it is said when. */
export class TimedWriter {
  readonly author: string;
  readonly lines: TimedLine[] = [];
  #last: PlaceJson | undefined;
  #lastMs = NOON_MS;

  constructor(author: string) {
    this.author = author;
  }

  say(type: string, body: unknown, saying: Saying = {}): PlaceJson {
    const seq = (this.#last?.[1] ?? 0) + 1;
    this.#last = this.#write(type, body, saying, { seq, prev: this.#last?.[2] ?? null });
    return this.#last;
  }

  /** A line in no chain. */
  sayLoose(type: string, body: unknown, saying: Saying = {}): PlaceJson {
    return this.#write(type, body, saying, { seq: null, prev: null });
  }

  /** Shows for each of these lines that it is taken in, and up to which number its author's lines are read. */
  beat(
    minute: number,
    heads: readonly (readonly [line: PlaceJson, read: number])[],
    more: object = {},
    saying: Saying = {},
  ): PlaceJson {
    const entries = heads.map(([[author, seq, id], read]) => [author, [seq, id, read]] as const);
    const body = { heads: Object.fromEntries(entries), ...more };
    return this.say("heartbeat", body, { minute, thread: "", ...saying });
  }

  /** The next line follows this one, whatever was written since. */
  goBackTo(place: PlaceJson | undefined): void {
    this.#last = place;
  }

  get last(): PlaceJson {
    if (this.#last === undefined) throw new Error(`${this.author} has said nothing`);
    return this.#last;
  }

  #write(
    type: string,
    body: unknown,
    saying: Saying,
    chain: { readonly seq: number | null; readonly prev: string | null },
  ): PlaceJson {
    const { author } = this;
    const sentMs = saying.minute === undefined ? this.#lastMs + 1_000 : atMinute(saying.minute);
    this.#lastMs = sentMs;
    const receivedMs = saying.takenMinute === undefined ? sentMs : atMinute(saying.takenMinute);
    const text = JSON.stringify([author, chain, type, body, sentMs, this.lines.length]);
    const id = createHash("sha256").update(text).digest("hex");
    const { thread = "t1", to = ["*"], isHistorical = false, isAckRequired = false } = saying;
    this.lines.push({
      ...{ author, id, ...chain, sentMs, receivedMs, isLive: !isHistorical },
      ...{ thread, type, to, isAckRequired, body: fromPlain(body) },
    });
    return [author, chain.seq, id];
  }
}

export const placeFrom = ([author, seq, id]: PlaceJson): Place => ({ author, seq, id });

export function emptyStore(): Store {
  return new Store(Database.open(":memory:"));
}

/** Holds lines one by one; `take` sees each as soon as it is linked, or when it is in no chain. */
export function holdAll(
  store: Store,
  lines: readonly TimedLine[],
  take: (history: History, place: Place, line: TimedLine) => void = () => {},
): History {
  const history = store.history("w");
  const byId = new Map(lines.map((line) => [line.id, line]));
  store.write((into) => {
    for (const line of lines) {
      const { author, seq, id, prev, thread, type, to, body, isAckRequired } = line;
      const timestamp = new Date(line.sentMs).toISOString();
      const fields = { from: author, timestamp, type, to, body, correlation_id: thread };
      const all = { ...fields, ack_required: isAckRequired, signature: "" };
      const held = into.hold({
        ...{ author, seq, id, prev, thread, type, sentMs: line.sentMs },
        ...{
          receivedMs: line.receivedMs,
          isLive: line.isLive,
          isOurs: true,
          isUrgent: false,
          keyId: null,
          isVerified: true,
        },
        bytes: Buffer.from(JSON.stringify(all)),
        names: seq === null ? [] : placesNamed(body),
      });
      const taken = seq === null && held.isNew ? [held.n] : held.linked;
      for (const n of taken) {
        const linked = store.line(n);
        const source = linked && byId.get(linked.id);
        if (linked === undefined || source === undefined) throw new Error("a line is lost");
        take(history, { author: linked.author, seq: linked.seq, id: linked.id }, source);
      }
    }
  });
  return history;
}

/** The lines in another order. */
export function shuffle<T>(all: readonly T[], random: () => number): T[] {
  return all
    .map((each) => ({ each, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ each }) => each);
}
