import { costsToken, store as charge, take, waitForToken } from "../../admission/rate-limits.ts";
import { confirm, type Authentication } from "../../admission/authenticate.ts";
import type { AdmissionContext } from "../../admission/context.ts";
import type { VerifiedMessage } from "../../admission/admitted-message.ts";
import { judge, type Verdict } from "../../admission/judge.ts";
import type { Now } from "../../protocol/env.ts";
import { tierOf } from "../../trust/store.ts";
import {
  isFull,
  type RefusedLines,
  namedReason,
  noteCopy,
  noteRefused,
  noteTaken,
} from "../../protocol/receipts/refused-lines.ts";
import type { TailLine } from "../../storage/files/tail.ts";
import type { ChainRange } from "../../wire/chain.ts";
import { ORDER_CHECK_MS } from "./trouble/log-waits.ts";
import { restoreCheckMs, tornLine } from "./trouble/torn-line.ts";
import { isOutOfTurn } from "./trouble/line-order.ts";
import type { Allowance, LogIntake } from "../state/agent-state.ts";
import type { JudgedLine, Stop } from "./judged-line.ts";
import { isLive, type PreparedLine } from "./prepare-lines.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";

/** How long a log is not read when its next line waits, by why it waits. */
const LOOK_AGAIN_MS = {
  held: MINUTE_MS,
  late: MINUTE_MS,
  ahead: 10 * SECOND_MS,
  order: ORDER_CHECK_MS,
  // A change of pins opens the session again, which reads the log at once.
  comparison: MINUTE_MS,
} as const;
/** Bytes of the journal's note on one line, about. */
const NOTE_BYTES = 256;
/** The longest time that a log is not read when its author is over a limit. */
const WAIT_MS = MINUTE_MS;

export interface Judging {
  readonly intake: LogIntake;
  readonly ctx: AdmissionContext;
  readonly now: Now;
  /** Our own log: its receipt time is the time at which we wrote. */
  readonly own: boolean;
  /** Of the log's author; undefined for our own logs, which nothing limits. */
  readonly allowance: Allowance | undefined;
  /** What the next beat names already of the log; undefined when no beat of ours speaks of it. */
  readonly refused: RefusedLines | undefined;
  readonly order: FileOrder;
  /** The operator lets it pass as it is, also what is dated ahead. */
  readonly takesAny: boolean;
}

/** In which order the file shows its lines. Spec 1.6. */
export interface FileOrder {
  /** Whether lines of the chain between these numbers are in the file behind that offset. */
  hasLinesBehind(offset: number, range: ChainRange): boolean;
  /** The log has been found to hold all that we know, in order: awaited lines and new ones. */
  readonly isOrdered: boolean;
}

/** What one round of judging remembers. */
interface Judgement extends Judging {
  /** Awaited lines that are there again. */
  readonly returned: Set<string>;
  /** A later line of the author is dated right: its clock was wrong, ours is not, and that is over. */
  isSetRight: boolean;
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
  const round: Judgement = { ...judging, returned: new Set(), isSetRight: false };
  const right = judging.own ? -1 : lastDatedRight(lines, valid, judging);
  let signature = 0;
  const named = judging.refused === undefined ? undefined : { ...judging.refused };
  for (const [at, line] of lines.entries()) {
    // Spec 3.2: heads never pass a refusal that is not named.
    if (named !== undefined && isFull(named)) {
      return { judged, stop: { cause: "refusals", forMs: 0, detail: "", events: [] } };
    }
    const tear = judging.own ? undefined : tornLine(lines, at, valid, judging.intake);
    if (tear === "torn") {
      const { start, end } = line.tail;
      const forMs = restoreCheckMs(end - start);
      return { judged, stop: { cause: "torn", at: start, forMs, detail: "", events: [] } };
    }
    if (tear !== undefined) judging.intake.order.goesOn = tear;
    const verdict = line.preparation?.step === "signature" ? valid[signature++] : undefined;
    round.isSetRight = at < right;
    const result = judgeLine(line, verdict, round);
    if ("cause" in result) return { judged, stop: result };
    if (named !== undefined) noteJudged(named, result);
    judged.push(result);
  }
  return { judged, stop: undefined };
}

/** The last of these lines that its author has signed with a date that is not ahead; -1: none. */
function lastDatedRight(
  lines: readonly PreparedLine[],
  valid: readonly boolean[],
  { ctx, now }: Judging,
): number {
  const untilMs = now.wallMs + ctx.limits.maxClockSkewSeconds * SECOND_MS;
  let signature = 0;
  let last = -1;
  for (const [at, { preparation }] of lines.entries()) {
    if (preparation?.step !== "signature") continue;
    if (valid[signature++] === true && preparation.message.timestampMs <= untilMs) last = at;
  }
  return last;
}

