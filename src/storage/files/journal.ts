import { StorageError, type Disk, type DiskFile } from "../disk/disk.ts";
import { chunksOf, endsLine, wholeLines } from "../disk/line-splitter.ts";
import { writeAnew } from "../disk/rewrite.ts";

/** An entry with its byte range. */
export interface JournalRecord<Entry> {
  readonly entry: Entry;
  readonly start: number;
  readonly end: number;
}

/** A private append-only file of plain JSON objects, one on a line. */
export interface Journal<Entry extends object> {
  readonly end: number;
  /** All of them and synced, or it throws and holds none of them. Returns the new end. */
  append(entries: readonly Entry[]): number;
  /** Streams the entries from an offset on (an `end` handed out before). */
  read(from?: number): Generator<JournalRecord<Entry>>;
  /** Lines that `read` met and could not understand. */
  readonly damaged: number;
  close(): void;
}

/**
 * More than one `append` ever writes. Nothing is appended before what is there is durable, so
 * that only the last write of an earlier life can be in doubt.
 */
const LAST_WRITE_BYTES = 8 * 1024 * 1024;

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
  const file = disk.open(path, "append", 0o600);
  let end: number;
  try {
    end = heal(file, durable);
    // The last write may never have been synced, or in vain: what is acted upon now has to stay.
    if (end > durable) {
      writeAnew(file, Math.max(durable, end - LAST_WRITE_BYTES), end);
      file.datasync();
    }
  } catch (error) {
    file.close();
    throw error;
  }
  let broken = false;
  let damaged = 0;

  return {
    get end() {
      return end;
    },
    get damaged() {
      return damaged;
    },
    append(entries) {
      if (broken) {
        throw new StorageError("io", path, "an entry that failed could not be cut off again", {
          hint: "restart the daemon: it repairs the file when it opens it",
        });
      }
      if (entries.length === 0) return end;
      const bytes = entryBytes(entries);
      try {
        file.append(bytes);
        file.datasync();
      } catch (error) {
        // Nothing may follow what is half there: if it cannot be cut now, the next open heals it.
        broken = true;
        file.truncate(end);
        broken = false;
        throw error;
      }
      end += bytes.length;
      return end;
    },
    *read(from = 0) {
      for (const { bytes, start, end: after } of wholeLines(file, from, end)) {
        const entry = bytes === undefined ? undefined : parseEntry(bytes);
        if (entry === undefined) damaged += 1;
        else yield { entry: entry as Entry, start, end: after };
      }
    },
    close: () => file.close(),
  };
}

function entryBytes(entries: readonly object[]): Uint8Array {
  return Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), "utf8");
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

function heal(file: DiskFile, durable: number): number {
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
