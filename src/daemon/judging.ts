import { costsToken, store as charge, take, waitForToken } from "../trust/rate.ts";
import {
  confirm,
  isAuthentic,
  prepare,
  type AdmissionContext,
  type Authentication,
  type Preparation,
  type Prepared,
  type Refusal,
  type RefusalReason,
  type VerifiedMessage,
} from "../trust/admission.ts";
import { admit, repeats, type ChainEvent } from "../trust/log-admission.ts";
import { BY_CONTEXT } from "../trust/reading.ts";
import { tierOf } from "../trust/store.ts";
import type { TailLine } from "../storage/tail.ts";
import { pastContextOf } from "./contexts.ts";
import { isBeingMended, MENDING_MS } from "./holes.ts";
import type { Allowance, LogIntake } from "./memory.ts";

/** A line of a log with all that can be said of it before its signature is checked. */
export interface PreparedLine {
  readonly tail: TailLine;
  /** Undefined for blank and oversized lines. */
  readonly preparation: Preparation | undefined;
}

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

/** Why a log is not read further for now; the line stays unread. */
export interface Stop {
  readonly cause: "wait" | "rate" | "storage" | "refusals" | "hole";
  /** Until when, in ms from now; the log is looked at again then. */
  readonly forMs: number;
  readonly detail: string;
  readonly events: readonly ChainEvent[];
}

/** What the journal notes of one line, about. */
const NOTE_BYTES = 256;
/** How long a log is left alone whose author we wait for, or whose author has spent the day. */
const WAIT_MS = 60_000;

export function prepareLines(
  lines: readonly TailLine[],
  intake: LogIntake,
  ctx: AdmissionContext,
): PreparedLine[] {
  const { owner, name: log } = intake.log;
  const past = pastContextOf(ctx);
  return lines.map((tail) => {
    const by = isLive(tail, intake) ? ctx : past;
    const preparation = tail.kind === "line" ? prepare(tail.bytes, { owner, log }, by) : undefined;
    return { tail, preparation };
  });
}

/** Whether a line came after our journal began to follow its log. Spec 2.4. */
function isLive({ end }: TailLine, { historyTo }: LogIntake): boolean {
  return historyTo === undefined || end > historyTo;
}

/** The signatures that these lines wait for, in their order. */
export function signaturesOf(lines: readonly PreparedLine[]): Prepared[] {
  return lines.flatMap(({ preparation }) =>
    preparation?.step === "signature" ? [preparation] : [],
  );
}

export interface Judging {
  readonly intake: LogIntake;
  readonly ctx: AdmissionContext;
  readonly wallMs: number;
  readonly monoMs: number;
  /** Our own log: its receipt time is the time at which we wrote. */
  readonly own: boolean;
  /** Of the log's author; undefined for our own logs, which nothing limits. */
  readonly allowance: Allowance | undefined;
  /** How many refusals the next beat has room to name. Spec 3.2. */
  readonly refusalRoom: number;
}

/** What one round of judging remembers. */
interface Judgement extends Judging {
  /** Awaited lines that stand there again. */
  readonly returned: Set<string>;
}

/**
 * Judges lines in order until one has to stay unread. Admission is taken into the intake line by
 * line; the caller makes the verdicts durable before it goes on. Spec 2.4.
 */
export function judgeLines(
  lines: readonly PreparedLine[],
  valid: readonly boolean[],
  judging: Judging,
): { readonly judged: readonly JudgedLine[]; readonly stop: Stop | undefined } {
  const judged: JudgedLine[] = [];
  const round: Judgement = { ...judging, returned: new Set() };
  let signature = 0;
  let room = judging.refusalRoom;
  for (const [at, line] of lines.entries()) {
    if (room <= 0) {
      return { judged, stop: { cause: "refusals", forMs: 0, detail: "", events: [] } };
    }
    if (!judging.own && isBeingMended(lines, at, judging)) {
      return { judged, stop: { cause: "hole", forMs: MENDING_MS, detail: "", events: [] } };
    }
    const verdict = line.preparation?.step === "signature" ? valid[signature++] : undefined;
    const result = judgeLine(line, verdict, round);
    if ("cause" in result) return { judged, stop: result };
    if (result.reason !== undefined) room -= 1;
    judged.push(result);
  }
  return { judged, stop: undefined };
}

function judgeLine(
  line: PreparedLine,
  valid: boolean | undefined,
  judging: Judgement,
): JudgedLine | Stop {
  const { tail } = line;
  const { intake } = judging;
  const live = isLive(tail, intake);
  const plain = { tail, message: undefined, afterGap: false, events: [], detail: "" } as const;
  if (tail.kind === "blank") {
    const at = receiptTime(undefined, live, judging);
    return { ...plain, at, live, verdict: "blank", reason: undefined };
  }
  const outcome = authentication(line, valid);
  const duplicateOf = outcome.ok ? undefined : repeated(tail, outcome, intake);
  if (duplicateOf !== undefined) {
    const at = receiptTime(undefined, live, judging);
    return { ...plain, at, live, verdict: "duplicate", reason: undefined, duplicateOf };
  }
  if (!outcome.ok) {
    const full = rubbishLimit(tail, live, judging);
    if (full !== undefined) return full;
    const at = receiptTime(undefined, live, judging);
    const { reason, detail } = outcome;
    return { ...plain, at, live, verdict: "unauthentic", reason, detail };
  }
  return judgeAuthentic(outcome.message, tail, live, judging);
}

