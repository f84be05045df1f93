import type { Disk, DiskFile } from "../disk/disk.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";
import { endsLine, LINE_END } from "../disk/line-splitter.ts";

/** A line that was refused or skipped. Spec 2.4. */
export interface QuarantineEntry {
  /** ISO-8601. */
  readonly at: string;
  readonly file: string;
  readonly reason: string;
  readonly detail: string;
  /** Kept up to 4 KiB. */
  readonly line: Uint8Array;
}

/** Copies for people: losing them loses nothing else, so they are not synced. */
export interface Quarantine {
  /** Removes the oldest entries where the bound asks for it. @throws StorageError */
  add(entries: readonly QuarantineEntry[]): void;
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
  let half: { readonly file: DiskFile; size: number } | undefined;

  function close(): void {
    half?.file.close();
    half = undefined;
  }

  function append(lines: readonly Uint8Array[]): void {
    if (lines.length === 0) return;
    half ??= openHalf(disk, path);
    const bytes = Buffer.concat(lines);
    half.file.append(bytes);
    half.size += bytes.length;
  }

  return {
    close,
    add(entries) {
      half ??= openHalf(disk, path);
      let { size } = half;
      let batch: Uint8Array[] = [];
      for (const line of entries.map(entryLine)) {
        if (size + line.length > HALF_BYTES) {
          append(batch);
          close();
          disk.remove(older);
          disk.renameExclusive(path, older);
          [batch, size] = [[], 0];
        }
        batch.push(line);
        size += line.length;
      }
      append(batch);
    },
  };
}

function openHalf(disk: Disk, path: string): { readonly file: DiskFile; size: number } {
  const file = disk.open(path, "append", PRIVATE_FILE);
  if (!endsLine(file, file.stat().size)) file.append(LINE_END);
  return { file, size: file.stat().size };
}

function entryLine(entry: QuarantineEntry): Uint8Array {
  // Bytes that are no UTF-8 show as U+FFFD: a copy to look at, the log keeps the original.
  const line = Buffer.from(entry.line.subarray(0, MAX_KEPT_LINE_BYTES)).toString("utf8");
  return Buffer.from(`${JSON.stringify({ ...entry, line })}\n`, "utf8");
}
