import { advance, isChained, judgeLine, type ChainVerdict } from "../wire/chain.ts";
import type { AdmissionContext, RefusalReason, VerifiedMessage } from "./authenticate.ts";
import { datedAhead } from "./dated-ahead.ts";
import { CONTENT_REASONS, contentRefusal } from "./content-rules.ts";
import { strayLine, wrongWire } from "./outside-the-chain.ts";
import { decided, LIVE, type Reading } from "./reading.ts";
import { waitsFor } from "./line-waits.ts";
import {
  acceptFromHere,
  type ChainEvent,
  type LogAdmission,
  type Verdict,
} from "./log-admission.ts";
import { UNKNOWN_BYTES } from "./seen-ids.ts";
import { replayed } from "./shown-before.ts";
import { beginAfterRevoked } from "./revoked-chain.ts";

/**
 * Judges an authentic line by what its log has shown, and takes it into that. The checks run in
 * the order of spec 2.4 and the first that fails decides, but a line that the chain accepts moves
 * the chain and is known from then on, whatever later checks say of it (spec 1.6).
 *
 * @param receivedAtMs our wall clock when the line was taken in
 */
export function admit(
  message: VerifiedMessage,
  log: LogAdmission,
  ctx: AdmissionContext,
  receivedAtMs: number,
  reading: Reading = LIVE,
): Verdict {
  const { mode } = reading;
  const tagBefore = log.seen.tagOf(message.id);
  const isKnown = tagBefore === message.lineTag || tagBefore === UNKNOWN_BYTES;
  if (isKnown && mode !== "journal") return { outcome: "duplicate" };

  const isOwn = message.from === ctx.self;
  // Of our own log nothing is held back: what forked it is known, and what follows is read, too.
  if (isOwn && log.held?.cause === "log_forked") log.held = undefined;
  const hold = mode === "live" ? (log.held ?? ctx.store.peers.get(message.from)?.held) : undefined;
  if (hold !== undefined) {
    const detail = `${message.from} is held since ${hold.cause}: ${hold.detail}`;
    return { outcome: "wait", because: "held", detail, events: [] };
  }
  const alien = decided(reading, "wrong_wire", wrongWire(message, ctx.wireId));
  if (alien !== undefined) return refused("wrong_wire", alien);

  const before = { chain: { ...log.chain }, mayBeginLate: log.mayBeginLate };
  // The lines before it stand in the log and were not believed, for want of a pin: none is missing.
  if ((reading.line ?? 0) >= (message.seq ?? Infinity)) log.mayBeginLate = true;
  beginAfterRevoked(log.chain, log.name, message, ctx.store);
  let verdict = judge(message, log, tagBefore !== undefined);
  const stray = decided(reading, "unchained", strayLine(verdict, message, ctx));
  if (stray !== undefined) return refused("unchained", stray);
  const fork = decided(
    reading,
    "log_forked",
    verdict.outcome === "fork" ? verdict.detail : undefined,
  );
  if (fork !== undefined) {
    const refusal = forked(message, log, fork, receivedAtMs);
    if (mode === "audit" && !isOwn) acceptFromHere(log);
    return refusal;
  }
  if (verdict.outcome === "fork") {
    // The journal says otherwise: the chain went on from here.
    acceptFromHere(log);
    verdict = judge(message, log, false);
  }
  const ahead = datedAhead(message.timestampMs, receivedAtMs, ctx.limits);
  const waits =
    mode === "live"
      ? waitsFor(message, log, verdict, ahead, receivedAtMs, reading.first)
      : undefined;
  if (waits !== undefined) {
    // It is asked again; until then it has shown nothing.
    Object.assign(log, before);
    return waits;
  }
  advance(log.chain, message, verdict);
  log.seen.add(message.id, message.lineTag);

  const events = gapEvents(log, verdict);
  const refusal = laterRefusal(message, log, ctx, ahead, tagBefore !== undefined, reading);
  if (refusal !== undefined) return { ...refusal, events };
  return { outcome: "accepted", afterGap: followsGap(message, log, verdict), events };
}

/**
 * A chained line whose content was seen before stands in the chain already, unless an unchained
 * copy has shown it while its place is empty: then the chain moves, and `replayed` decides.
 */
function judge(message: VerifiedMessage, log: LogAdmission, seenBefore: boolean): ChainVerdict {
  const known = seenBefore && isChained(message) && !isPlaceEmpty(log, message.seq);
  return judgeLine(log.chain, message, known);
}

/** Lines before a late beginning were shown before the operator let it begin there. */
function isPlaceEmpty({ chain, mayBeginLate }: LogAdmission, seq: number): boolean {
  const { head, gaps } = chain;
  if (head === undefined) return !mayBeginLate;
  const isMissing = gaps.some(
    ({ from, to, after }) => after !== undefined && from <= seq && seq <= to,
  );
  return seq > head.seq || isMissing;
}

function forked(
  message: VerifiedMessage,
  log: LogAdmission,
  words: string,
  receivedAtMs: number,
): Verdict {
  const head = log.chain.head;
  const before = head === undefined ? "" : ` (the chain stood at line ${head.seq}, ${head.id})`;
  const detail = `${log.name}: ${words}; the line is ${message.id}${before}`;
  log.held = { cause: "log_forked", detail, sinceMs: receivedAtMs };
  // Anybody can copy it: once the operator has decided, that holds nobody again.
  log.seen.add(message.id, message.lineTag);
  return refused("log_forked", detail, [{ cause: "log_forked", detail }]);
}

function gapEvents(log: LogAdmission, verdict: ChainVerdict): readonly ChainEvent[] {
  if (verdict.outcome === "gap") {
    const { from, to } = verdict;
    const missing = from === to ? `line ${from} is` : `lines ${from} to ${to} are`;
    return [{ cause: "log_gap", detail: `${log.name}: ${missing} missing` }];
  }
  return [];
}

/** Whether the line before this one is missing. */
function followsGap(message: VerifiedMessage, log: LogAdmission, verdict: ChainVerdict): boolean {
  if (verdict.outcome === "unchained") return false;
  return log.chain.gaps.some((gap) => gap.to + 1 === message.seq);
}

function laterRefusal(
  message: VerifiedMessage,
  log: LogAdmission,
  ctx: AdmissionContext,
  ahead: string | undefined,
  seenBefore: boolean,
  reading: Reading,
): (Verdict & { outcome: "refused" }) | undefined {
  const skew = decided(reading, "clock_skew", ahead);
  if (skew !== undefined) return refused("clock_skew", skew);
  const replay = decided(reading, "replayed", replayed(message, log, seenBefore));
  if (replay !== undefined) return refused("replayed", replay);
  const content = reading.mode === "audit" ? undefined : contentRefusal(message, ctx);
  for (const reason of CONTENT_REASONS) {
    const detail = content?.reason === reason ? content.detail : undefined;
    const problem = decided(reading, reason, detail);
    if (problem !== undefined) return refused(reason, problem);
  }
  return undefined;
}

function refused(
  reason: RefusalReason,
  detail: string,
  events: readonly ChainEvent[] = [],
): Verdict & { outcome: "refused" } {
  return { outcome: "refused", reason, detail, events };
}