/** Spec 2.4: what was believed once and stands there again is a duplicate, whatever we believe now. */
function repeated(
  tail: TailLine,
  { reason }: Refusal,
  { admission }: LogIntake,
): string | undefined {
  if (tail.kind !== "line" || !BY_CONTEXT.has(reason)) return undefined;
  return repeats(tail.bytes, admission);
}

function authentication(line: PreparedLine, valid: boolean | undefined): Authentication {
  const { preparation } = line;
  if (preparation === undefined) {
    return { ok: false, reason: "oversized", detail: "the line is longer than 1 MiB" };
  }
  if (preparation.step === "refused") return preparation.refusal;
  if (preparation.step === "done") return { ok: true, message: preparation.message };
  return confirm(preparation, valid === true);
}

function judgeAuthentic(
  message: VerifiedMessage,
  tail: TailLine,
  fresh: boolean,
  judging: Judgement,
): JudgedLine | Stop {
  const { intake, ctx, returned } = judging;
  // A line that a power cut took back and that its author has appended again: the first receipt
  // and the first verdict stand.
  const noted = intake.awaited.get(message.id);
  if (noted !== undefined) returned.add(message.id);
  else if (intake.awaited.size > returned.size && !intake.admission.seen.has(message.id)) {
    return rewritten(message, judging);
  }
  const live = noted === undefined ? fresh : noted.old !== true;
  const limited = noted === undefined ? limit(message, tail, live, judging) : undefined;
  if (limited !== undefined) return limited;
  const at = noted?.at ?? receiptTime(message, live, judging);
  const verdict = admit(message, intake.admission, ctx, at, { mode: "live", line: tail.line });
  if (verdict.outcome === "wait") {
    if (verdict.events.length > 0) {
      intake.late ??= { detail: verdict.detail, sinceMs: judging.wallMs };
    }
    return { cause: "wait", forMs: WAIT_MS, detail: verdict.detail, events: verdict.events };
  }
  intake.lastAt = at;
  intake.late = undefined;
  const base = { tail, at, live, message, afterGap: false, events: [], detail: "" } as const;
  if (verdict.outcome === "duplicate") {
    const duplicateOf = message.id;
    return { ...base, message: undefined, verdict: "duplicate", reason: undefined, duplicateOf };
  }
  if (verdict.outcome === "refused") {
    const { reason, detail, events } = verdict;
    return { ...base, verdict: "refused", reason, detail, events };
  }
  const { afterGap, events } = verdict;
  return { ...base, verdict: "accepted", reason: undefined, afterGap, events };
}

/**
 * The log lacks lines that our journal knows and has another one in their place. Spec 1.6: the
 * author is held until the operator decides.
 */
function rewritten(message: VerifiedMessage, { intake }: Judging): Stop {
  const { name, owner } = intake.log;
  const [missing] = intake.awaited.keys();
  const detail = `${name} lacks lines that we received from ${owner} (first ${missing ?? ""}) and has ${message.id} in their place`;
  const events = [{ cause: "log_rewritten" as const, detail }];
  return { cause: "wait", forMs: WAIT_MS, detail, events };
}

/** Spec 2.4: rate is no refusal; the line stays where it is and is taken up later. */
function limit(
  message: VerifiedMessage,
  tail: TailLine,
  live: boolean,
  judging: Judging,
): Stop | undefined {
  const { allowance, ctx, intake, monoMs, wallMs } = judging;
  if (allowance === undefined || !live || tail.end <= intake.unlimitedTo) return undefined;
  const perMinute = ctx.limits.rateLimitMsgPerMin;
  if (costsToken(message.type, live, tierOf(ctx.store, message.from))) {
    const taken = take(allowance.bucket, monoMs, perMinute);
    allowance.bucket = taken.bucket;
    if (!taken.ok) {
      const forMs = Math.min(waitForToken(taken.bucket, monoMs, perMinute), WAIT_MS);
      const detail = `${message.from} sends more than ${perMinute} messages a minute`;
      return { cause: "rate", forMs, detail, events: [] };
    }
  }
  const stored = charge(allowance.use, wallMs, storedBytes(tail));
  if (!stored.ok) {
    const detail = `${message.from} has made us store as much as it may in a day`;
    return { cause: "storage", forMs: WAIT_MS, detail, events: [] };
  }
  allowance.use = stored.use;
  return undefined;
}

/**
 * Lines that prove nothing of their author are charged to the log that they stand in, so that who
 * writes rubbish there stops the reading of nothing else.
 */
function rubbishLimit(
  tail: TailLine,
  live: boolean,
  { own, intake, wallMs }: Judging,
): Stop | undefined {
  if (own || !live || tail.end <= intake.unlimitedTo) return undefined;
  const stored = charge(intake.rubbish, wallMs, storedBytes(tail));
  if (!stored.ok) {
    const detail = `${intake.log.name} holds more rubbish than we take note of in a day`;
    return { cause: "storage", forMs: WAIT_MS, detail, events: [] };
  }
  intake.rubbish = stored.use;
  return undefined;
}

/** Of a line of two bytes we note a hundred. */
function storedBytes({ start, end }: TailLine): number {
  return end - start + NOTE_BYTES;
}

/** Live lines: our clock. History: never before the line that stands before it. Spec 2.4. */
function receiptTime(
  message: VerifiedMessage | undefined,
  live: boolean,
  { intake, wallMs, own }: Judging,
): number {
  if (own && message?.seq !== undefined) return Math.floor(message.timestampMs);
  if (live) return wallMs;
  return Math.max(Math.floor(message?.timestampMs ?? 0), intake.lastAt);
}

/** Whether a refusal proves something about the log's author. */
export function provesSomething(line: JudgedLine): boolean {
  return line.reason !== undefined && isAuthentic(line.reason);
}
