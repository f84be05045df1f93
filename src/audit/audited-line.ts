import type { Violation } from "./report.ts";
import type { CoreEvent } from "../protocol/events.ts";
import { lineEvent } from "../protocol/line-event.ts";
import type { Authentication } from "../admission/authenticate.ts";
import type { AdmissionContext } from "../admission/context.ts";
import type { Problem } from "../admission/checks.ts";
import type { LogAdmission } from "../admission/log-admission.ts";
import { judge } from "../admission/judge.ts";
import type { ChainGap } from "../wire/chain.ts";
import type { Message } from "../wire/message.ts";
import type { JournalNote } from "./journal-notes.ts";
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
  /** Places in the chain of lines that are there, and are or were refused for want of a pinned key. */
  readonly unpinned: Set<number>;
}

export function newLogRecord(admission: LogAdmission, owner: string): LogRecord {
  const { name } = admission;
  const sets = { passed: new Set<string>(), unpinned: new Set<number>() };
  return { name, owner, admission, line: 0, lastAt: 0, missing: undefined, ...sets };
}

/** What one line is: an event for the fold, and what is wrong with it. */
export interface Audited {
  readonly event: CoreEvent;
  readonly violation: Violation | undefined;
  /** Signed, but by an agent of whom no key is known here. */
  readonly unverified: boolean;
}

/** A blank line: it counts in its log and has no meaning. */
export function blankLine(log: LogRecord): Audited {
  log.line += 1;
  return skipped(log, "blank");
}

function skipped({ name, line, lastAt }: LogRecord, verdict: "blank" | "duplicate"): Audited {
  const nothing = { live: false, message: undefined, reason: undefined, afterGap: false };
  const place = { log: name, line, own: false };
  const event = lineEvent(place, { ...nothing, verdict, at: lastAt }, undefined);
  return { event, violation: undefined, unverified: false };
}

/**
 * What one line is in its log.
 *
 * @param read what the checks up to its signature said of it
 * @param noted what our journal noted of it
 */
export function auditedLine(
  { bytes }: RawLine,
  read: Authentication,
  log: LogRecord,
  ctx: AdmissionContext,
  noted: JournalNote | undefined,
): Audited {
  log.line += 1;
  const { name, line, admission } = log;
  if (read.ok) log.lastAt = noted?.at ?? Math.max(stampOf(read.message), log.lastAt);
  const at = log.lastAt;
  const { gaps } = admission.chain;
  const verdict = judge(read, admission, ctx, { mode: "audit", receivedAtMs: at, line, noted });
  if (read.ok) notePassed(read.message, log, ctx);
  if (verdict.outcome === "duplicate") return skipped(log, "duplicate");
  if (verdict.outcome === "wait") throw new Error("an audit waits for nothing");
  const refused = verdict.outcome === "refused" ? verdict : undefined;
  if (refused?.reason === "log_forked" && admission.chain.head === undefined) {
    log.missing = [...(log.missing ?? []), ...missing(gaps, log)];
  }
  const message = read.ok ? read.message : undefined;
  const taken = {
    ...{ at, live: false, message, reason: refused?.reason },
    verdict: read.ok ? verdict.outcome : "unauthentic",
    afterGap: verdict.outcome === "accepted" && verdict.afterGap,
  } as const;
  return {
    event: lineEvent({ log: name, line, own: false }, taken, bytes),
    violation: refused && violationOf(read, refused, log),
    unverified: read.ok && read.isUnproved === true,
  };
}

function violationOf(
  read: Authentication,
  { reason: rule, detail }: Problem,
  { name: log, line, unpinned }: LogRecord,
): Violation {
  if (read.ok) return { rule, log, line, event_id: read.message.id, detail };
  const violation = { rule, log, line, event_id: null, detail };
  const seq = read.refusedThen?.seq ?? (rule === "untrusted_key" ? read.claimed?.seq : undefined);
  if (seq !== undefined) unpinned.add(seq);
  if (read.refusedThen === undefined) return violation;
  return { ...violation, isOfThen: true };
}

function stampOf({ timestampMs }: Message): number {
  return Math.floor(timestampMs);
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

/** Lines that were written, as the chain shows, and that are in no file. */
export function gapViolations(log: LogRecord): Violation[] {
  const all = [...(log.missing ?? []), ...missing(log.admission.chain.gaps, log)];
  const places = [...log.unpinned];
  const isThere = ({ from, to }: ChainGap): boolean =>
    places.filter((seq) => from <= seq && seq <= to).length === to - from + 1;
  const gaps = all.filter((gap) => !isThere(gap));
  return gaps.map(({ from, to, before }) => ({
    rule: "log_gap",
    log: log.name,
    line: null,
    event_id: before ?? null,
    detail:
      from === to
        ? `line ${from} of the chain is missing`
        : `lines ${from} to ${to} of the chain are missing`,
  }));
}
