import { openIfThere, type Disk, type DiskFile } from "../disk/disk.ts";
import { endsLine, wholeLines, LINE_END } from "../disk/line-splitter.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

/** A line that was refused, or bytes that were cut. Spec 2.4. */
export interface QuarantineEntry {
  /** ISO-8601. */
  readonly at: string;
  readonly file: string;
  readonly offset?: number;
  readonly reason: string;
  readonly detail: string;
  /** Kept up to 4 KiB. */
  readonly line: Uint8Array;
}

/** Evidence copies: losing them loses nothing else, so they are synced only when asked. */
export interface Quarantine {
  /** Drops the oldest entries where the bound asks for it. Throws `StorageError`, e.g. disk full. */
  add(entries: readonly QuarantineEntry[]): void;
  sync(): void;
  /** Entries dropped since the quarantine was begun. */
  readonly dropped: number;
  close(): void;
}

/** @internal */
export const MAX_QUARANTINE_BYTES = 16 * 1024 * 1024;
const MAX_KEPT_LINE_BYTES = 4 * 1024;
/** Two halves, so that the newest evidence survives a flood: the older half goes as a whole. */
const HALF_BYTES = MAX_QUARANTINE_BYTES / 2;

/** Opens `quarantine.jsonl`; its older half is beside it as `quarantine.1.jsonl`. */
export function openQuarantine(disk: Disk, path: string): Quarantine {
  const older = path.replace(/(\.jsonl)?$/, ".1.jsonl");
  let half: Half | undefined;

  function current(): Half {
    half ??= openHalf(disk, path);
    return half;
  }

  /** A crash in here leaves both halves or loses the older one: evidence copies, never the log. */
  function turnOver(full: Half): Half {
    const dropped = full.dropped + countEntries(disk, older);
    full.file.close();
    half = undefined;
    disk.remove(older);
    disk.renameExclusive(path, older);
    const begun = current();
    if (dropped > 0) write(begun, [Buffer.from(`${JSON.stringify({ dropped })}\n`, "utf8")]);
    begun.dropped = dropped;
    return begun;
  }

  return {
    add(entries) {
      let into = current();
      let batch: Uint8Array[] = [];
      let batchBytes = 0;
      for (const line of entries.map(entryLine)) {
        if (into.size + batchBytes + line.length > HALF_BYTES) {
          write(into, batch);
          into = turnOver(into);
          [batch, batchBytes] = [[], 0];
        }
        batch.push(line);
        batchBytes += line.length;
      }
      write(into, batch);
    },
    sync: () => half?.file.datasync(),
    get dropped() {
      return disk.stat(path) === undefined ? 0 : current().dropped;
    },
    close() {
      half?.file.close();
      half = undefined;
    },
  };
}

interface Half {
  readonly file: DiskFile;
  size: number;
  dropped: number;
}

function openHalf(disk: Disk, path: string): Half {
  const file = disk.open(path, "append", PRIVATE_FILE);
  const { size } = file.stat();
  if (!endsLine(file, size)) file.append(LINE_END);
  return { file, size: file.stat().size, dropped: droppedBefore(file, size) };
}

function write(half: Half, lines: readonly Uint8Array[]): void {
  if (lines.length === 0) return;
  const bytes = Buffer.concat(lines);
  half.file.append(bytes);
  half.size += bytes.length;
}

function entryLine(entry: QuarantineEntry): Uint8Array {
  // Bytes that are no UTF-8 show as U+FFFD: a copy to look at, the log keeps the original.
  const line = Buffer.from(entry.line.subarray(0, MAX_KEPT_LINE_BYTES)).toString("utf8");
  return Buffer.from(`${JSON.stringify({ ...entry, line })}\n`, "utf8");
}

function droppedBefore(file: DiskFile, size: number): number {
  const first = wholeLines(file, 0, Math.min(size, 1_024)).next();
  if (first.done === true || first.value.bytes === undefined) return 0;
  const found = /^\{"dropped":([0-9]{1,15})\}$/.exec(
    Buffer.from(first.value.bytes).toString("utf8"),
  );
  return Number(found?.[1] ?? 0);
}

function countEntries(disk: Disk, path: string): number {
  const file = openIfThere(disk, path);
  if (file === undefined) return 0;
  try {
    const { size } = file.stat();
    let count = droppedBefore(file, size) > 0 ? -1 : 0;
    for (const line of wholeLines(file, 0, size)) count += line.end - line.start > 1 ? 1 : 0;
    return count;
  } finally {
    file.close();
  }
}
