import type { Violation } from "./report.ts";
import type { CoreEvent } from "../protocol/events.ts";
import {
  authenticate,
  recallVerified,
  type AdmissionContext,
  type LineSource,
  type RefusalReason,
  type VerifiedMessage,
} from "../admission/authenticate.ts";
import { type LogAdmission } from "../admission/log-admission.ts";
import { admit } from "../admission/judge.ts";
import { repeats } from "../admission/shown-before.ts";
import { BY_CONTEXT, type Reading } from "../admission/reading.ts";
import type { ChainGap } from "../wire/chain.ts";
import type { Message } from "../wire/message.ts";
import type { NotedLine } from "./journal-notes.ts";
import type { RawLine } from "./source.ts";

/** What an audit remembers of one log while it reads it. */
export interface LogRecord {
  readonly name: string;
  readonly owner: string;
  readonly admission: LogAdmission;
  line: number;
  /** Receipt time of the line before, ms. */
  lastAt: number;
  /** What was missing when a fork ended the chain; undefined: none has. */
  missing: readonly ChainGap[] | undefined;
  /** Keys whose last good line has been passed. Spec 2.1. */
  readonly passed: Set<string>;
  /** Places in the chain of lines that were refused when they came, and only then. */
  readonly refusedThen: Set<number>;
}

export function newLogRecord(admission: LogAdmission, owner: string): LogRecord {
  const { name } = admission;
  const sets = { passed: new Set<string>(), refusedThen: new Set<number>() };
  return { name, owner, admission, line: 0, lastAt: 0, missing: undefined, ...sets };
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
  /** Whose keys those are: agents without any are believed only where the pins are not our own. */
  readonly keys: "pinned" | "advertised" | "given" | "none";
  /** What our private journal noted of a line, if it did. */
  noted(log: string, line: number): NotedLine | undefined;
}

/** A line read, before it is known what it says of its log. */
export type ReadLine =
  | { readonly ok: true; readonly message: VerifiedMessage; readonly unverified: boolean }
  | {
      readonly ok: false;
      readonly reason: RefusalReason;
      readonly detail: string;
      /** It was refused when it came; what is pinned now would let it in, at this place. */
      readonly refusedThen?: { readonly seq: number | undefined };
    };

/**
 * Whether a line is its author's. Where the pins are not our own and no key of the author is known,
 * as with logs that were never signed, its content is taken for what it says and counted as
 * unverified. Spec 4.4.
 */
export function readLine(
  bytes: Uint8Array | undefined,
  source: LineSource,
  { ctx, keys }: Judging,
): ReadLine {
  if (bytes === undefined) {
    return { ok: false, reason: "oversized", detail: "the line is longer than 1 MiB" };
  }
  const outcome = authenticate(bytes, source, ctx);
  if (outcome.ok) return { ok: true, message: outcome.message, unverified: false };
  const { reason, detail } = outcome;
  if (reason !== "untrusted_key" || keys === "pinned") return { ok: false, reason, detail };
  const message = recallVerified(bytes);
  if (message === undefined) throw new Error("a line that parsed before does not parse");
  const known = ctx.store.peers.get(message.from)?.keys.length ?? 0;
  if (known > 0) return { ok: false, reason, detail };
  return { ok: true, message, unverified: true };
}

/** A blank line: it counts in its log and says nothing. */
export function judgeBlank(log: LogRecord): Judged {
  log.line += 1;
  return skipped(log);
}

function skipped({ name, line, lastAt }: LogRecord, copy: { isCopy?: true } = {}): Judged {
  const event: CoreEvent = { kind: "skipped", log: name, line, at: lastAt, ...copy };
  return { event, violation: undefined, unverified: false };
}

