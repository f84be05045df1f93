import type { MessageParse } from "../../wire/message.ts";
import {
  checksOf,
  type Mode,
  type NotedReason,
  type Problem,
  type RefusalReason,
  type Uses,
} from "../checks.ts";
import type { Claim } from "./claim-checks.ts";
import type { Statement } from "./content-rules.ts";
import type { LineInLog } from "./log-checks.ts";

/** In words, where only the journal knows. */
export const NOTED_REFUSAL = "it was refused when it was received";

/** The first problem that one part of the table finds. */
function finder<Subject>(checks: readonly FinderCheck<Subject>[]) {
  return (subject: Subject, mode: Mode, noted?: NotedReason): Problem | undefined => {
    for (const check of checks) {
      const use = check.in[mode];
      const isNoted = noted !== undefined && (use === "noted" || use === "noted or asked");
      if (isNoted ? noted.reason !== check.reason : use === "noted" || use === "left out") continue;
      const found = check.finds(subject);
      const detail = isNoted ? (found ?? NOTED_REFUSAL) : found;
      if (detail !== undefined) return { reason: check.reason, detail };
    }
    return undefined;
  };
}

interface FinderCheck<Subject> {
  readonly reason: RefusalReason;
  readonly finds: (subject: Subject) => string | undefined;
  readonly in: Uses;
}

export const problemOfBytes = finder<MessageParse>(checksOf("bytes"));
export const problemOfClaim = finder<Claim>(checksOf("claim"));
export const problemOfChain = finder<LineInLog>(checksOf("chain"));
export const problemOfReceipt = finder<LineInLog>(checksOf("receipt"));
export const problemOfContent = finder<Statement>(checksOf("content"));
