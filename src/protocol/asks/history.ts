import type { ChainPlace, Naming, Place, RefusedLines } from "../../wire/places.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import type { Verdict } from "./verdict.ts";

/** A line as outcomes see it; it may break the schema. */
export interface HistoryLine {
  readonly place: Place;
  readonly timestamp: string;
  /** `correlation_id`; empty for a line that is in no thread. */
  readonly thread: string;
  readonly type: string;
  /** Handles or `*`; undefined when the line does not say. */
  readonly to: readonly string[] | undefined;
  readonly isAckRequired: boolean;
  readonly subject: string;
  readonly refs: readonly string[];
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

/** The line at a place; undefined while it is not held, or of a chain not linked. */
export function lineAt(
  history: Pick<History, "linked" | "loose">,
  place: Place,
): HistoryLine | undefined {
  return place.seq === null ? history.loose(place) : history.linked(place);
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

/** Lines that are named as refused, and the beat that names them. */
export interface Refusal extends RefusedLines {
  readonly beat: ChainPlace;
}

/** Which lines of many are looked at: the first or the last ones, by `seq`, then by id. */
export interface Few {
  readonly from: "first" | "last";
  readonly limit: number;
}

/** What an agent has answered. */
export interface Answered {
  readonly place: ChainPlace;
  readonly approves: boolean;
}

/** What the words of a thread on one branch, up to a line of it, add up to. */
export interface Standing {
  /** How many there are; of those that are not read at most one counts. */
  readonly words: number;
  /** How many of those that are read ask something. */
  readonly asks: number;
  /** Where the author of the branch stands after them. Spec 3.4.2. */
  readonly position: Place | undefined;
}

/** A word that takes a change of members, and which one. Spec 3.11. */
export interface Take {
  readonly word: ChainPlace;
  readonly takes: Place;
}

export interface AskName {
  readonly place: Place;
  readonly thread: string;
  readonly is: "proposal" | "request";
}

/** An ask, and of a request the party that is meant; of an ask in no chain the one that closes it. */
export interface AskKey {
  readonly place: Place;
  /** Empty for a proposal of a chain, and for a request that can never be approved. */
  readonly party: string;
}

/** A close that is not found invalid: the first one on its branch. */
export interface StandingClose {
  readonly place: ChainPlace;
  readonly outcome: "approved" | "ended";
  /** `lacks`: what it cannot be judged without. */
  readonly verdict: Exclude<Verdict, "no">;
}

/**
 * The authentic lines that are held, as questions. Outcomes are judged by nothing else. None of the answers
 * costs more with the number of lines that an author has written, only with how often it has forked its chain.
 */
export interface History {
  readonly wireId: string;
  linked(place: Place): LinkedLine | undefined;
  loose(place: Place): LooseLine | undefined;
  /** Whether the `prev` of one linked line leads to another one. No line descends from itself. */
  descends(newer: ChainPlace, older: ChainPlace): boolean;
  /** Of the words of a thread on the branch of a linked line, itself included. */
  standing(tip: ChainPlace, thread: string): Standing;
  /** The last answer to an ask on the branch of a linked line, itself included; a counter is one that rejects. */
  lastAnswer(tip: ChainPlace, ask: AskName): Answered | undefined;
  /** The last word of a thread on the branch of a linked line, itself included, that takes another place than this. */
  lastTake(tip: ChainPlace, thread: string, other: Place): Take | undefined;
  /** Whether a word that takes a change counts, as far as it was judged. Spec 3.11. */
  takeCounts(word: ChainPlace): Verdict;
  /** Whether a place that descends from `at` is named on the branch of a linked line, itself included. */
  isKnownBehind(tip: ChainPlace, at: ChainPlace): boolean;
  /** The place of `party` with the largest `seq` above a number that is named there and not linked. */
  lastUnlinked(tip: ChainPlace, party: string, above: number): ChainPlace | undefined;
  /** Whether any place in the chain of `party` is named there. */
  knowsChain(tip: ChainPlace, party: string): boolean;
  /** The first close of an ask on the branch of a linked line, itself included, that is not found invalid. */
  firstClose(ask: AskKey, tip: ChainPlace): StandingClose | undefined;
  /** That of each branch, by `seq`, then by id. */
  firstCloses(ask: AskKey): readonly StandingClose[];
  /** Closes of an ask that prove nothing, the latest few. */
  unprovedCloses(ask: AskKey): readonly ChainPlace[];
  /** Whether a linked line of an author names a place that is the line or descends from it, but as refused. */
  isNamedBy(author: string, line: ChainPlace): boolean;
  /** Whether an earlier line on the branch of a linked line is of the same thread. */
  hasEarlierInThread(line: LinkedLine): boolean;
  /** Changes of members in a thread that are approved, on one branch of their asker at least. */
  approvedChanges(thread: string): readonly LinkedLine[];
  /** The first line by which the author of a linked line leaves, after an earlier line and up to that one. */
  leaveBetween(earlier: ChainPlace, later: ChainPlace): ChainPlace | undefined;
  /** Changes with what the roster in force follows from; undefined while it may change without such a mark. */
  rosterMark(): string | undefined;
  /** The first leave on any branch of an author that descends from a line. */
  firstLeave(line: ChainPlace): ChainPlace | undefined;
  /** The first line by which an agent leaves after one of these points, and that is not among those counted. */
  findLeave(
    author: string,
    after: readonly (number | ChainPlace)[],
    counted: readonly ChainPlace[],
  ): ChainPlace | undefined;
  /** Linked lines of an author that do this with a place. */
  namers(author: string, naming: Naming, place: Place, few: Few): readonly LinkedLine[];
  /**
   * The first beat on the branch of a linked line, itself included, by which its author has taken in, or
   * has read, a line. Spec 3.2.2.
   */
  firstHead(tip: ChainPlace, line: ChainPlace, shows: HeadShows): ChainPlace | undefined;
  /** Whether there is such a beat on any branch of an author. */
  hasHead(author: string, line: ChainPlace, shows: HeadShows): boolean;
  /** Whether a beat on the branch of a linked line, itself included, names a line as refused. 3.2.3. */
  isRefused(tip: ChainPlace, line: ChainPlace): boolean;
  /** The refusal that does so, of those that end next behind the line. */
  findRefusal(tip: ChainPlace, line: ChainPlace): Refusal | undefined;
  /** Whether a line, or one behind it, is known at a linked line. Spec 1.6. */
  isKnown(tip: ChainPlace, line: Place): boolean;
  /** Beats on the branch of a linked line, itself included, dated by then; a few, the last first. */
  lastBeats(tip: ChainPlace, datedByMs: number): readonly LinkedLine[];
  /** Acks and proposals of an author in a thread that are in no chain; a few, the last first. */
  looseReplies(author: string, thread: string): readonly LooseLine[];
  /** Of the reader alone: no outcome follows from it. */
  receipt(place: Place): Receipt | undefined;
}
