import type { CoreEvent } from "../../protocol/events.ts";
import type { RefusalReason } from "../../admission/checks.ts";

/**
 * What the private journal says of one whole line of a log: when it was received, where it is and
 * what became of it. With the bytes of the log this is enough to fold it again. Spec 2.4.
 */
export interface LineEntry {
  readonly k: "line";
  /** Receipt time, ms since 1970. */
  readonly at: number;
  readonly log: string;
  readonly line: number;
  /** Of lines that prove nothing and follow each other: the first, and how many they are. */
  readonly first?: number;
  readonly count?: number;
  /** Byte range in the log's file, newline included. */
  readonly start: number;
  readonly end: number;
  readonly verdict: "accepted" | "refused" | "unauthentic" | "duplicate" | "blank";
  /** Of authentic lines, duplicates too. */
  readonly id?: string;
  /** Of authentic lines that are no beat: which thread, see `threadDigits`. */
  readonly thread?: string;
  readonly beat?: true;
  /** Absent where lines of one entry have several. */
  readonly reason?: RefusalReason;
  /** History: it was there before the journal began. */
  readonly old?: true;
  readonly gap?: true;
  /** Our own log. */
  readonly own?: true;
  /** Logical offset in the inbox, of lines that were routed. */
  readonly inbox?: number;
  /** Its earlier offset there, before both its log and the inbox lost it. */
  readonly instead?: number;
}

/** A log that this journal follows from here on; its first `size` bytes are history. */
export interface BeganEntry {
  readonly k: "began";
  readonly at: number;
  readonly log: string;
  readonly size: number;
}

/** Events that are in no log: the agent's own acts, and what was told or recorded. */
export interface LocalEntry {
  readonly k: "local";
  readonly event: LocalEvent;
}

export type LocalEvent = Extract<
  CoreEvent,
  {
    kind:
      | "mirrored"
      | "read"
      | "status"
      | "told"
      | "noticed"
      | "started"
      | "rewound"
      | "recounted"
      | "held"
      | "held_back"
      | "set_back"
      | "reset"
      | "key_changed"
      | "stopped"
      | "woken"
      | "keyed";
  }
>;

export type JournalEntry = LineEntry | BeganEntry | LocalEntry;
