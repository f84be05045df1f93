import { Row, ROW_BYTES, threadOf } from "./line-row.ts";

/**
 * What the rows of a whole part of the index hold, as a Bloom filter of 65,536 bits with three for each
 * thread and for the beginning of each id: a part that lacks what is asked for need not be read. A peer
 * can fill it with many threads; then the part is read, as all of them were without it.
 */
export const SUMMARY_BYTES = 8_193;
/** The first byte. A power cut leaves zeros. */
const IS_SUMMARY = 0x80;
/** The journal does not say of some row which thread it is of. */
const HAS_ANY_THREAD = 0x01;
/** Digits of an id that are looked at. */
const SUMMED_ID_DIGITS = 6;

type Places = readonly [number, number, number];

/** @param rows all rows of the part */
export function summaryOf(rows: Uint8Array): Uint8Array {
  const summary = new Uint8Array(SUMMARY_BYTES);
  summary[0] = IS_SUMMARY;
  const row = new Row();
  row.look(rows);
  for (let at = 0; at < rows.length; at += ROW_BYTES) {
    row.show(at);
    set(summary, idPlaces(row.idWord >>> 8));
    const { high, low } = row.thread;
    if (high === 0 && low === 0) summary[0] |= HAS_ANY_THREAD;
    else set(summary, threadPlaces(high, low));
  }
  return summary;
}

export function isSummary(summary: Uint8Array): boolean {
  return summary.length === SUMMARY_BYTES && ((summary[0] ?? 0) & IS_SUMMARY) !== 0;
}

/** Whether the part may have a row of that thread, or of an id that begins so: hex digits, as `find` takes them. */
export function mayHold(
  summary: Uint8Array,
  { thread, id }: { readonly thread?: string | undefined; readonly id?: string | undefined },
): boolean {
  if (thread !== undefined && ((summary[0] ?? 0) & HAS_ANY_THREAD) === 0) {
    const { high, low } = threadOf(thread);
    if (!has(summary, threadPlaces(high, low))) return false;
  }
  if (id === undefined || id.length < SUMMED_ID_DIGITS) return true;
  return has(summary, idPlaces(Number.parseInt(id.slice(0, SUMMED_ID_DIGITS), 16)));
}

/** Bits of a hash are as good as any. */
function threadPlaces(high: number, low: number): Places {
  return [high & 0xffff, high >>> 16, low & 0xffff];
}

/** @param digits 24 bits */
function idPlaces(digits: number): Places {
  return [
    digits & 0xffff,
    Math.imul(digits, 0x9e37_79b1) >>> 16,
    Math.imul(digits, 0x85eb_ca6b) >>> 16,
  ];
}

function set(summary: Uint8Array, places: Places): void {
  for (const place of places) summary[1 + (place >>> 3)] = byteWith(summary, place);
}

function has(summary: Uint8Array, places: Places): boolean {
  return places.every((place) => summary[1 + (place >>> 3)] === byteWith(summary, place));
}

/** The byte of that bit, as it is when the bit is set. */
function byteWith(summary: Uint8Array, place: number): number {
  return (summary[1 + (place >>> 3)] as number) | (1 << (place & 7));
}
