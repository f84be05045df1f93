import {
  isChained,
  isOfAnotherWire,
  type ChainState,
  type ChainVerdict,
} from "../../wire/chain.ts";
import { isAfterLast, NOBODY_LEFT } from "../../wire/roster/members.ts";
import { judgeLine } from "../../wire/chain-rules.ts";
import type { AdmittedMessage } from "../admitted-message.ts";
import type { AdmissionContext } from "../context.ts";
import type { Statement } from "./content-rules.ts";
import type { LogAdmission } from "../log-admission.ts";
import { chainAfterReturn } from "./returned-chain.ts";
import { chainAfterRevoked } from "./revoked-chain.ts";
import { isStrayCopy } from "./stray-copy.ts";

/** An authentic line against what its log has shown. It changes nothing: `take` in `judge.ts` does. */
export interface LineInLog extends Statement {
  readonly log: LogAdmission;
  /** Its place in the log, archives included; 0 where it is not known. */
  readonly line: number;
  /** Our wall clock when the line was taken in. */
  readonly receivedAtMs: number;
  /** The log has shown this content before, in whatever bytes. */
  readonly isShown: boolean;
  /** The chain that the line has to go on with. */
  readonly chain: ChainState;
  readonly mayBeginLate: boolean;
  readonly verdict: ChainVerdict;
}

/**
 * @param line its place in the log, archives included
 * @param isShown whether the log has shown this content before
 */
export function lineInLog(
  message: AdmittedMessage,
  log: LogAdmission,
  ctx: AdmissionContext,
  received: { readonly receivedAtMs: number; readonly line?: number | undefined },
  isShown: boolean,
): LineInLog {
  const { receivedAtMs, line = 0 } = received;
  const { left = NOBODY_LEFT, store } = ctx;
  const returned = chainAfterReturn(log.chain, log.name, message, left);
  const chain = chainAfterRevoked(returned, log.name, message, store);
  // The lines before it are in the log and were refused for want of a pin: none is missing.
  const isLate = isChained(message) && line >= message.seq;
  const mayBeginLate = log.mayBeginLate || isLate;
  const isKnown = isShown && isChained(message) && !isFree(chain, message.seq, mayBeginLate);
  const verdict = judgeLine(chain, message, isKnown);
  return { message, log, line, ctx, receivedAtMs, isShown, chain, mayBeginLate, verdict };
}

/** The same line after the operator's decision that its log goes on from the next line. */
export function goesOnFromHere(line: LineInLog): LineInLog {
  const { message, log } = line;
  const { chain, mayBeginLate } = log;
  return { ...line, chain, mayBeginLate, verdict: judgeLine(chain, message, false) };
}

/**
 * Whether nothing was taken into the chain at that place. A chained line whose content was shown is in
 * the chain already, unless an unchained copy has shown it: then the chain moves, and `replayed`
 * decides. Lines before a late beginning were shown before the operator let it begin there.
 */
function isFree({ head, gaps }: ChainState, seq: number, mayBeginLate: boolean): boolean {
  if (head === undefined) return !mayBeginLate;
  const isMissing = gaps.some(
    ({ from, to, after }) => after !== undefined && from <= seq && seq <= to,
  );
  return seq > head.seq || isMissing;
}

export function wrongWire({ message, ctx }: LineInLog): string | undefined {
  const { wireId } = ctx;
  if (!isOfAnotherWire(message, wireId)) return undefined;
  if (message.wire === undefined) return `the line names no wire; this one is ${wireId}`;
  const other = WIRE_ID.test(message.wire) ? `the wire ${message.wire}` : "another wire";
  return `the line was written for ${other}; this one is ${wireId}`;
}

/** As `init` makes them. Anything else is free text of its author, which no notice shows. */
const WIRE_ID = /^[0-9a-f]{16}$/;

/** Spec 1.6: outside the chain are v2.0 lines that policy admitted and agents marked `allow_unchained`. */
export function outsideChain({ message, ctx, verdict }: LineInLog): string | undefined {
  if (verdict.outcome !== "unchained" || !verdict.afterChained) return undefined;
  if (message.version === "v2.0") return undefined;
  if (ctx.store.peers.get(message.from)?.allowUnchained === true) return undefined;
  return `this log is chained, and the line carries no place in the chain`;
}

/** Spec 1.1: its author had left the wire when it wrote the line. */
export function writtenAway({ message, log, line, ctx }: LineInLog): string | undefined {
  const { left = NOBODY_LEFT } = ctx;
  const seq = isChained(message) ? message.seq : undefined;
  if (!isAfterLast(left, message.from, log.name, { line, seq })) return undefined;
  return `${message.from} has left this wire, and the line comes after its last one`;
}

/**
 * After the line that closes a log it takes nothing more. What was missing before that line may still
 * come, and what is known already is a duplicate. Spec 1.6.
 */
export function behindClosing({ log, verdict }: LineInLog): string | undefined {
  const closing = log.closing?.by;
  if (closing === undefined || verdict.outcome === "filler") return undefined;
  if (verdict.outcome === "duplicate") return undefined;
  return `its author has closed ${log.name} with line ${closing.seq} and goes on in its outbox`;
}

export function forksLog({ verdict }: LineInLog): string | undefined {
  return verdict.outcome === "fork" ? verdict.detail : undefined;
}

/** How far a line is dated ahead of its receipt, if that is more than the limit. */
export function datedAhead({ message, receivedAtMs, ctx }: LineInLog): string | undefined {
  const { maxClockSkewSeconds } = ctx.limits;
  const aheadMs = message.timestampMs - receivedAtMs;
  if (aheadMs <= maxClockSkewSeconds * 1_000) return undefined;
  const ahead = Math.round(aheadMs / 1_000);
  return `dated ${ahead} s ahead of our clock; at most ${maxClockSkewSeconds} s are let pass`;
}

/** Spec 2.4: its content was in this log before, or was written to another one. */
export function shownBefore({ message, log, isShown }: LineInLog): string | undefined {
  if (isShown) return `${log.name} has shown ${message.id} before`;
  if (isChained(message)) return undefined;
  const { own, others } = log.readers;
  if (!isStrayCopy(message.to, own, others)) return undefined;
  return `unchained, and to ${message.to?.[0] ?? ""}, not to ${own ?? ""}: a copy out of another log`;
}
