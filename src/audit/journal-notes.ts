import { openIfThere, type Disk } from "../storage/disk.ts";
import { wholeLines } from "../storage/line-splitter.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../trust/admission.ts";

/** What our private journal noted of the line at one place. Spec 2.4. */
export interface NotedLine {
  /** Receipt time, ms. */
  readonly at: number;
  /** Whether it was believed to be its author's. */
  readonly authentic: boolean;
  readonly reason: RefusalReason | undefined;
  /** Whether it is the line of that id. */
  isOf(id: string): boolean;
  /** Whether it is as long as these bytes. */
  fits(bytes: Uint8Array): boolean;
}

interface Refused {
  readonly reason: RefusalReason;
  readonly authentic: boolean;
}

/** By line; of a log with a million of them, so only numbers for those that were accepted. */
interface OfLog {
  readonly at: number[];
  readonly bytes: number[];
  /** 32 bits of the id, 0 of lines that proved nothing. */
  readonly tag: number[];
  readonly refused: Map<number, Refused>;
}

/** By log; read beside a daemon that may be writing the journal. */
export type JournalNotes = ReadonlyMap<string, OfLog>;

/** What the journal says of that line, unless it was a duplicate or blank. */
export function notedAt(notes: JournalNotes, log: string, line: number): NotedLine | undefined {
  const ofLog = notes.get(log);
  const at = ofLog?.at[line];
  if (ofLog === undefined || at === undefined) return undefined;
  const refused = ofLog.refused.get(line);
  const tag = ofLog.tag[line] ?? 0;
  return {
    at,
    authentic: refused?.authentic ?? tag !== 0,
    reason: refused?.reason,
    isOf: (id) => tagOf(id) === tag,
    fits: (bytes) => bytes.length === ofLog.bytes[line],
  };
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
      // A log that began anew: its file now begins after so many lines that it had.
      for (const { log, lines } of beginnings(value)) {
        earlier.set(log, lines);
        notes.delete(log);
      }
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
  const ofLog = notes.get(log) ?? { at: [], bytes: [], tag: [], refused: new Map() };
  notes.set(log, ofLog);
  const line = entry.line - earlier;
  ofLog.at[line] = at;
  ofLog.bytes[line] = length;
  ofLog.tag[line] = verdict === "unauthentic" ? 0 : tagOf(id);
  if (reason === undefined) ofLog.refused.delete(line);
  else ofLog.refused.set(line, { reason, authentic: verdict === "refused" });
}

function tagOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16) || 0;
}

function parsedEntry(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined; // damaged: the line's own timestamp stands in
  }
}

function beginnings(value: unknown): { log: string; lines: number }[] {
  const { event } = (value ?? {}) as { event?: { kind?: unknown; logs?: unknown } };
  if (event?.kind !== "reset" || !Array.isArray(event.logs)) return [];
  return (event.logs as { log: string; lines?: number }[]).flatMap(({ log, lines }) =>
    lines === undefined ? [] : [{ log, lines }],
  );
}

interface NotedEntry {
  readonly log: string;
  readonly line: number;
  readonly at: number;
  /** Of the line without its newline. */
  readonly length: number;
  readonly id: string;
  readonly reason: RefusalReason | undefined;
  readonly verdict: unknown;
}

function lineEntry(value: unknown): NotedEntry | undefined {
  const { k, log, line, at, start, end, id, reason, verdict } = (value ?? {}) as Record<
    string,
    unknown
  >;
  if (k !== "line" || typeof log !== "string" || typeof at !== "number") return undefined;
  if (typeof line !== "number" || line <= 0 || line >= 2 ** 32 - 1) return undefined;
  return {
    log,
    line,
    at,
    length: Number(end) - Number(start) - 1,
    id: typeof id === "string" ? id : "",
    reason: REFUSAL_REASONS.find((each) => each === reason),
    verdict,
  };
}
