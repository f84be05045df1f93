import { DAY_MS, MINUTE_MS } from "../../wire/durations.ts";
import type { ChainPlace } from "../../wire/places.ts";
import type { Want } from "./beat.ts";

/** A line that a reader lacks and we hold. */
export interface WantedLine {
  /** Its number in our store. */
  readonly n: number;
  readonly place: ChainPlace;
}

/** What the store says of serving. */
export interface ServingRecords {
  /** Whether a line is ours, or a line of our chain names it, or one that descends from it. */
  hasNamed(line: ChainPlace): boolean;
  /** The lines that a want is for and that are held, the lowest first, at most so many. */
  linesFor(want: Want, limit: number): readonly WantedLine[];
  /** When we last copied a line for a reader, or first left it out, milliseconds of Unix time. */
  servedMs(reader: string, n: number): number | undefined;
  /** What was done for a reader since then: copies, and lines copied or left out. */
  served(reader: string, sinceMs: number): { readonly copies: number; readonly lines: number };
}

/** What is done with a wanted line: it is copied into a carrier of ours, or left out for now. */
export interface Serving extends WantedLine {
  readonly isCopy: boolean;
}

const MOST_LINES_A_BEAT = 256;
const MOST_COPIES_A_DAY = 4_096;
const MOST_LINES_A_DAY = 2 * MOST_COPIES_A_DAY;
/** What was copied or left out is copied when it is wanted again after this time. */
const AGAIN_MS = 10 * MINUTE_MS;

/**
 * What we do with the wants of a beat of another agent. Spec 3.2.4.
 *
 * @param isCarried whether a line stands in a carrier of its author; asked of few lines
 */
export function serveWants(
  records: ServingRecords,
  reader: string,
  { isChained, wants }: { readonly isChained: boolean; readonly wants: readonly Want[] },
  { nowMs, isCarried }: { readonly nowMs: number; isCarried(line: WantedLine): boolean },
): readonly Serving[] {
  const asked = new Map<number, WantedLine>();
  for (const want of wants) {
    // A store that was lost cannot chain yet: it may ask for its own lines all the same.
    if (!isChained && want.last.author !== reader) continue;
    if (!records.hasNamed(want.last)) continue;
    for (const line of records.linesFor(want, MOST_LINES_A_BEAT))
      if (asked.size < MOST_LINES_A_BEAT) asked.set(line.n, line);
  }
  let { copies, lines } = records.served(reader, nowMs - (nowMs % DAY_MS));
  const servings: Serving[] = [];
  for (const line of asked.values()) {
    if (copies >= MOST_COPIES_A_DAY || lines >= MOST_LINES_A_DAY) break;
    const servedMs = records.servedMs(reader, line.n);
    if (servedMs !== undefined && servedMs + AGAIN_MS > nowMs) continue;
    const isCopy = servedMs !== undefined || !isCarried(line);
    servings.push({ ...line, isCopy });
    if (isCopy) copies += 1;
    lines += 1;
  }
  return servings;
}
