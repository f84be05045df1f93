import type { ChainMark, ChainMarks } from "./chain-marks.ts";
import type { NamedRange } from "./line-ranges.ts";
import type { Head } from "./heads.ts";

/**
 * What is held of each log, and what its author has covered of the others (spec 3.2, and "How
 * heads count" in 3.4). Coverage is judged once, in the order of the reader's log, as soon as we
 * hold the lines that a head counts, so it depends on the logs alone and not on arrival.
 */
export type LogsState = Map<string, LogState>;

export interface LogState {
  /** Whole lines held, refused and blank ones included. */
  lines: number;
  /** The last line that its author signed and that is no heartbeat. */
  said?: number;
  /** Of a closed log: the outbox that goes on with it; beats there are beats here too. Spec 1.6. */
  into?: string;
  /** Of a closed log, once we hold it: the line that has closed it. */
  closing?: ChainMark;
  /** Lines among them that its author did not sign. */
  foreign: number;
  /** Lines before the first of a pinned key, signed with one that is not pinned here. */
  unpinned?: number;
  /**
   * Of a log that was rewritten: how many of them it had before that. Of one out of which lines have
   * vanished: how many.
   */
  earlier?: number;
  /** Up to this line the count may be that of before the last lines vanished. */
  recounted?: number;
  /** Chained lines in order, `seq` rising: the last chained line among the first n is in here. */
  marks: ChainMarks;
  beats: BeatMark[];
  /** Beats up to that line were forgotten although something may still ask about them. */
  lostBeats?: number;
  /** The line of its first beat. */
  firstBeat: number | undefined;
  /** The same since its author is a member, where it was none for a time. Spec 3.11. */
  backBeat?: number;
  /** The line of its first beat that carries heads. */
  headsFrom: number | undefined;
  /** What this log's author covers of other logs, by target log. */
  readonly covers: Map<string, Coverage>;
  /** Heads of this log that named an event id which is not at that place, newest last. */
  readonly mismatches: HeadMismatch[];
}

/** One heartbeat. Beats that we refused count for outcomes all the same. */
export interface BeatMark {
  readonly line: number;
  readonly id: string;
  readonly timestamp: string;
  readonly timestampMs: number;
  readonly at: number;
  readonly live: boolean;
  /** `next_eta` − `timestamp`, as advertised and unbounded. */
  readonly cadenceMs: number | undefined;
  /** Of the newest beat; older ones keep only heads that name refusals. */
  readonly heads: ReadonlyMap<string, Head>;
  readonly state: string | undefined;
  readonly refusedByUs: boolean;
}

export interface HeadMismatch {
  readonly beat: number;
  readonly target: string;
  readonly lines: number;
}

export interface Coverage {
  /** Both columns rise: from the beat at line `beat` on, so many lines of the target are covered. */
  steps: { readonly beat: number; readonly lines: number }[];
  /** The same of the covered lines that its agent has read: `read_lines`. Spec 3.2. */
  reads: { readonly beat: number; readonly lines: number }[];
  /** Lines that the very first beat of the reader's log covers. */
  fromStart: number;
  /** The same of the beat at `backBeat`. */
  fromBack?: number;
  /** Heads over lines that we do not hold yet, in the order of their beats; from `next` on. */
  waiting: { readonly beat: number; readonly head: ClaimedHead }[];
  next: number;
  /** Beats from this line on can never be judged: too many heads were waiting. */
  overflow?: number;
  /** Target lines named as refused, with the line of the first beat that names them. */
  readonly refused: NamedRange[];
}

export type ClaimedHead = Pick<Head, "lines" | "seq" | "eventId" | "readLines">;

export function emptyLogs(): LogsState {
  return new Map();
}
