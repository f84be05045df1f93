import { missingBefore, type ChainVerdict } from "../wire/chain.ts";
import type { VerifiedMessage } from "./authenticate.ts";
import { isHeldBack } from "./dated-ahead.ts";
import type { LogAdmission, Verdict } from "./log-admission.ts";
import type { FirstLook } from "./reading.ts";

/** Why a line stays unread for now: for its archive, for the order of the file, or for a clock. */
export function waitsFor(
  message: VerifiedMessage,
  log: LogAdmission,
  verdict: ChainVerdict,
  ahead: string | undefined,
  receivedAtMs: number,
  first: FirstLook | undefined,
): Verdict | undefined {
  const gap = missingBefore(verdict);
  if (gap !== undefined && first?.standsBehind(gap) === true) {
    const detail = `${log.name}: line ${message.seq ?? 0} of the chain comes before lines that it follows`;
    return { outcome: "wait", because: "order", detail, events: [] };
  }
  if (verdict.outcome === "first" && verdict.startsAt > 1 && !log.mayBeginLate) {
    return beginsLate(log, verdict.startsAt);
  }
  if (first === undefined || ahead === undefined) return undefined;
  if (!isHeldBack(log.ahead, message.id, receivedAtMs)) return undefined;
  const detail = `${log.name}: the next line is ${ahead}`;
  return { outcome: "wait", because: "ahead", detail, events: [] };
}

function beginsLate(log: LogAdmission, startsAt: number): Verdict {
  const detail = `${log.name} begins with line ${startsAt}: lines 1 to ${startsAt - 1} are missing, and it needs its archive or the operator's word`;
  return { outcome: "wait", because: "late", detail, events: [{ cause: "log_gap", detail }] };
}
