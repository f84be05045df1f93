import { parseKeyId } from "../../wire/signature.ts";
import { isSamePlace, placeJson, type Place, type PlaceJson } from "../../wire/places.ts";
import type { HeldLine } from "../../store/store.ts";
import { lineAt } from "../../protocol/asks/history.ts";
import { correctedBy } from "./messages.ts";
import type { Owing } from "./pending.ts";

/** A line that a key has validly signed. */
export interface KeyLine {
  readonly place: PlaceJson;
  readonly event_id: string;
  readonly type: string;
  readonly subject: string;
  /** Our receipt; of a line that was there before we were what it says, though not before the line before it. */
  readonly at: string;
  /** Whether `at` is our own receipt time. */
  readonly received: boolean;
  /** Signed with a stopped key after the last line noted then: no reader has to believe it. */
  readonly after_the_end: boolean;
  /** Event ids of corrections that name it, signed with another key. */
  readonly corrected_by: readonly string[];
}

const PAGE = 1_024;
/**
 * What one key has signed from `sinceMs` (milliseconds of Unix time) on, in the order in which it was taken in,
 * believed or not. Lines behind its end are listed whatever their time: who stole the key can write any time.
 * Spec 2.5.
 */
export function keyHistory(known: Owing, keyId: string, sinceMs: number): KeyLine[] {
  const author = parseKeyId(keyId)?.handle;
  if (author === undefined) return [];
  const lines: KeyLine[] = [];
  const threads = new Map<string, readonly Correction[]>();
  for (let after = 0; ;) {
    const page = known.store.audit.signedBy(author, keyId, { after, limit: PAGE });
    for (const n of page) {
      const line = known.store.line(n);
      if (line === undefined) continue;
      const isLate = isBehindEnd(known, line, keyId);
      if (!isLate && line.receivedMs < sinceMs) continue;
      const corrections = threads.get(line.thread) ?? correctionsIn(known, line.thread, keyId);
      threads.set(line.thread, corrections);
      lines.push(keyLine(known, line, isLate, corrections));
    }
    const last = page.at(-1);
    if (last === undefined) return lines;
    after = last;
  }
}

function keyLine(
  known: Owing,
  line: HeldLine,
  isLate: boolean,
  corrections: readonly Correction[],
): KeyLine {
  const { id, type, receivedMs, isLive } = line;
  return {
    place: placeJson(line),
    event_id: id,
    type,
    subject: lineAt(known.history, line)?.subject ?? "",
    at: new Date(receivedMs).toISOString(),
    received: isLive,
    after_the_end: isLate,
    corrected_by: corrections.filter(({ of }) => isSamePlace(of, line)).map(({ id }) => id),
  };
}

/** The key was stopped, and the last line for which it is believed is not this one or behind it. */
function isBehindEnd({ place, store }: Owing, line: HeldLine, keyId: string): boolean {
  const { author, seq, id, aside } = line;
  if (aside === "struck") return true;
  const key = place.believed(author).keys.find((each) => each.keyId === keyId);
  if (key === undefined || key.active) return false;
  if (key.last === undefined || seq === null) return true;
  const last = { author, ...key.last };
  const at = { author, seq, id };
  return !isSamePlace(last, at) && !store.chains.descends(last, at);
}

interface Correction {
  readonly id: string;
  readonly of: Place;
}

/** All corrections in a thread that another key has signed: a flood of lines hides none. Spec 1.7. */
function correctionsIn(known: Owing, thread: string, keyId: string): Correction[] {
  const found: Correction[] = [];
  for (let after = 0; ;) {
    const page = known.store.thread(thread, { after, limit: PAGE });
    for (const line of page) {
      const of = correctedBy(known, line);
      if (of !== undefined && line.keyId !== keyId) found.push({ id: line.id, of });
    }
    const last = page.at(-1);
    if (last === undefined) return found;
    after = last.n;
  }
}
