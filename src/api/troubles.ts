import type { StorageError } from "../storage/disk/disk.ts";
import type { DeaddropError } from "./errors.ts";

/**
 * What is wrong with an agent now, that does not end by itself.
 * - "daemon": none runs, or it is silent.
 * - "sending": nothing is sent, or not all.
 * - "storage": the disk takes nothing; it is tried again by itself. Spec 4.7.
 * - "held", "silent", "waiting": of a peer nothing more is taken in; nothing is heard; a log waits.
 * - "transport": lines neither come from other machines nor go there. Spec 5.2.
 * - "safe_mode": most types are not sent until an operator ends it. Spec 3.5.
 * - "policy": the wire says something that this agent has not agreed to. Spec 1.1.
 * - "clock": messages of ours are dated ahead of our clock. Spec 2.4.
 * - "undelivered": a peer whose heartbeats arrive does not take in what we send.
 * - "incident": one is not resolved. Spec 3.5.
 * - "overdue": an answer is, ours or a peer's. Spec 3.3.
 * - "rounds": a collaboration round that the daemon watches cannot be read. Spec 6.3.
 * - "notices": what the agent has to know and has not read. Spec 3.12.
 * - "incident_notices": what the operator was told and has not marked as read. Spec 3.5.
 */
export type TroubleKind =
  | "daemon"
  | "sending"
  | "storage"
  | "held"
  | "silent"
  | "waiting"
  | "transport"
  | "safe_mode"
  | "policy"
  | "clock"
  | "undelivered"
  | "incident"
  | "overdue"
  | "rounds"
  | "notices"
  | "incident_notices";

/** One of them: a line for the operator. Spec 8.6. */
export interface TroubleView {
  what: TroubleKind;
  /** One sentence: who or what, and why. */
  detail: string;
  /** The command that ends it, or what a person has to do where no command can. */
  end: string;
  /** Null when that is not known. */
  since: string | null;
}

/** @param since ISO-8601, or wall ms */
export function trouble(
  what: TroubleKind,
  detail: string,
  end: string,
  since: string | number | null = null,
): TroubleView {
  const at = typeof since === "number" ? new Date(since).toISOString() : since;
  return { what, detail, end, since: at };
}

/** An error that lasts, with its hint. */
export function asTrouble(
  what: TroubleKind,
  { message, hint = "see the message" }: DeaddropError | StorageError,
): TroubleView {
  return trouble(what, message, hint);
}

/** What the disk keeps from its work, and how much waits for it. Spec 4.11, Storage trouble. */
export interface StorageView {
  troubles: StorageTroubleView[];
  /** Messages of ours that are durable here and in no log yet: they go out by themselves. */
  waiting: number;
}

export interface StorageTroubleView {
  /** "own files": our carriers; "private files"; or "wire files", which all agents write. */
  area: string;
  code: string;
  /** Which file, and what is the matter with it. */
  detail: string;
  hint: string;
  since: string;
}
