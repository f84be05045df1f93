import { isChained } from "../../wire/chain.ts";
import { closingLineOf } from "../../wire/roster/closing.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import type { Layout } from "../../wire/layout.ts";
import { firstLineNow } from "../../wire/roster/members.ts";
import { textField } from "../body.ts";
import { addMark, markAt, markOf, noMarks, type ChainMark } from "./chain-marks.ts";
import type { LogsState, LogState, BeatMark } from "./logs-state.ts";
import { claim, judgeWaiting, nameRefused, openCoverage, pruneMarks } from "./coverage.ts";
import { asContinued } from "./continued.ts";
import { promisedCadence, counted, parseHeads, statesHeads, type Head } from "./heads.ts";
import { isFolded, type CoreEvent, type LineEvent, type ResetLog } from "../events.ts";
import type { Env } from "../env.ts";

export type { Head } from "./heads.ts";

const MARKS_BETWEEN_PRUNES = 1_024;
/**
 * No more beats of one log are kept than this, even if a proposal still asks about them. It is not
 * judged any more then: what is left of the beats could tell another outcome than all of them.
 */
const MAX_BEATS = 16_384;
const MAX_STATE_TEXT = 32;

/** The logs whose authors' coverage this event may have changed: its own, when it is a beat, too. */
export function applyLogs(state: LogsState, event: CoreEvent, env: Env): ReadonlySet<string> {
  const touched = new Set<string>();
  if (event.kind === "rewound") {
    const log = state.get(event.log);
    // None of what is taken back was authentic.
    if (log !== undefined && log.lines > event.line) {
      log.foreign = Math.max(0, log.foreign - (log.lines - event.line));
      log.lines = event.line;
    }
  }
  if (event.kind === "recounted") {
    const log = openLog(state, event.log, env.layout);
    log.earlier = event.earlier;
    log.recounted = event.line;
  }
  if (event.kind === "reset")
    for (const each of event.logs) beginRewritten(state, each, env.layout);
  if (event.kind !== "line" && event.kind !== "refused" && event.kind !== "skipped") return touched;
  const log = openLog(state, event.log, env.layout);
  // Lines that are read again are counted once.
  const more = Math.max(0, event.line - log.lines);
  if (event.kind === "refused") {
    const count = Math.min(event.count ?? 1, more);
    if (event.reason === "untrusted_key" && isNothingProved(log)) {
      log.unpinned = (log.unpinned ?? 0) + count;
    } else log.foreign += count;
  }
  log.lines = Math.max(log.lines, event.line);
  if (event.kind === "line" && isFolded(event)) {
    markLine(log, event);
    const closing = log.closing ?? closingMark(event, env.layout);
    if (closing !== undefined) log.closing = closing;
    if (event.message.type === "heartbeat") {
      for (const each of [event, ...asContinued(event, env.layout)]) {
        addBeat(state, openLog(state, each.log, env.layout), each, env.layout);
        touched.add(each.log);
      }
    } else log.said = event.line;
  }
  for (const [reader, read] of state) {
    const coverage = read.covers.get(event.log);
    if (coverage !== undefined && judgeWaiting(state, read, event.log, coverage))
      touched.add(reader);
  }
  if (log.lines % MARKS_BETWEEN_PRUNES === 0) pruneMarks(state, env.layout, event.log);
  return touched;
}

function isNothingProved({ said, firstBeat, marks }: LogState): boolean {
  return said === undefined && firstBeat === undefined && marks.lines.length === 0;
}

/** The lines that its author has put in the place of known ones follow them: the count goes on. */
function beginRewritten(state: LogsState, { log: name, lines }: ResetLog, layout: Layout): void {
  if (lines === undefined) return;
  const log = openLog(state, name, layout);
  log.lines = Math.max(log.lines, lines);
  log.earlier = log.lines;
  delete log.recounted;
}

function openLog(state: LogsState, name: string, { logs }: Layout): LogState {
  let log = state.get(name);
  if (log === undefined) {
    const { into } = logs.get(name) ?? {};
    log = {
      lines: 0,
      ...(into === undefined ? {} : { into }),
      foreign: 0,
      marks: noMarks(),
      beats: [],
      firstBeat: undefined,
      headsFrom: undefined,
      covers: new Map(),
      mismatches: [],
    };
    state.set(name, log);
  }
  return log;
}

