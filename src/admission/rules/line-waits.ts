import { judgeLine, missingBefore } from "../../wire/chain-rules.ts";
import { quote } from "../../wire/quote.ts";
import { saysClosed, saysContinued } from "../../wire/roster/closing.ts";
import { isPinned, tierOf } from "../../trust/store.ts";
import { acceptsType } from "../../trust/tiers.ts";
import { datedAhead, type LineInLog } from "./log-checks.ts";
import type { AdmissionContext } from "../context.ts";
import type { Refusal } from "../prepare.ts";
import type { AheadHold, ChainEvent, LogAdmission } from "../log-admission.ts";
import type { Reading } from "../reading.ts";
import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";

/** How long a line that is dated far ahead is held back: the clock that is wrong may be ours. */
const HOLD_BACK_MS = 15 * MINUTE_MS;
/** At most one hold of each log begins within this time. */
const ONE_HOLD_IN_MS = HOUR_MS;

/**
 * A line stays unread: until the operator decides (`held`), until the archive is there that the log
 * begins with (`late`), until our clock may have been corrected (`ahead`), until the file shows
 * the chain in its order (`order`), or until the author is verified (`comparison`).
 */
export interface Wait {
  readonly outcome: "wait";
  readonly because: "held" | "late" | "ahead" | "order" | "comparison";
  readonly detail: string;
  readonly events: readonly ChainEvent[];
}

type LiveReading = Extract<Reading, { mode: "live" }>;

/** Of a peer that is held, no log is read. Spec 1.6. */
export function waitsForOperator({ message, log, ctx }: LineInLog): Wait | undefined {
  const hold = log.held ?? ctx.store.peers.get(message.from)?.held;
  if (hold === undefined) return undefined;
  const detail = `${message.from} is held since ${hold.cause}: ${hold.detail}`;
  return { outcome: "wait", because: "held", detail, events: [] };
}

/**
 * Why a line stays unread for now: for the order of the file, its archive, the comparison of digits, or
 * a clock.
 */
export function waitsFor(line: LineInLog, { first, end = 0 }: LiveReading): Wait | undefined {
  const { message, log, verdict, mayBeginLate, receivedAtMs } = line;
  const gap = missingBefore(verdict);
  if (gap !== undefined && first?.hasLinesBehind(end, gap) === true) {
    const detail = `${log.name}: line ${message.seq ?? 0} of the chain comes before lines that it follows`;
    return { outcome: "wait", because: "order", detail, events: [] };
  }
  if (verdict.outcome === "first" && verdict.startsAt > 1 && !mayBeginLate) {
    return beginsLate(log, verdict.startsAt);
  }
  if (first !== undefined && isUncompared(line)) {
    const detail = `${log.name}: mail of ${message.from} waits for the comparison of digits`;
    return { outcome: "wait", because: "comparison", detail, events: [] };
  }
  const ahead = first === undefined ? undefined : datedAhead(line);
  if (ahead === undefined || !isHeldBack(log.ahead, message.id, receivedAtMs)) return undefined;
  const detail = `${log.name}: the next line is ${ahead}`;
  return { outcome: "wait", because: "ahead", detail, events: [] };
}

/**
 * Whether a line is mail to us of an author whose digits nobody has compared yet. It stays in its
 * author's log, so nothing has to be stored for it, and is read when the author is verified. Spec 2.4.
 */
function isUncompared({ message, log, ctx: { self, store } }: LineInLog): boolean {
  const { from, to, type } = message;
  if (tierOf(store, from) !== "UNTRUSTED" || acceptsType("UNTRUSTED", type)) return false;
  if (saysClosed(message) || saysContinued(message)) return false;
  const isOurLog = log.readers.own === undefined || log.readers.own === self;
  return isOurLog && (to === undefined || to.includes("*") || to.includes(self));
}

/**
 * The lines of an author whose digits nobody has compared wait for the comparison when they are signed
 * with a key that is not pinned: with no pin all of them, with one those that go on with the chain,
 * since the author may have changed its key. Who left before we knew its key is not waited for. Spec 2.4.
 */
export function waitsForKey(
  { reason, claimed }: Refusal,
  { store, left }: AdmissionContext,
  { name, chain }: LogAdmission,
): Wait | undefined {
  if (reason !== "untrusted_key" || claimed === undefined) return undefined;
  const { from, publicKeyId = "" } = claimed;
  const peer = store.peers.get(from);
  if (tierOf(store, from) !== "UNTRUSTED" || left?.has(from) === true) return undefined;
  const waits = `${name}: mail of ${from} waits for the comparison of digits`;
  if (!isPinned(peer)) {
    const detail = `${waits}; no key of it is pinned yet`;
    return { outcome: "wait", because: "comparison", detail, events: [] };
  }
  const isKnown = peer?.keys.some(({ keyId }) => keyId === publicKeyId) === true;
  const verdict = judgeLine(chain, claimed, false);
  const goesOn =
    verdict.outcome === "next" || (verdict.outcome === "first" && verdict.startsAt === 1);
  if (isKnown || !goesOn) return undefined;
  const detail = `${waits}; it is signed with ${quote(publicKeyId)}, another key than the pinned one`;
  return { outcome: "wait", because: "comparison", detail, events: [] };
}

function beginsLate(log: LogAdmission, startsAt: number): Wait {
  const detail = `${log.name} begins with line ${startsAt}: lines 1 to ${startsAt - 1} are missing, and it needs its archive or the operator's decision`;
  return { outcome: "wait", because: "late", detail, events: [{ cause: "log_gap", detail }] };
}

/**
 * Whether a line that is dated ahead waits now: the first one of an hour, for 15 minutes from when
 * it was first seen. Any other is refused. Spec 2.4, `clock_skew`.
 */
function isHeldBack(last: AheadHold | undefined, id: string, nowMs: number): boolean {
  if (last === undefined) return true;
  const ageMs = nowMs - last.sinceMs;
  return last.id === id ? ageMs < HOLD_BACK_MS : ageMs >= ONE_HOLD_IN_MS;
}
