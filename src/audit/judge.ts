import type { Violation } from "../protocol/audit.ts";
import type { CoreEvent, LineEvent } from "../protocol/record.ts";
import {
  authenticate,
  type AdmissionContext,
  type LineSource,
  type RefusalReason,
} from "../trust/admission.ts";
import { freshSalt } from "../storage/salt.ts";
import { SeenIds } from "../trust/replay.ts";
import { beginAfterRevoked } from "../trust/turn-over.ts";
import {
  advance,
  emptyChain,
  isChained,
  judgeLine,
  type ChainState,
  type ChainVerdict,
} from "../wire/chain.ts";
import { sha256Hex } from "../wire/canonical.ts";
import { parseMessage, type Message } from "../wire/message.ts";
import { quote } from "../wire/quote.ts";
import type { RawLine } from "./source.ts";

/** What an audit remembers of one log while it reads it. */
export interface LogRecord {
  readonly name: string;
  readonly owner: string;
  line: number;
  /** Receipt time of the line before, ms. */
  lastAt: number;
  readonly chain: ChainState;
  readonly seen: SeenIds;
  /** Keys whose last good line has been passed. Spec 2.1. */
  readonly passed: Set<string>;
}

export function newLogRecord(name: string, owner: string): LogRecord {
  const chain = emptyChain();
  const seen = new SeenIds(freshSalt());
  return { name, owner, line: 0, lastAt: 0, chain, seen, passed: new Set() };
}

/** What one line is: an event for the fold, and what is wrong with it. */
export interface Judged {
  readonly event: CoreEvent;
  readonly violation: Violation | undefined;
  /** Signed, but by an agent of whom no key is known here. */
  readonly unverified: boolean;
}

export interface Judging {
  readonly ctx: AdmissionContext;
  /** The receipt time by the private journal, ms. */
  receivedAt(log: string, line: number): number | undefined;
}

/** A line read, before it is known what it says of its log. */
export type ReadLine =
  | { readonly ok: true; readonly message: Message; readonly unverified: boolean }
  | { readonly ok: false; readonly reason: RefusalReason; readonly detail: string };

/**
 * Whether a line is its author's. Where no key of the author is known, as with logs that were
 * never signed, its content is taken for what it says and counted as unverified. Spec 4.4.
 */
export function readLine(
  bytes: Uint8Array | undefined,
  source: LineSource,
  ctx: AdmissionContext,
): ReadLine {
  if (bytes === undefined) {
    return { ok: false, reason: "oversized", detail: "the line is longer than 1 MiB" };
  }
  const outcome = authenticate(bytes, source, ctx);
  if (outcome.ok) return { ok: true, message: outcome.message, unverified: false };
  const { reason, detail } = outcome;
  if (reason !== "untrusted_key") return { ok: false, reason, detail };
  const parsed = parseMessage(bytes);
  if (!parsed.ok) throw new Error("a line that parsed before does not parse");
  const known = ctx.store.peers.get(parsed.message.from)?.keys.length ?? 0;
  if (known > 0) return { ok: false, reason, detail };
  return { ok: true, message: parsed.message, unverified: true };
}

/** A blank line: it counts in its log and says nothing. */
export function judgeBlank(log: LogRecord): Judged {
  log.line += 1;
  const event: CoreEvent = { kind: "skipped", log: log.name, line: log.line, at: log.lastAt };
  return { event, violation: undefined, unverified: false };
}

/** Judges a line by what its log has shown, and takes it into that. Spec 1.6, 2.4. */
export function judgeRead(raw: RawLine, read: ReadLine, log: LogRecord, judging: Judging): Judged {
  log.line += 1;
  const place = { log: log.name, line: log.line };
  if (!read.ok) {
    const { reason, detail } = read;
    const violation = { rule: reason, ...place, event_id: null, detail };
    const event: CoreEvent = { kind: "refused", ...place, at: log.lastAt, reason };
    return { event, violation, unverified: false };
  }
  const { message, unverified } = read;
  const stated = judging.receivedAt(log.name, log.line);
  log.lastAt = stated ?? Math.max(Math.floor(message.timestampMs), log.lastAt);
  const raws = raw.bytes ?? new Uint8Array(0);
  const tag = Number.parseInt(sha256Hex(raws).slice(0, 8), 16);
  const tagBefore = log.seen.tagOf(message.id);
  if (tagBefore === tag) {
    const event: CoreEvent = { kind: "skipped", ...place, at: log.lastAt };
    return { event, violation: undefined, unverified: false };
  }
  const refusal = chainRefusal(message, log, judging.ctx, tagBefore !== undefined);
  if (refusal?.reason !== "log_forked") log.seen.add(message.id, tag);
  notePassed(message, log, judging.ctx);
  const event: LineEvent = {
    kind: "line",
    ...place,
    at: log.lastAt,
    live: false,
    own: false,
    message,
    raw: Buffer.from(raws).toString("utf8"),
    refused: refusal?.reason,
    afterGap: log.chain.gaps.some((gap) => gap.to + 1 === message.seq),
  };
  const violation = refusal && {
    rule: refusal.reason,
    ...place,
    event_id: message.id,
    detail: refusal.detail,
  };
  return { event, violation, unverified };
}

interface ChainRefusal {
  readonly reason: RefusalReason;
  readonly detail: string;
}

function chainRefusal(
  message: Message,
  log: LogRecord,
  { wireId, store }: AdmissionContext,
  seenBefore: boolean,
): ChainRefusal | undefined {
  if (wireId !== undefined && isChained(message) && message.wire !== wireId) {
    const named = message.wire === undefined ? "no wire" : `the wire ${quote(message.wire)}`;
    return { reason: "wrong_wire", detail: `it was written for ${named}; this one is ${wireId}` };
  }
  beginAfterRevoked(log.chain, log.name, message, store);
  const head = log.chain.head?.seq ?? Infinity;
  const known = seenBefore && isChained(message) && message.seq <= head;
  const verdict = judgeLine(log.chain, message, known);
  advance(log.chain, message, verdict);
  if (verdict.outcome === "fork") return { reason: "log_forked", detail: verdict.detail };
  if (strays(verdict, message) && !(store.peers.get(message.from)?.allowUnchained ?? false)) {
    return { reason: "unchained", detail: "the log is chained, and the line is not" };
  }
  if (seenBefore) return { reason: "replayed", detail: `the log has shown ${message.id} before` };
  return undefined;
}

function strays(verdict: ChainVerdict, message: Message): boolean {
  return verdict.outcome === "unchained" && verdict.afterChained && message.version !== "v2.0";
}

/** Spec 2.1: a deactivated key is believed up to the last line noted then. */
function notePassed(message: Message, log: LogRecord, { store }: AdmissionContext): void {
  for (const { keyId, ends } of store.peers.get(message.from)?.keys ?? []) {
    if (ends?.get(log.name)?.id === message.id) log.passed.add(keyId);
  }
}

/** Lines that the chain says were written and that were never met. */
export function gapViolations(log: LogRecord): Violation[] {
  return log.chain.gaps.map(({ from, to, before }) => ({
    rule: "log_gap",
    log: log.name,
    line: null,
    event_id: before,
    detail:
      from === to
        ? `line ${from} of the chain is missing`
        : `lines ${from} to ${to} of the chain are missing`,
  }));
}
