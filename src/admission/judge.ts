import { advance } from "../wire/chain-rules.ts";
import { closingLineOf } from "../wire/roster/closing.ts";
import type { AdmittedMessage } from "./admitted-message.ts";
import type { Authentication } from "./authenticate.ts";
import type { Refusal } from "./prepare.ts";
import {
  isOfThen,
  type Mode,
  type NotedReason,
  type Problem,
  type RefusalReason,
} from "./checks.ts";
import { problemOfChain, problemOfContent, problemOfReceipt } from "./rules/first-problem.ts";
import type { AdmissionContext } from "./context.ts";
import { waitsFor, waitsForKey, waitsForOperator, type Wait } from "./rules/line-waits.ts";
import { acceptFromHere, type ChainEvent, type LogAdmission } from "./log-admission.ts";
import { goesOnFromHere, lineInLog, type LineInLog } from "./rules/log-checks.ts";
import type { Reading } from "./reading.ts";
import { UNKNOWN_BYTES } from "./rules/seen-ids.ts";

/**
 * What becomes of a line.
 * - `accepted`: `afterGap` when the line before it is missing.
 * - `duplicate`: byte for byte a line that this log has shown before; dropped and counted.
 * - `refused`: taken in all the same (the cursor moves past it).
 * - `wait`: not taken; the cursor stays before it.
 */
export type Verdict =
  | {
      readonly outcome: "accepted";
      readonly afterGap: boolean;
      readonly events: readonly ChainEvent[];
    }
  | { readonly outcome: "duplicate" }
  | Refused
  | Wait;

interface Refused {
  readonly outcome: "refused";
  readonly reason: RefusalReason;
  readonly detail: string;
  readonly events: readonly ChainEvent[];
}

type LogReading = Exclude<Reading, { mode: "verify" }>;

const NO_EVENTS: readonly ChainEvent[] = [];
const DUPLICATE: Verdict = { outcome: "duplicate" };

/**
 * The verdict on a line: live reading, the replay of the journal, audit and verify all ask here.
 * Asks the checks of `checks.ts` in their order, and takes the line into what its log has shown.
 * Spec 2.4.
 *
 * @param line what the checks up to its signature said of it: see `authenticate.ts`
 * @param log undefined where the line is in no log
 */
export function judge(
  line: Authentication,
  log: LogAdmission | undefined,
  ctx: AdmissionContext,
  reading: Reading,
): Verdict {
  if (!line.ok) {
    if (log !== undefined && isKnownAlready(line, log)) return DUPLICATE;
    if (log === undefined || reading.mode !== "live" || reading.first === undefined) {
      return refused(line);
    }
    return waitsForKey(line, ctx, log) ?? refused(line);
  }
  const { message } = line;
  if (log === undefined || reading.mode === "verify") {
    const problem = problemOfContent({ message, ctx }, "verify");
    return problem === undefined ? accepted(false, NO_EVENTS) : refused(problem);
  }
  const tagBefore = log.seen.tagOf(message);
  const isKnown = tagBefore === message.lineTag || tagBefore === UNKNOWN_BYTES;
  if (isKnown && reading.mode !== "recall") return DUPLICATE;
  // Our own log is read on after a fork: the fork is known, and we have to know what follows.
  if (message.from === ctx.self && log.held?.cause === "log_forked") log.held = undefined;
  return judgeInLog(lineInLog(message, log, ctx, reading, tagBefore !== undefined), reading);
}

/**
 * Spec 2.4: a line that its log has shown is a duplicate before any other check, also when we would
 * not believe it any more. A line that proves nothing under any pins is never noted as shown.
 */
function isKnownAlready({ reason, claimed }: Refusal, { seen }: LogAdmission): boolean {
  return claimed !== undefined && isOfThen(reason) && seen.tagOf(claimed) === claimed.lineTag;
}

