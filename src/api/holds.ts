/** Why nothing more of a peer, or of one of its logs, is taken in. */
export interface HoldView {
  /** Null for a hold of the trust store, which concerns all of them. */
  log: string | null;
  cause: string;
  detail: string;
  since: string;
  /** From where `peer reset` takes the log: what is unread in it, or all that we do not have. */
  taken_from: "here" | "beginning" | null;
  /** Files that keep what was found; absolute paths. */
  evidence: string[];
}

export interface HoldsView {
  peer: string;
  holds: HoldView[];
  blocked: boolean;
  /** False when each of its keys is stopped: nothing that it writes is believed. */
  can_speak: boolean;
  /** All evidence files about its logs, also of what was decided before. */
  evidence: string[];
}

/**
 * Why a log does not move, although its author is not held.
 * - "late": it begins above line 1. Spec 1.6.
 * - "ahead": its next line is dated far ahead of our clock. Spec 2.4.
 * - "comparison": its next line is mail to us, and nobody has compared digits with its author. Spec 2.4.
 * - "rate", "storage", "refusals": a limit of ours.
 * - "hole": its author has to restore a torn line.
 * - "obstructed": in its place there is no plain file that we may read.
 * - "behind": it lacks lines that we know. Spec 1.6.
 * - "reordered": it holds what we know in another order than we took it in. Spec 1.6.
 * - "closing": an outbox waits for the last lines of the closed logs that it goes on with. Spec 1.6.
 * - "order": a new line comes before lines of its chain that are behind it in the file. Spec 1.6.
 */
export type WaitReason =
  | "late"
  | "closing"
  | "ahead"
  | "comparison"
  | "rate"
  | "storage"
  | "refusals"
  | "hole"
  | "obstructed"
  | "behind"
  | "reordered"
  | "order";

/** How a log that waits is shown to the operator. */
export interface LogWaitView {
  log: string;
  because: WaitReason;
  detail: string;
  since: string;
}