function judgeLine(
  line: PreparedLine,
  valid: boolean | undefined,
  judging: Judgement,
): JudgedLine | Stop {
  const { tail, preparation } = line;
  const { intake } = judging;
  const live = isLive(tail, intake);
  const plain = { tail, message: undefined, afterGap: false, events: [], detail: "" } as const;
  if (tail.kind === "blank" || preparation === undefined) {
    const at = Math.min(receiptTime(undefined, live, judging), judging.now.wallMs);
    return { ...plain, at, live, verdict: "blank", reason: undefined };
  }
  const authentic = confirm(preparation, valid);
  if (authentic.ok) return judgeAuthentic(authentic, tail, live, judging);
  const at = Math.min(receiptTime(undefined, live, judging), judging.now.wallMs);
  const { reason, detail, claimed } = authentic;
  // Of junk nothing more is asked.
  if (reason !== "malformed") {
    const first = judging.own ? undefined : judging.order;
    const reading = { mode: "live", receivedAtMs: at, first } as const;
    const verdict = judge(authentic, intake.admission, judging.ctx, reading);
    if (verdict.outcome === "wait") {
      return claimed === undefined ? stopOf(verdict) : { ...stopOf(verdict), id: claimed.id };
    }
    if (verdict.outcome === "duplicate" && claimed !== undefined) {
      const duplicateOf = claimed.id;
      return { ...plain, at, live, verdict: "duplicate", reason: undefined, duplicateOf };
    }
  }
  return { ...plain, at, live, verdict: "unauthentic", reason, detail };
}

function judgeAuthentic(
  authentic: Extract<Authentication<VerifiedMessage>, { ok: true }>,
  tail: TailLine,
  fresh: boolean,
  judging: Judgement,
): JudgedLine | Stop {
  const { intake, ctx, returned, allowance } = judging;
  const { message } = authentic;
  if (!judging.order.isOrdered && isOutOfTurn(message, intake, returned)) {
    return { cause: "reordered", forMs: 0, detail: "", events: [] };
  }
  // A line that a power cut removed and that its author has restored: the first receipt time and
  // the first verdict count.
  const noted = intake.awaited.get(message.id);
  if (noted !== undefined) returned.add(message.id);
  const live = noted === undefined ? fresh : noted.old !== true;
  const before = { ...allowance };
  // Any program can copy a line: a second one is not charged to its author.
  const isCopy = intake.admission.seen.has(message);
  const isCharged = noted === undefined && !isCopy;
  const limited = isCharged ? limit(message, tail, live, judging) : undefined;
  if (limited !== undefined) return limited;
  const claimed = noted?.judgedAt ?? noted?.at ?? receiptTime(message, live, judging);
  const at = Math.min(noted?.at ?? claimed, judging.now.wallMs);
  const { line, end } = tail;
  // A line that was noted once, or is ours, has no reason to wait.
  const first = noted === undefined && !judging.own ? judging.order : undefined;
  // The date is known to be wrong and nothing depends on whose clock it was: it is taken as it is.
  const isPassed = judging.isSetRight || judging.takesAny || noted?.verdict === "accepted";
  const receivedAtMs = isPassed ? Math.max(claimed, message.timestampMs) : claimed;
  const reading = { mode: "live", receivedAtMs, line, end, first } as const;
  const verdict = judge(authentic, intake.admission, ctx, reading);
  if (verdict.outcome === "wait") {
    // The line will be read again.
    if (allowance !== undefined) Object.assign(allowance, before);
    return { ...stopOf(verdict), id: message.id };
  }
  intake.past.lastAt = at;
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

function stopOf({ because: cause, detail, events }: Extract<Verdict, { outcome: "wait" }>): Stop {
  return { cause, forMs: LOOK_AGAIN_MS[cause], detail, events };
}

/** Spec 2.4: a line over the rate is not refused; it stays unread and is read later. */
function limit(
  message: VerifiedMessage,
  tail: TailLine,
  live: boolean,
  judging: Judging,
): Stop | undefined {
  const { allowance, ctx, intake } = judging;
  const { monoMs, wallMs } = judging.now;
  if (allowance === undefined || !live || tail.end <= intake.past.unlimitedTo) return undefined;
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

/** The note on a line is longer than a short line itself. */
function storedBytes({ start, end }: TailLine): number {
  return end - start + NOTE_BYTES;
}

/**
 * The receipt time that a line is judged by. For live lines it is our clock; for history it is
 * never before that of the line before it. Spec 2.4. It is noted as no later than now (spec 4.1).
 */
function receiptTime(
  message: VerifiedMessage | undefined,
  live: boolean,
  { intake, now: { wallMs }, own }: Judging,
): number {
  if (own && message?.seq !== undefined) return Math.floor(message.timestampMs);
  if (live) return wallMs;
  return Math.max(Math.floor(message?.timestampMs ?? 0), intake.past.lastAt);
}

/**
 * What our next beat has to name once a line is folded that has just been judged: the same as the
 * fold makes of its event. Reading stops before there is more than a beat can name. Spec 3.2.
 */
function noteJudged(named: RefusedLines, { tail, verdict, reason }: JudgedLine): void {
  const { line } = tail;
  if (reason !== undefined) noteRefused(named, { first: line, last: line }, namedReason(reason));
  else if (verdict === "accepted") noteTaken(named, line);
  else if (verdict === "duplicate") noteCopy(named, line);
}
