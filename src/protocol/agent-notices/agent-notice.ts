import { sanitise } from "../../wire/quote.ts";
import { sha256Hex } from "../../wire/canonical.ts";

/** What a notice is about. The ends of a proposal are called like its status. Spec 3.12. */
export type NoticeKind =
  | "ratified"
  | "rejected"
  | "reverted"
  | "replaced"
  | "superseded"
  | "withdrawn"
  | "request_approved"
  | "request_rejected"
  | "request_cancelled"
  | "request_expired"
  | "answer_late"
  | "claim_kept"
  | "claim_lost"
  | "claim_contested"
  | "claim_alone"
  | "claim_granted"
  | "claim_denied"
  | "escalated"
  | "refused"
  | "mail_waits"
  | "peer_held"
  | "peer_silent"
  | "peer_back"
  | "safe_mode_begun"
  | "safe_mode_ended"
  | "plan_asks"
  | "more_notices";

/**
 * What the local agent must know and no peer's line says by itself: one sentence of the daemon's own
 * words. Spec 3.12. (What the operator is told is an automatic incident, Spec 3.5.)
 */
export interface AgentNotice {
  /** ISO-8601, UTC. */
  readonly at: string;
  /** `n-` and 12 hex digits: it cannot be taken for an event id. */
  readonly id: string;
  readonly kind: NoticeKind;
  /** The event id of a proposal, an incident or a beat; or a handle, with what tells occasions apart. */
  readonly about: string;
  readonly text: string;
}

/** Something that may become a notice. */
export interface Matter {
  readonly kind: NoticeKind;
  readonly about: string;
  readonly text: string;
  /** Whose limit it counts against; undefined: no peer can cause more of them than we do. */
  readonly peer: string | undefined;
}

/** What a program of our own operator may have our agent told. Spec 7.5. */
export const ASKED_KINDS = ["plan_asks"] as const satisfies readonly NoticeKind[];
export type OwnMatter = Pick<Matter, "about" | "text"> & {
  readonly kind: (typeof ASKED_KINDS)[number];
};

/** How a peer is, as far as our agent may have to wait for it. */
export type PeerStanding = "well" | "held" | "silent";

/** What the agent is told at once, and what it stays told of. */
export interface NoticeNews {
  /** `peer`: whose limit it counts against. */
  readonly notices: readonly (AgentNotice & { readonly peer?: string })[];
  /** Keys of matters that a limit has left out. */
  readonly passed?: readonly string[];
  /** What each peer is now, of those that changed. */
  readonly peers?: readonly (readonly [peer: string, standing: PeerStanding])[];
  /** The escalation by which there is safe mode, null: there is none; absent: nothing changed. */
  readonly safeMode?: string | null;
}

const ID_DIGITS = 12;
/** Characters of a subject that a notice quotes. */
const MAX_QUOTED_SUBJECT = 80;

/** One notice for each of these. Spec 3.12. */
export function matterKey({ kind, about }: Pick<Matter, "kind" | "about">): string {
  return `${kind} ${about}`;
}

export function noticeOf(matter: Matter, atMs: number): AgentNotice {
  const { kind, about, text } = matter;
  const digest = sha256Hex(Buffer.from(matterKey(matter), "utf8"));
  const id = `n-${digest.slice(0, ID_DIGITS)}`;
  return { at: new Date(atMs).toISOString(), id, kind, about, text };
}

/** A subject within a sentence of ours: nothing in it can end the quotation or steer a terminal. */
export function quoted(subject: string): string {
  const characters = Array.from(subject);
  const isCut = characters.length > MAX_QUOTED_SUBJECT;
  const cut = isCut ? `${characters.slice(0, MAX_QUOTED_SUBJECT).join("")}…` : subject;
  return `"${sanitise(cut.replaceAll('"', "'"))}"`;
}
