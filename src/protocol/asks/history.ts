import type { ChainPlace, Naming, Place, RefusedLines } from "../../wire/places.ts";
import type { JsonValue } from "../../wire/json/json.ts";

/** A line as outcomes see it; it may break the schema. */
export interface HistoryLine {
  readonly place: Place;
  readonly timestamp: string;
  readonly thread: string;
  readonly type: string;
  /** Handles or `*`; undefined when the line does not say. */
  readonly to: readonly string[] | undefined;
  readonly isAckRequired: boolean;
  readonly body: JsonValue;
}

/** A line of a chain that is linked down to the chain's first. */
export interface LinkedLine extends HistoryLine {
  readonly place: ChainPlace;
  /** Undefined for the first line. */
  readonly prev: ChainPlace | undefined;
}

/** A line that is in no chain. */
export interface LooseLine extends HistoryLine {
  readonly isSigned: boolean;
}

/** Lines of a thread that can move a position. */
export const WORD_TYPES = ["proposal", "request", "ack", "correction"] as const;
/** Of one branch and thread, so many words are read. */
export const MOST_WORDS = 1_024;

/** What a head says of a line: that its author has taken it in, or has read it too. */
export type HeadShows = "taken_in" | "read";

/** When we took a line in, milliseconds of Unix time. It is not live when it was there before we were. */
export interface Receipt {
  /** Counts lines in the order in which they were taken in. */
  readonly n: number;
  readonly atMs: number;
  readonly isLive: boolean;
}

/** Which lines of many are looked at: the first or the last ones, by `seq`, then by id. */
export interface Few {
  readonly from: "first" | "last";
  readonly limit: number;
}

/** The authentic lines that are held, as questions. Outcomes are judged by nothing else. */
export interface History {
  readonly wireId: string;
  linked(place: Place): LinkedLine | undefined;
  loose(place: Place): LooseLine | undefined;
  /** Whether the `prev` of one linked line leads to another one. No line descends from itself. */
  descends(newer: ChainPlace, older: ChainPlace): boolean;
  /** The words of a thread on the branch of a linked line, itself included; at most one more than are read. */
  words(tip: ChainPlace, thread: string): readonly LinkedLine[];
  /** Places of `party` with a `seq` above a number, named on the branch of a linked line, itself included. */
  known(tip: ChainPlace, party: string, above: number): readonly ChainPlace[];
  /** Linked corrections of an author that name the ask in `decides`, by `seq`, then by id. */
  closes(author: string, ask: Place): readonly LinkedLine[];
  /** Whether a linked line of an author names a place that is the line or descends from it, but as refused. */
  isNamedBy(author: string, line: ChainPlace): boolean;
  /** Whether an earlier line on the branch of a linked line is of the same thread. */
  hasEarlierInThread(line: LinkedLine): boolean;
  /** Linked proposals of all authors in a thread. */
  proposals(thread: string): readonly LinkedLine[];
  /** Linked lines of an author that leave the wire, by `seq`, then by id. */
  leaves(author: string): readonly LinkedLine[];
  /** Linked lines of an author that do this with a place. */
  namers(author: string, naming: Naming, place: Place, few: Few): readonly LinkedLine[];
  /**
   * The first beat on the branch of a linked line, itself included, by which its author has taken in, or
   * has read, a line. Spec of the next wire, 3.2.2.
   */
  firstHead(tip: ChainPlace, line: ChainPlace, shows: HeadShows): ChainPlace | undefined;
  /** Whether there is such a beat on any branch of an author. */
  hasHead(author: string, line: ChainPlace, shows: HeadShows): boolean;
  /** Whether a beat on the branch of a linked line, itself included, names a line as refused. 3.2.3. */
  isRefused(tip: ChainPlace, line: ChainPlace): boolean;
  /** The refusal that does so, of those that end next behind the line. */
  findRefusal(tip: ChainPlace, line: ChainPlace): RefusedLines | undefined;
  /** Whether a line, or one behind it, is known at a linked line. Spec of the next wire, 1.6. */
  isKnown(tip: ChainPlace, line: Place): boolean;
  /** Beats on the branch of a linked line, itself included, dated by then; a few, the last first. */
  lastBeats(tip: ChainPlace, datedByMs: number): readonly LinkedLine[];
  /** Acks and proposals of an author in a thread that are in no chain; a few, the last first. */
  looseReplies(author: string, thread: string): readonly LooseLine[];
  /** Of the reader alone: no outcome follows from it. */
  receipt(place: Place): Receipt | undefined;
}