function judgeInLog(line: LineInLog, reading: LogReading): Verdict {
  const { message, log, ctx } = line;
  const { mode } = reading;
  const held = mode === "live" ? waitsForOperator(line) : undefined;
  if (held !== undefined) return held;
  const noted = noteOn(message, reading);
  const problem = problemOfChain(line, mode, noted);
  if (problem?.reason === "log_forked") {
    const refusal = forked(line, problem);
    // An audit goes on as if the operator had let a peer's chain go on from here.
    if (mode === "audit" && message.from !== ctx.self) acceptFromHere(log);
    return refusal;
  }
  if (problem !== undefined) return refused(problem);
  if (line.verdict.outcome === "fork") {
    // The journal says otherwise: the operator has let the chain go on from here.
    acceptFromHere(log);
    return take(goesOnFromHere(line), mode, noted);
  }
  // A line that waits is judged again; until then it has shown nothing.
  const waits = mode === "live" ? waitsFor(line, reading) : undefined;
  return waits ?? take(line, mode, noted);
}

/** What the journal noted of this very line; undefined while it is read for the first time. */
function noteOn({ id }: AdmittedMessage, reading: LogReading): NotedReason | undefined {
  if (reading.mode === "live") return undefined;
  const { noted } = reading;
  if (reading.mode === "recall" || noted === undefined) return noted;
  return reading.noted?.authentic === true && reading.noted.isOf(id) ? noted : undefined;
}

/** Takes a line into what its log has shown, and asks the checks that are left. Spec 1.6. */
function take(line: LineInLog, mode: Mode, noted: NotedReason | undefined): Verdict {
  const { message, log, verdict } = line;
  log.chain = line.chain;
  log.mayBeginLate = line.mayBeginLate;
  advance(log.chain, message, verdict);
  log.seen.add(message, message.lineTag);
  if (log.closing?.by === undefined) log.closing = closedBy(message, log);
  const events = gapEvents(line);
  const problem = problemOfReceipt(line, mode, noted) ?? problemOfContent(line, mode, noted);
  if (problem !== undefined) return refused(problem, events);
  return accepted(followsGap(line), events);
}

function closedBy(message: AdmittedMessage, { closing }: LogAdmission): LogAdmission["closing"] {
  return closing && { ...closing, by: closingLineOf(message, closing) };
}

function forked({ message, log, chain, receivedAtMs }: LineInLog, { detail: words }: Problem) {
  const { head } = chain;
  const before = head === undefined ? "" : ` (the chain ended at line ${head.seq}, ${head.id})`;
  const detail = `${log.name}: ${words}; the line is ${message.id}${before}`;
  log.held = { cause: "log_forked", detail, sinceMs: receivedAtMs };
  // Any program can copy it: once the operator has decided, a copy does not hold the author again.
  log.seen.add(message, message.lineTag);
  return refused({ reason: "log_forked", detail }, [{ cause: "log_forked", detail }]);
}

function gapEvents({ log, verdict }: LineInLog): readonly ChainEvent[] {
  if (verdict.outcome !== "gap") return NO_EVENTS;
  const { from, to } = verdict;
  const missing = from === to ? `line ${from} is` : `lines ${from} to ${to} are`;
  return [{ cause: "log_gap", detail: `${log.name}: ${missing} missing` }];
}

/** Whether the line before this one is missing. Lines that come before their key's pin are there. */
function followsGap({ message, log, line, verdict }: LineInLog): boolean {
  if (verdict.outcome === "unchained") return false;
  if (verdict.outcome === "first" && line >= verdict.startsAt) return false;
  return log.chain.gaps.some((gap) => gap.to + 1 === message.seq);
}

function accepted(afterGap: boolean, events: readonly ChainEvent[]): Verdict {
  return { outcome: "accepted", afterGap, events };
}

function refused({ reason, detail }: Problem, events = NO_EVENTS): Verdict {
  return { outcome: "refused", reason, detail, events };
}