/**
 * Whether a line that is read again may be a restored one: it comes after the last authentic line.
 * What was in its place was not written by the author, who may have restored the line since.
 */
export function mayBeRestored(state: LogsState, name: string, line: number): boolean {
  const log = state.get(name);
  return log !== undefined && line <= log.lines && (log.marks.lines.at(-1) ?? 0) < line;
}

/** The heads of a beat, in our count of lines: their author counts those that are in a log now. */
export function headsOf(body: JsonValue, state: LogsState, layout: Layout): Map<string, Head> {
  const heads = parseHeads(body, layout);
  for (const [target, head] of heads) {
    const { earlier = 0, recounted, marks } = state.get(target) ?? { marks: noMarks() };
    if (earlier === 0) continue;
    const named = markOf(marks, head.eventId);
    // A head that names an earlier line counts the log as it was before, if it counts that far.
    const isNew = named === undefined || named.line > (recounted ?? earlier);
    const isBelow = recounted !== undefined && head.lines < (named?.line ?? 0);
    if (isNew || isBelow) heads.set(target, counted(head, earlier));
  }
  return heads;
}

/** The line by which its author has closed the log. Spec 1.6. */
function closingMark({ log, line, message }: LineEvent, { logs }: Layout): ChainMark | undefined {
  const of = logs.get(log);
  const head = of === undefined ? undefined : closingLineOf(message, of);
  return head === undefined ? undefined : { line, ...head };
}

/** A filler of an old gap has a lower `seq` and is the last chained line of no prefix. */
function markLine(log: LogState, event: LineEvent): void {
  const { message, line } = event;
  const last = markAt(log.marks, -1);
  const seqBefore = last !== undefined && last.line > (log.earlier ?? 0) ? last.seq : 0;
  if (!isChained(message) || message.seq <= seqBefore) return;
  addMark(log.marks, { line, seq: message.seq, id: message.id });
}

function addBeat(state: LogsState, log: LogState, event: LineEvent, layout: Layout): void {
  const { message } = event;
  // Spec 3.2: heads are a receipt because they are signed with the beat.
  const isSigned = message.version !== "v2.0";
  const heads = isSigned ? headsOf(message.body, state, layout) : new Map<string, Head>();
  // Its author's own lines are no receipt.
  const { owner } = layout.logs.get(event.log) ?? {};
  for (const target of heads.keys()) {
    if (layout.logs.get(target)?.owner === owner) heads.delete(target);
  }
  const before = log.beats.pop();
  if (before !== undefined) log.beats.push(withoutPlainHeads(before));
  log.beats.push({
    line: event.line,
    id: message.id,
    timestamp: message.timestamp,
    timestampMs: message.timestampMs,
    at: event.at,
    live: event.live,
    cadenceMs: promisedCadence(message.body, message.timestampMs),
    heads,
    state: textField(message.body, "state")?.slice(0, MAX_STATE_TEXT),
    refusedByUs: event.refused !== undefined,
  });
  if (log.beats.length > MAX_BEATS) {
    const lost = log.beats.splice(0, MAX_BEATS / 64).at(-1);
    if (lost !== undefined) log.lostBeats = lost.line;
  }
  log.firstBeat ??= event.line;
  const { left } = layout;
  if (left.has(message.from) && event.line >= firstLineNow(left, message.from, event.log)) {
    log.backBeat ??= event.line;
  }
  if (isSigned && statesHeads(message.body)) log.headsFrom ??= event.line;
  for (const [target, head] of heads) {
    const coverage = openCoverage(log, target);
    nameRefused(coverage, head.refused, event.line);
    claim(coverage, event.line, head);
    judgeWaiting(state, log, target, coverage);
  }
}

/** Coverage has taken in what an older beat's heads say; only the refusals that it names stay. */
function withoutPlainHeads(beat: BeatMark): BeatMark {
  const naming = [...beat.heads].filter(([, { refused }]) => refused.length > 0);
  return { ...beat, heads: new Map(naming) };
}
