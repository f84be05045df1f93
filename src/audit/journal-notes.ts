import { openIfThere, type Disk } from "../storage/disk/disk.ts";
import { wholeLines } from "../storage/disk/line-splitter.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../admission/checks.ts";
import type { NotedLine } from "../admission/reading.ts";
import type { UnsignedPast } from "../admission/unsigned-lines.ts";
import { NoteColumns } from "./note-columns.ts";

/** What our private journal noted of the line at one place, and when it was received, ms. Spec 2.4. */
export interface JournalNote extends NotedLine {
  readonly at: number;
}

/** What became of an unsigned line when it was received. Spec 1.5. */
export function unsignedThen(noted: JournalNote | undefined): UnsignedPast["noted"] {
  if (noted?.reason === "unsigned") return "refused";
  return noted?.authentic === true ? "taken" : undefined;
}

interface Refused {
  readonly reason: RefusalReason;
  readonly authentic: boolean;
}

/** By line; of a log with a million of them, so only numbers for those that were accepted. */
interface OfLog {
  readonly lines: NoteColumns;
  readonly refused: Map<number, Refused>;
  /** Lines that proved nothing and are noted as one, in their order. */
  readonly runs: Run[];
}

interface Run {
  readonly first: number;
  readonly last: number;
  readonly at: number;
  /** Undefined where they have several. */
  readonly reason: RefusalReason | undefined;
}

/** By log; read beside a daemon that may be writing the journal. */
export type JournalNotes = ReadonlyMap<string, OfLog>;

/** What the journal says of that line, unless it was a duplicate or blank. */
export function notedAt(notes: JournalNotes, log: string, line: number): JournalNote | undefined {
  const ofLog = notes.get(log);
  if (ofLog === undefined) return undefined;
  const accepted = ofLog.lines.at(line);
  if (accepted === undefined) return inRun(ofLog.runs, line);
  const refused = ofLog.refused.get(line);
  const { at, length, tag } = accepted;
  return {
    at,
    authentic: refused?.authentic ?? tag !== 0,
    reason: refused?.reason,
    isOf: (id) => tagOf(id) === tag,
    fits: (bytes) => bytes.length === length,
  };
}

function inRun(runs: readonly Run[], line: number): JournalNote | undefined {
  let from = 0;
  let to = runs.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((runs[middle]?.last ?? Infinity) < line) from = middle + 1;
    else to = middle;
  }
  const run = runs[from];
  if (run === undefined || run.first > line) return undefined;
  const { at, reason } = run;
  return { at, authentic: false, reason, isOf: () => false, fits: () => true };
}

/** Of what is noted twice, because a power cut took it back, the last counts. */
export function readJournalNotes(disk: Disk, path: string): JournalNotes {
  const notes = new Map<string, OfLog>();
  const earlier = new Map<string, number>();
  const file = openIfThere(disk, path);
  if (file === undefined) return notes;
  try {
    for (const { bytes } of wholeLines(file, 0, file.stat().size)) {
      const value = bytes === undefined ? undefined : parsedEntry(bytes);
      lower(notes, setBack(value));
      // A log that was rewritten: its file now begins after so many lines that it had.
      for (const { log, lines } of beginnings(value)) {
        earlier.set(log, lines);
        notes.delete(log);
      }
      const recounted = recount(value);
      if (recounted !== undefined) earlier.set(recounted.log, recounted.earlier);
      const entry = lineEntry(value);
      if (entry !== undefined) take(notes, entry, earlier.get(entry.log) ?? 0);
    }
  } finally {
    file.close();
  }
  return notes;
}

function take(notes: Map<string, OfLog>, entry: NotedEntry, earlier: number): void {
  const { log, at, length, id, reason, verdict } = entry;
  const ofLog = notes.get(log) ?? { lines: new NoteColumns(), refused: new Map(), runs: [] };
  notes.set(log, ofLog);
  const line = entry.line - earlier;
  if (entry.first !== undefined) {
    takeRun(ofLog, { first: entry.first - earlier, last: line, at, reason });
    return;
  }
  ofLog.lines.set(line, { at, length, tag: verdict === "unauthentic" ? 0 : tagOf(id) });
  if (reason === undefined) ofLog.refused.delete(line);
  else ofLog.refused.set(line, { reason, authentic: verdict === "refused" });
}

/** Lines that were read again are noted again: the earlier notes no longer count. */
function takeRun({ runs }: OfLog, run: Run): void {
  while ((runs.at(-1)?.last ?? 0) >= run.first) runs.pop();
  runs.push(run);
}

/** Our clock was set back to that: nothing was received later before. Spec 4.1. */
function setBack(value: unknown): number {
  const { event } = (value ?? {}) as { event?: { kind?: unknown; at?: unknown } };
  return event?.kind === "set_back" && typeof event.at === "number" ? event.at : Infinity;
}

function lower(notes: JournalNotes, to: number): void {
  if (to === Infinity) return;
  for (const { lines, runs } of notes.values()) {
    lines.lower(to);
    for (const [place, run] of runs.entries()) if (run.at > to) runs[place] = { ...run, at: to };
  }
}

function tagOf(id: string): number {
  return Number.parseInt(id.slice(0, 13), 16) || 0;
}

function parsedEntry(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined; // damaged: the line's own timestamp is used
  }
}

function beginnings(value: unknown): { log: string; lines: number }[] {
  const { event } = (value ?? {}) as { event?: { kind?: unknown; logs?: unknown } };
  if (event?.kind !== "reset" || !Array.isArray(event.logs)) return [];
  return (event.logs as { log: string; lines?: number }[]).flatMap(({ log, lines }) =>
    lines === undefined ? [] : [{ log, lines }],
  );
}

/** Lines of others are gone from the log: the lines that follow have numbers that much higher. */
function recount(value: unknown): { log: string; earlier: number } | undefined {
  const { event } = (value ?? {}) as { event?: { kind?: unknown; log: string; earlier: number } };
  return event?.kind === "recounted" ? event : undefined;
}

interface NotedEntry {
  readonly log: string;
  readonly line: number;
  /** Of a run of lines that prove nothing. */
  readonly first: number | undefined;
  readonly at: number;
  /** Of the line without its newline. */
  readonly length: number;
  readonly id: string;
  readonly reason: RefusalReason | undefined;
  readonly verdict: unknown;
}

function lineEntry(value: unknown): NotedEntry | undefined {
  const { k, log, line, first, at, start, end, id, reason, verdict } = (value ?? {}) as Record<
    string,
    unknown
  >;
  if (k !== "line" || typeof log !== "string" || typeof at !== "number") return undefined;
  if (typeof line !== "number" || line <= 0 || line >= 2 ** 32 - 1) return undefined;
  return {
    log,
    line,
    first: typeof first === "number" ? first : undefined,
    at,
    length: Number(end) - Number(start) - 1,
    id: typeof id === "string" ? id : "",
    reason: REFUSAL_REASONS.find((each) => each === reason),
    verdict,
  };
}
