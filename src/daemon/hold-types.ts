/** Why nothing more of a peer, or of one of its logs, is taken. */
export interface HoldView {
  /** Null for a hold of the trust store, which concerns all of them. */
  log: string | null;
  cause: string;
  detail: string;
  since: string;
  /** From where `peer reset` takes the log: what is unread in it, or all that we have not had. */
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
