import {
  addViolation,
  auditView,
  newTally,
  tally,
  type AuditView,
  type Tally,
  type Violation,
} from "./report.ts";
import { apply } from "../protocol/core.ts";
import type { CoreEvent } from "../protocol/events.ts";
import type { Env } from "../protocol/env.ts";
import { emptyState, type State } from "../protocol/state.ts";
import { authenticate, confirm, confirmInAudit, everSignedBy } from "../admission/authenticate.ts";
import type { AdmissionContext, LineSource } from "../admission/context.ts";
import { freshSalt } from "../storage/disk/salt.ts";
import { newLogAdmission } from "../admission/log-admission.ts";
import { prepare } from "../admission/prepare.ts";
import { logsBefore, type Layout, type Log } from "../wire/layout.ts";
import type { UnownedLogs } from "../storage/unowned-text.ts";
import type { Message } from "../wire/message.ts";
import type { VerifyAll } from "../wire/signature.ts";
import {
  auditedLine,
  blankLine,
  gapViolations,
  newLogRecord,
  type Audited,
  type LogRecord,
} from "./audited-line.ts";
import { unsignedThen, type JournalNote } from "./journal-notes.ts";
import { shareOf, verifiedAhead, type LineAhead } from "./lines-ahead.ts";
import type { AuditSource } from "./source.ts";
import { mustSignByPin } from "../admission/unsigned-lines.ts";
import { mayBeUnsigned } from "../trust/policy/config.ts";

/** Where the keys came from that signatures were checked with. */
export type KeySource = "pinned" | "advertised" | "given" | "none";

/** `deaddrop audit --json`. Spec 4.4. */
export interface AuditReport extends AuditView {
  keys: KeySource;
  /** Signed lines of agents of whom no key is known: taken as they are. */
  unverified: number;
  /** Decisions that two sides have recorded: readers count one, and nothing is wrong. Spec 3.4. */
  twins: Violation[];
  /** Torn entries in decisions.jsonl: their recorders died as they wrote. Spec 3.4. */
  torn: Violation[];
  /** Lines that our journal noted as refused for want of a pin, and that would be taken by now. */
  refused_then: Omit<Violation, "isOfThen">[];
}

/** Reported, though no rule forbids them. */
const HARMLESS: ReadonlySet<string> = new Set(["decision_twice", "torn"]);

/** What is audited, and by what. */
export interface AuditPlan {
  readonly env: Env;
  readonly sources: readonly AuditSource[];
  readonly ctx: Omit<AdmissionContext, "history">;
  readonly keys: KeySource;
  /** The name of the log that a message of a file by itself belongs to. */
  logNameOf(message: Message): string;
  /** What our journal noted of a line. */
  noted(log: string, line: number): JournalNote | undefined;
  /** Logs of the wire that belong to no agent: they are not read. Spec 1.1. */
  unowned(): UnownedLogs;
  /** Lines of decisions.jsonl, as events; given last, since the logs prove them. */
  decisions(): Iterable<CoreEvent | Violation>;
}

/** Re-derives everything from the logs, reading each line once. */
export async function runAudit(plan: AuditPlan, verifyAll: VerifyAll): Promise<AuditReport> {
  const logs = new Map<string, LogRecord>();
  const count = newTally();
  const state = emptyState();
  let unverified = 0;
  for await (const line of auditedLines(plan, verifyAll, logs)) {
    const { event, violation } = line;
    if (violation !== undefined) addViolation(count, violation);
    if (line.unverified) unverified += 1;
    countLine(count, event);
    if ("log" in event && !plan.env.layout.logs.has(event.log)) continue;
    apply(state, event, plan.env);
  }
  for (const log of logs.values()) {
    for (const violation of gapViolations(log)) addViolation(count, violation);
  }
  for (const violation of unownedViolations(plan.unowned())) addViolation(count, violation);
  // What is ratified is read before the entries: a proved entry lets the fold forget the text.
  const { decisions } = auditView(state, plan.env, count);
  takeDecisions(plan, state, count);
  const view = auditView(state, plan.env, count);
  const of = (rule: string) => view.violations.filter((each) => each.rule === rule);
  return {
    ...view,
    decisions,
    violations: view.violations.filter(
      ({ rule, isOfThen }) => isOfThen !== true && !HARMLESS.has(rule),
    ),
    keys: plan.keys,
    unverified,
    twins: of("decision_twice"),
    torn: of("torn"),
    refused_then: view.violations.flatMap(({ isOfThen, ...each }) =>
      isOfThen === true ? [each] : [],
    ),
  };
}

