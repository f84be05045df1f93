import { join } from "node:path";
import {
  joinLines,
  LineSplitter,
  wholeLines,
  type WholeLine,
} from "../../storage/disk/line-splitter.ts";
import type { DiskFile } from "../../storage/disk/disk.ts";
import { appendShared } from "../../storage/files/shared-file.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { hashOf } from "./log-copy.ts";
import { openWhole, type LocalFolder } from "./local-folder.ts";

/**
 * Appends to a shared file the lines that the remote has and it lacks, under its lock. Two lines are one
 * only when all of their bytes are the same: by its id alone, anybody could keep a line of another's
 * away. Spec 5.2. Answers how many. Throws StorageError.
 */
export function bringShared(folder: LocalFolder, path: string, remote: Buffer): number {
  const known = localHashes(folder, path);
  const missing = [...linesOf(remote)].filter((line) => addTo(known, hashOf(line)));
  if (missing.length === 0) return 0;
  const { sharedMode } = sharingOf(folder.disk, folder.wireDir);
  const bytes = joinLines(missing);
  appendShared(folder.disk, join(folder.wireDir, path), bytes.subarray(0, -1), {
    mode: sharedMode,
  });
  return missing.length;
}

/**
 * What the live file of the remote is to hold, so that it lacks nothing that we have; undefined when it
 * lacks nothing. `archived`: the lines that are in archived parts there, or will be.
 */
export function sharedToPush(
  local: Iterable<Uint8Array>,
  remoteLive: Buffer,
  archived: ReadonlySet<string>,
): Buffer | undefined {
  const known = new Set([...archived, ...[...linesOf(remoteLive)].map(hashOf)]);
  const missing = [...local].filter((line) => addTo(known, hashOf(line)));
  if (missing.length === 0) return undefined;
  return Buffer.concat([joinLines([...linesOf(remoteLive)]), joinLines(missing)]);
}

/** The whole lines of a shared file here, its archived parts included. */
export function localLines(folder: LocalFolder, path: string): Uint8Array[] {
  const file = openWhole(folder, path);
  if (file === undefined) return [];
  try {
    return [...linesIn(file)].map((line) => Buffer.from(line));
  } finally {
    file.close();
  }
}

function localHashes(folder: LocalFolder, path: string): Set<string> {
  return new Set(localLines(folder, path).map(hashOf));
}

function* linesIn(file: DiskFile): Generator<Uint8Array> {
  yield* plain(wholeLines(file, 0, file.stat().size));
}

/** The lines of bytes, without CR at their ends, blank ones left out. */
export function linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  return plain(new LineSplitter(0).feed(bytes));
}

function* plain(lines: Iterable<WholeLine>): Generator<Uint8Array> {
  for (const { bytes } of lines) {
    if (bytes === undefined) continue;
    const line = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
    if (line.length > 0) yield line;
  }
}

/** False when it is there already. */
function addTo(set: Set<string>, value: string): boolean {
  if (set.has(value)) return false;
  set.add(value);
  return true;
}
