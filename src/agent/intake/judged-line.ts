import type { VerifiedMessage } from "../../admission/admitted-message.ts";
import { isAuthentic, type RefusalReason } from "../../admission/checks.ts";
import type { ChainEvent } from "../../admission/log-admission.ts";
import type { TailLine } from "../../storage/files/tail.ts";
import type { Disorder, Limit } from "../state/log-status.ts";

/** What became of one line, in the order of its log. */
export interface JudgedLine {
  readonly tail: TailLine;
  readonly at: number;
  readonly live: boolean;
  readonly verdict: "accepted" | "refused" | "unauthentic" | "duplicate" | "blank";
  /** Undefined unless authentic. */
  readonly message: VerifiedMessage | undefined;
  readonly reason: RefusalReason | undefined;
  readonly detail: string;
  readonly afterGap: boolean;
  readonly events: readonly ChainEvent[];
  /** Of a line that the log has shown before. */
  readonly duplicateOf?: string;
}

/**
 * Why a log is not read further for now; the line stays unread. "refusals": our next beat can name
 * no more of them (spec 3.2); "reordered": a known line is missing before it (spec 1.6).
 */
export interface Stop {
  readonly cause: "held" | "refusals" | "torn" | Limit | Disorder;
  /** Until when, in ms from now; the log is looked at again then. */
  readonly forMs: number;
  readonly detail: string;
  readonly events: readonly ChainEvent[];
  /** The line that waits, if it is an authentic one. */
  readonly id?: string;
  /** The offset of a torn line. */
  readonly at?: number;
}

/** Whether a refusal proves something about the log's author. */
export function provesSomething(line: JudgedLine): boolean {
  return line.reason !== undefined && isAuthentic(line.reason);
}