/**
 * What each line of the logs is, the earliest first.
 *
 * @param logs what is remembered of each log while it is read
 */
export function auditedLines(
  plan: AuditPlan,
  verifyAll: VerifyAll,
  logs = new Map<string, LogRecord>(),
): AsyncGenerator<Audited> {
  const passed = (keyId: string, log: string) => logs.get(log)?.passed.has(keyId) ?? false;
  return inOrder(plan, logs, { ...plan.ctx, history: { passed } }, verifyAll);
}

/** Nothing in them is read, so the rest may look clean without them. Spec 1.1. */
function unownedViolations({ names, count }: UnownedLogs): Violation[] {
  const rule = "unowned_log";
  const place = { line: null, event_id: null };
  const detail = "it belongs to no handle of the roster in this layout, and is not read";
  const more = count - names.length;
  return [
    ...names.map((log) => ({ rule, log, ...place, detail })),
    ...(more > 0 ? [{ rule, log: null, ...place, detail: `${more} more logs are not read` }] : []),
  ];
}

/** Refusals are violations already, with a text for a person. */
function countLine(count: Tally, event: CoreEvent): void {
  if (event.kind === "line") tally(count, { ...event, refused: undefined });
}

function takeDecisions(plan: AuditPlan, state: State, count: Tally): void {
  for (const each of plan.decisions()) {
    if ("rule" in each) addViolation(count, each);
    else apply(state, each, plan.env);
  }
}

interface Waiting {
  readonly source: AuditSource;
  readonly lines: AsyncGenerator<Audited>;
  head: Audited;
}

/**
 * The lines of all sources, each source in its own order, the earliest line first. An outbox comes after
 * the closed logs that it goes on with, whatever its author's clock says. Spec 1.6.
 */
async function* inOrder(
  plan: AuditPlan,
  logs: Map<string, LogRecord>,
  ctx: AdmissionContext,
  verifyAll: VerifyAll,
): AsyncGenerator<Audited> {
  let waiting: Waiting[] = [];
  for (const source of plan.sources) {
    const lines = linesOfSource(plan, source, { logs, ctx, verifyAll });
    const first = await lines.next();
    if (first.done !== true) waiting.push({ source, lines, head: first.value });
  }
  let open = ready(waiting, plan.env.layout);
  while (open.length > 0) {
    const next = open.reduce((a, b) => (b.head.event.at < a.head.event.at ? b : a));
    yield next.head;
    const after = await next.lines.next();
    if (after.done !== true) {
      next.head = after.value;
      continue;
    }
    waiting = waiting.filter((each) => each !== next);
    open = ready(waiting, plan.env.layout);
  }
}

/** The sources that may be read now. */
function ready(waiting: readonly Waiting[], layout: Layout): readonly Waiting[] {
  const left = new Set(waiting.map(({ source }) => source.log?.name));
  return waiting.filter(({ source: { log } }) => {
    const before = log === undefined ? [] : logsBefore(layout, log);
    return !before.some(({ name }) => left.has(name));
  });
}

/** A line with what our journal noted of it, and how often a key had ended when it was prepared. */
interface NotedLine extends LineAhead {
  readonly source: LineSource;
  readonly noted: JournalNote | undefined;
  readonly passed: number;
}

