import type { RefusalReason } from "../admission/checks.ts";
import type { AdmittedMessage } from "../admission/admitted-message.ts";
import type { NoticeNews } from "./agent-notices/agent-notice.ts";
import type { AgentState } from "./env.ts";
import type { NotWoken } from "./heartbeats/not-woken.ts";
import type { DecisionEntry } from "./decisions/record/decision-record.ts";

/** One authentic line of a log, as it reaches the fold. Events of one log come in its order. */
export interface LineEvent {
  readonly kind: "line";
  readonly log: string;
  /** 1-based count of whole lines in that log, archives included. */
  readonly line: number;
  /** Our receipt time in ms; for historical lines max(timestamp, that of the line before). */
  readonly at: number;
  /** False for history: it starts no deadlines, wakes or incidents. Spec 2.4. */
  readonly live: boolean;
  readonly own: boolean;
  readonly message: AdmittedMessage;
  /** The line as it is in the log, without its newline. */
  readonly raw: string;
  /** Authentic, but refused by us. */
  readonly refused: RefusalReason | undefined;
  readonly afterGap: boolean;
  /** A power cut removed it after the agent had read it, and its author has restored it. */
  readonly read?: ReadHow;
}

/** The agent has read a message alone, or by its answer all that the log had for it so far. Spec 3.2. */
export type ReadHow = "alone" | "so far";

/**
 * Lines that are not authentic: they prove nothing, they are counted and named in our heads. Blank
 * lines may be among them.
 */
export interface RefusedEvent {
  readonly kind: "refused";
  readonly log: string;
  /** The last of them. */
  readonly line: number;
  /** The first of them, and how many they are, when they are several. */
  readonly first?: number;
  readonly count?: number;
  readonly at: number;
  readonly reason: RefusalReason;
}

/** A blank line or a byte-identical duplicate. */
export interface SkippedEvent {
  readonly kind: "skipped";
  readonly log: string;
  readonly line: number;
  readonly isCopy?: true;
  readonly at: number;
}

/**
 * What we read of a log after that line was a torn line, which its author has restored since: the
 * log is read again from there. Nothing that this takes back was authentic.
 */
export interface RewoundEvent {
  readonly kind: "rewound";
  readonly log: string;
  readonly line: number;
  readonly at: number;
}

/**
 * Lines that were not the author's, before lines that we know, are gone: the log has fewer lines now
 * than we have counted. Our count goes on behind the last line that we know.
 */
export interface RecountedEvent {
  readonly kind: "recounted";
  readonly log: string;
  /** The last line that is known, in our count. */
  readonly line: number;
  /** So many lines more than the file has now does our count have from there on. */
  readonly earlier: number;
  readonly at: number;
}

/** Nothing more of a log's author is taken in until the operator decides. Spec 1.6. */
export interface HeldEvent {
  readonly kind: "held";
  readonly log: string;
  readonly at: number;
  readonly cause: string;
  readonly detail: string;
}

/**
 * The next line of a log was first seen then, and waits: it is dated far ahead of our clock, which may
 * be the wrong one, or it waits for the comparison of digits. Spec 2.4.
 */
export interface HeldBackEvent {
  readonly kind: "held_back";
  readonly log: string;
  readonly id: string;
  /** Absent: it is dated ahead. */
  readonly because?: "comparison";
  readonly at: number;
}

/** Our wall clock was set back: none of the times noted before is after this one. Spec 4.1. */
export interface SetBackEvent {
  readonly kind: "set_back";
  readonly at: number;
}

/**
 * The operator has decided about these logs of an agent: its lines are taken in again, or, if the
 * logs are ours, we write to them again. Spec 1.6.
 */
export interface ResetEvent {
  readonly kind: "reset";
  readonly at: number;
  readonly peer: string;
  readonly logs: readonly ResetLog[];
}

export interface ResetLog {
  readonly log: string;
  /**
   * Of a log that was rewritten: it is read from its beginning, and its lines are counted on from
   * this number.
   */
  readonly lines?: number;
  /** What waits is only dated ahead: it passes, and the chain goes on as it is. Spec 2.4. */
  readonly keepsChain?: true;
}