/** Judges a line by what its log has shown, and takes it into that. Spec 1.6, 2.4. */
export function judgeRead(raw: RawLine, line: ReadLine, log: LogRecord, judging: Judging): Judged {
  log.line += 1;
  const place = { log: log.name, line: log.line };
  const bytes = raw.bytes ?? new Uint8Array(0);
  const noted = judging.noted(log.name, log.line);
  const read = asNoted(line, bytes, noted);
  if (!read.ok) {
    const { reason, detail, refusedThen } = read;
    if (BY_CONTEXT.has(reason) && repeats(bytes, log.admission) !== undefined) {
      return skipped(log, { isCopy: true });
    }
    if (refusedThen?.seq !== undefined) log.refusedThen.add(refusedThen.seq);
    const ofThen = refusedThen === undefined ? {} : { isOfThen: true as const };
    const violation = { rule: reason, ...place, event_id: null, detail, ...ofThen };
    const event: CoreEvent = { kind: "refused", ...place, at: log.lastAt, reason };
    return { event, violation, unverified: false };
  }
  const { message, unverified } = read;
  log.lastAt = noted?.at ?? Math.max(Math.floor(message.timestampMs), log.lastAt);
  const { gaps } = log.admission.chain;
  const reading = readingOf(message.id, log.line, noted);
  const verdict = admit(message, log.admission, judging.ctx, log.lastAt, reading);
  notePassed(message, log, judging.ctx);
  if (verdict.outcome === "duplicate") return skipped(log, { isCopy: true });
  if (verdict.outcome === "wait") throw new Error("an audit waits for nothing");
  const refused = verdict.outcome === "refused" ? verdict : undefined;
  if (refused?.reason === "log_forked" && log.admission.chain.head === undefined) {
    log.missing = [...(log.missing ?? []), ...missing(gaps, log)];
  }
  const event: CoreEvent = {
    kind: "line",
    ...place,
    at: log.lastAt,
    live: false,
    own: false,
    message,
    raw: Buffer.from(bytes).toString("utf8"),
    refused: refused?.reason,
    afterGap: verdict.outcome === "accepted" && verdict.afterGap,
  };
  const violation = refused && {
    rule: refused.reason,
    ...place,
    event_id: message.id,
    detail: refused.detail,
  };
  return { event, violation, unverified };
}

/** What hung on our pins and policy when the line came is as our journal noted it. */
function asNoted(read: ReadLine, bytes: Uint8Array, noted: NotedLine | undefined): ReadLine {
  if (noted === undefined || !noted.fits(bytes)) return read;
  if (!read.ok) {
    if (!noted.authentic || !BY_CONTEXT.has(read.reason)) return read;
    const message = recallVerified(bytes);
    return message === undefined ? read : { ok: true, message, unverified: false };
  }
  const { reason } = noted;
  if (noted.authentic || reason === undefined || !BY_CONTEXT.has(reason)) return read;
  const refusedThen = { seq: read.message.seq };
  return { ok: false, reason, detail: "it was refused when it was received", refusedThen };
}

function readingOf(id: string, line: number, noted: NotedLine | undefined): Reading {
  const base: Reading = { mode: "audit", line };
  const isOfThis = noted?.authentic === true && noted.isOf(id);
  return isOfThis ? { ...base, noted: { reason: noted.reason } } : base;
}

/** Spec 2.1: a deactivated key is believed up to the last line noted then. */
function notePassed(message: Message, log: LogRecord, { store }: AdmissionContext): void {
  for (const { keyId, ends } of store.peers.get(message.from)?.keys ?? []) {
    if (ends?.get(log.name)?.id === message.id) log.passed.add(keyId);
  }
}

/** After a fork the chain begins wherever it goes on: nothing is missing before it. */
function missing(gaps: readonly ChainGap[], log: LogRecord): readonly ChainGap[] {
  return log.missing === undefined ? gaps : gaps.filter(({ after }) => after !== undefined);
}

/** Lines that the chain says were written and that were never met. */
export function gapViolations(log: LogRecord): Violation[] {
  const all = [...(log.missing ?? []), ...missing(log.admission.chain.gaps, log)];
  const places = [...log.refusedThen];
  const isThere = ({ from, to }: ChainGap): boolean =>
    places.filter((seq) => from <= seq && seq <= to).length === to - from + 1;
  const gaps = all.filter((gap) => !isThere(gap));
  return gaps.map(({ from, to, before }) => ({
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