async function* linesOfSource(
  plan: AuditPlan,
  source: AuditSource,
  by: {
    readonly logs: Map<string, LogRecord>;
    readonly ctx: AdmissionContext;
    readonly verifyAll: VerifyAll;
  },
): AsyncGenerator<Audited> {
  const { logs, ctx, verifyAll } = by;
  const { layout } = plan.env;
  const recordOf = (name: string, owner: string): LogRecord => {
    const log = layout.logs.get(name) ?? outside(name, owner);
    const known = logs.get(name) ?? newLogRecord(newLogAdmission(log, layout, freshSalt()), owner);
    logs.set(name, known);
    return known;
  };
  const takesClaims = plan.keys !== "pinned";
  const fixed = source.log && recordOf(source.log.name, source.log.owner);
  // In a file of several senders, a line that says nothing of its author counts as the last one's.
  const nobodys = newLogAdmission(outside(source.name, ""), layout, freshSalt());
  let current = fixed ?? newLogRecord(nobodys, "");
  const lines = notedLines(plan, source, fixed, ctx);
  for await (const [line, valid] of verifiedAhead(lines, verifyAll, shareOf(plan.sources.length))) {
    const { raw, preparation, noted } = line;
    if (preparation === undefined) {
      yield blankLine(current);
      continue;
    }
    // Since a line was prepared, lines before it may have brought the end of a key. Spec 2.1.
    const confirmed =
      fixed !== undefined && fixed.passed.size !== line.passed
        ? authenticate(raw.bytes, line.source, ctx)
        : confirm(preparation, valid);
    const read = confirmInAudit(raw.bytes, confirmed, ctx, { noted, takesClaims });
    if (fixed === undefined && read.ok) {
      current = recordOf(plan.logNameOf(read.message), read.message.from);
    }
    yield auditedLine(raw, read, current, ctx, noted);
  }
}

/** The lines of a source, prepared as they are asked for. */
function* notedLines(
  plan: AuditPlan,
  source: AuditSource,
  record: LogRecord | undefined,
  ctx: AdmissionContext,
): Generator<NotedLine> {
  const { log } = source;
  const signedFrom = firstSigned(source, ctx);
  let count = 0;
  for (const raw of source.lines()) {
    const line = ++count;
    const noted = log && plan.noted(log.name, line);
    const unsignedPast = (author: string) => ({
      noted: unsignedThen(noted),
      isBeforeSigned: line < (signedFrom.get(author) ?? 0),
    });
    const place = { owner: log?.owner, log: log?.name, unsignedPast };
    const preparation = raw.blank ? undefined : prepare(raw.bytes, place, ctx);
    yield { raw, preparation, source: place, noted, passed: record?.passed.size ?? 0 };
  }
}

/** A file that is no log of the layout: it has no addressee. */
function outside(name: string, owner: string): Log {
  return { name, owner, addressee: undefined, path: name };
}

/**
 * The first line of a source that each author has signed, counted from 1. Spec 1.5: what comes before
 * it may be unsigned. The source is read a first time only where policy lets such an author do so.
 */
function firstSigned(source: AuditSource, ctx: AdmissionContext): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const owner = source.log?.owner;
  const matters = [...ctx.store.peers.keys()].filter(
    (handle) =>
      (owner ?? handle) === handle &&
      mayBeUnsigned(ctx.signing, handle) &&
      mustSignByPin(ctx.store, handle),
  );
  if (matters.length === 0) return first;
  const place = { owner, log: source.log?.name };
  let line = 0;
  for (const { bytes, blank } of source.lines()) {
    line += 1;
    if (bytes === undefined || blank) continue;
    const author = everSignedBy(bytes, place, ctx);
    if (author === undefined || first.has(author)) continue;
    first.set(author, line);
    if (matters.every((handle) => first.has(handle))) break;
  }
  return first;
}