/**
 * Our agent was told these things, and what they show lasts. The first of them says that notices
 * have begun. Spec 3.12.
 */
export interface NoticedEvent extends NoticeNews {
  readonly kind: "noticed";
  readonly at: number;
  /** Of each notice: its logical offset in the file of notices. */
  readonly places: readonly number[];
}

/** A line of ours as its sender is told of it. */
export interface SentLine {
  event_id: string;
  log: string;
  seq: number;
  timestamp: string;
  correlation_id: string;
  to: string[];
}

/** A name that a caller gives to a send, so that a repeated call sends nothing. Spec 8.1. */
export interface RequestKey {
  readonly name: string;
  /** SHA-256, in hex, of all that the caller asks for. */
  readonly digest: string;
}

/**
 * These lines of ours are about to be sent under that key. They may never have been: their log
 * tells. Spec 8.1.
 */
export interface KeyedEvent {
  readonly kind: "keyed";
  readonly key: RequestKey;
  readonly messages: readonly SentLine[];
  readonly at: number;
}

/** Everything that the fold is ever told. Applying it causes nothing. */
export type CoreEvent =
  | LineEvent
  | RefusedEvent
  | SkippedEvent
  | RewoundEvent
  | RecountedEvent
  | HeldEvent
  | HeldBackEvent
  | SetBackEvent
  | ResetEvent
  | NoticedEvent
  | {
      readonly kind: "entry";
      readonly file: "decisions";
      readonly at: number;
      readonly entry: DecisionEntry;
    }
  /** incident_log.jsonl has the incident line of that id. */
  | { readonly kind: "mirrored"; readonly id: string; readonly at: number }
  /** The agent marked routed lines read. */
  | { readonly kind: "read"; readonly ids: readonly string[] | "all"; readonly at: number }
  | {
      readonly kind: "status";
      readonly at: number;
      readonly state?: AgentState;
      readonly lastAction?: string;
      readonly headsDown?: boolean;
      /** For whose mail our agent is not woken now; replaces what was said before. Spec 8.3. */
      readonly notWoken?: Readonly<Record<string, NotWoken>>;
    }
  /** An automatic incident was told to the operator. */
  | {
      readonly kind: "told";
      readonly key: string;
      readonly at: number;
      /** What the operator was told, for the list of notices and the limit per peer. */
      readonly cause?: string;
      readonly peer?: string;
      readonly subject?: string;
      readonly detail?: string;
    }
  /** The stop hook of a parked agent has ended. `by`: our approval. Spec 3.8. */
  | {
      readonly kind: "stopped";
      readonly by: string;
      readonly outcome: "done" | "failed" | "none";
      readonly detail: string;
      readonly at: number;
    }
  /** Our agent, parked by that approval, goes on. Spec 3.8. */
  | { readonly kind: "woken"; readonly by: string; readonly at: number }
  | KeyedEvent
  /** A peer's change of its keys, which we had acked, was made here. Spec 2.5. */
  | { readonly kind: "key_changed"; readonly id: string; readonly at: number }
  /** The daemon started. Spec 3.9. */
  | { readonly kind: "started"; readonly at: number };

/**
 * Authentic lines that we refuse for a reason of ours still count for their author: outcomes,
 * incidents and safe mode are folded from them all the same. Spec 3.4. So do the lines of one that
 * left, unless the log that decides names them as refused: when each of us learns of the leaving
 * changes no outcome. Spec 1.1. A line of another wire, of a fork, or a repeated one does not count.
 */
const FOLDED_REFUSALS: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  "clock_skew",
  "unchained",
  "left_member",
  "closed_log",
  "tier_refused",
  "body_too_large",
  "too_many_refs",
]);

/** Whether a line counts for outcomes, records and safe mode, whether or not we refused it. */
export function isFolded(event: LineEvent): boolean {
  return event.refused === undefined || FOLDED_REFUSALS.has(event.refused);
}
