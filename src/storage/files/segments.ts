import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { readWhole, StorageError, type Disk, type DiskFile, type FileStat } from "../disk/disk.ts";

const MAX_SEGMENT_BYTES = 1024 * 1024 * 1024;

/**
 * The archived segments of a log or shared file, oldest first: `archive/YYYY/<name>.jsonl`, then
 * `<name>.2.jsonl` and so on, compressed or not. Spec 3.10. `name` is the log's name.
 */
export function segmentsOf(disk: Disk, archive: string, name: string): string[] {
  const segments: string[] = [];
  // What a peer has put in the place of a folder or a segment is passed over: it is no archive.
  if (disk.stat(archive)?.kind !== "folder") return segments;
  for (const year of disk.list(archive).filter((entry) => /^[0-9]{4}$/.test(entry))) {
    const folder = join(archive, year);
    if (disk.stat(folder)?.kind !== "folder") continue;
    const found = inYear(disk, folder, name);
    segments.push(...found.filter((path) => disk.stat(path)?.kind === "file"));
  }
  return segments;
}

function inYear(disk: Disk, folder: string, name: string): string[] {
  const byNumber = new Map<number, string>();
  for (const entry of disk.list(folder)) {
    const number = numberOf(entry, name);
    if (number === undefined) continue;
    // While a segment is being compressed both forms are there: the plain one is complete.
    if (entry.endsWith(".gz") && byNumber.has(number)) continue;
    byNumber.set(number, join(folder, entry));
  }
  return [...byNumber].toSorted(([a], [b]) => a - b).map(([, path]) => path);
}

function numberOf(entry: string, name: string): number | undefined {
  if (!entry.startsWith(`${name}.`)) return undefined;
  const rest = /^(?:([1-9][0-9]{0,8})\.)?jsonl(?:\.gz)?$/.exec(entry.slice(name.length + 1));
  if (rest === null) return undefined;
  return rest[1] === undefined ? 1 : Number(rest[1]);
}

/** Opens a segment for reading, compressed or not. */
export function openSegment(disk: Disk, path: string): DiskFile {
  return path.endsWith(".gz") ? inflated(disk, path) : disk.open(path, "read");
}

function inflated(disk: Disk, path: string): DiskFile {
  const outside = disk.open(path, "read");
  const stat = outside.stat();
  outside.close();
  const bytes = inflate(path, readWhole(disk, path, MAX_SEGMENT_BYTES) ?? new Uint8Array(0));
  const refuse = (): never => {
    throw new Error(`${path}: a compressed segment is only read, and as a whole`);
  };
  return {
    path,
    stat: (): FileStat => ({ ...stat, size: bytes.length }),
    read: (length, position) => bytes.subarray(position, position + length),
    search: refuse,
    append: refuse,
    overwrite: refuse,
    rewrite: refuse,
    truncate: refuse,
    lock: refuse,
    datasync: () => undefined,
    close: () => undefined,
  };
}

function inflate(path: string, packed: Uint8Array): Uint8Array {
  try {
    return gunzipSync(packed, { maxOutputLength: MAX_SEGMENT_BYTES });
  } catch (cause) {
    throw new StorageError("corrupt", path, "is not a gzip file that can be read whole", {
      hint: "restore the segment from a backup, or from a peer's copy of the wire",
      cause,
    });
  }
}
