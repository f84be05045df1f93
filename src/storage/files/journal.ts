import { StorageError, type Disk, type DiskFile } from "../disk/disk.ts";
import { chunksOf, endsLine, NEWLINE, wholeLines } from "../disk/line-splitter.ts";
import { writeAgain } from "../disk/rewrite.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/** An entry with its byte range. */
export interface JournalRecord<Entry> {
  readonly entry: Entry;
  readonly start: number;
  readonly end: number;
}

/** A private append-only file of plain JSON objects, one on a line. */
export interface Journal<Entry extends object> {
  readonly end: number;
  /** All of them and synced, or it throws and holds none of them. Returns where each begins. */
  append(entries: readonly Entry[]): number[];
  /** Streams the entries from an offset on (an `end` handed out before). */
  read(from?: number): Generator<JournalRecord<Entry>>;
  /** The entry that begins there; undefined when none does. */
  at(offset: number): JournalRecord<Entry> | undefined;
  /** Lines that `read` met and could not understand. */
  readonly damaged: number;
  close(): void;
}

/**
 * More than one `append` ever writes. Nothing is appended before what is there is durable, so
 * that only the last write of an earlier life can be in doubt.
 */
const LAST_WRITE_BYTES = 8 * 1024 * 1024;

/** An entry of a line is rarely longer. */
const SHORT_ENTRY_BYTES = 1_024;

/**
 * Opens a journal and cuts what a crash left of a batch that was never acknowledged: an
 * unterminated tail, and everything from a hole (zero bytes) on. `durable`: an offset known to be
 * synced, before which nothing is looked at.
 */
export function openJournal<Entry extends object>(
  disk: Disk,
  path: string,
  durable = 0,
): Journal<Entry> {
  const file = disk.open(path, "append", PRIVATE_FILE);
  let end: number;
  try {
    end = cutTornEnd(file, durable);
    // The last write may not have been synced, or its sync failed: what is acted upon now has to stay.
    if (end > durable) {
      writeAgain(file, Math.max(durable, end - LAST_WRITE_BYTES), end);
      file.datasync();
    }
  } catch (error) {
    file.close();
    throw error;
  }
  return new JournalFile<Entry>(file, end);
}

class JournalFile<Entry extends object> implements Journal<Entry> {
  readonly #file: DiskFile;
  #end: number;
  #damaged = 0;
  #isBroken = false;

  constructor(file: DiskFile, end: number) {
    this.#file = file;
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  get damaged(): number {
    return this.#damaged;
  }

  append(entries: readonly Entry[]): number[] {
    if (this.#isBroken) {
      throw new StorageError(
        "io",
        this.#file.path,
        "an entry that failed could not be cut off again",
        {
          hint: "restart the daemon: it repairs the file when it opens it",
        },
      );
    }
    if (entries.length === 0) return [];
    const lines = entries.map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`, "utf8"));
    try {
      this.#file.append(Buffer.concat(lines));
      this.#file.datasync();
    } catch (error) {
      // Nothing may follow what is half there: if it cannot be cut now, the next open cuts it.
      this.#isBroken = true;
      this.#file.truncate(this.#end);
      this.#isBroken = false;
      throw error;
    }
    return lines.map(({ length }) => {
      const start = this.#end;
      this.#end += length;
      return start;
    });
  }

  at(start: number): JournalRecord<Entry> | undefined {
    const bytes = lineAt(this.#file, start, this.#end);
    const entry = bytes === undefined ? undefined : parseEntry(bytes);
    if (bytes === undefined || entry === undefined) return undefined;
    return { entry: entry as Entry, start, end: start + bytes.length + 1 };
  }

  *read(from = 0): Generator<JournalRecord<Entry>> {
    for (const { bytes, start, end } of wholeLines(this.#file, from, this.#end)) {
      const entry = bytes === undefined ? undefined : parseEntry(bytes);
      if (entry === undefined) this.#damaged += 1;
      else yield { entry: entry as Entry, start, end };
    }
  }

  close(): void {
    this.#file.close();
  }
}

/** The line that begins there, read in few bytes: nearly all entries are short. */
function lineAt(file: DiskFile, start: number, end: number): Uint8Array | undefined {
  for (let length = SHORT_ENTRY_BYTES; ; length *= 8) {
    const bytes = file.read(Math.min(length, end - start), start);
    const newline = bytes.indexOf(NEWLINE);
    if (newline >= 0) return bytes.subarray(0, newline);
    if (start + length >= end) return undefined;
  }
}

function parseEntry(bytes: Uint8Array): object | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined; // counted: its log line becomes history without a receipt
  }
  return typeof value === "object" && value !== null ? value : undefined;
}

/** Cuts what was not written whole, and returns where the file ends now. */
function cutTornEnd(file: DiskFile, durable: number): number {
  const { size } = file.stat();
  const from = Math.min(durable, size);
  const whole = lastWholeLineBefore(file, from, firstZero(file, from, size) ?? size);
  if (whole < size) file.truncate(whole);
  return whole;
}

function firstZero(file: DiskFile, from: number, to: number): number | undefined {
  let position = from;
  for (const chunk of chunksOf(file, from, to)) {
    const at = chunk.indexOf(0);
    if (at >= 0) return position + at;
    position += chunk.length;
  }
  return undefined;
}

function lastWholeLineBefore(file: DiskFile, from: number, to: number): number {
  if (endsLine(file, to)) return to;
  const scan = wholeLines(file, from, to);
  for (let step = scan.next(); ; step = scan.next()) if (step.done === true) return step.value;
}
