import { join } from "node:path";
import {
  joinLines,
  LineSplitter,
  NEWLINE,
  wholeLines,
  type WholeLine,
} from "../../storage/disk/line-splitter.ts";
import type { DiskFile } from "../../storage/disk/disk.ts";
import { appendShared } from "../../storage/files/shared-file.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { hashOf } from "./log-copy.ts";
import { openWhole, type LocalFolder } from "./local-folder.ts";
import { readParts, type RemoteFiles } from "./remote-files.ts";

/** More of a shared file, its parts together, is in no direction read: it is in memory while it is united. */
const MAX_SHARED_BYTES = 64 * 1_048_576;
/** An entry has some hundred bytes; junk may have one. */
const MAX_SHARED_LINES = 200_000;

/** What is said of one that is larger. */
export const SHARED_LIMIT = `${MAX_SHARED_BYTES / 1_048_576} MiB or ${MAX_SHARED_LINES.toLocaleString("en")} lines`;

/** The bytes of these parts of a shared file; undefined when they are more than is read. */
export async function readShared(
  remote: RemoteFiles,
  paths: readonly string[],
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  const size = paths.reduce((sum, path) => sum + (remote.files.get(path)?.bytes ?? 0), 0);
  if (size > MAX_SHARED_BYTES) return undefined;
  let lines = 0;
  await readParts(remote, paths, (chunk) => {
    if (lines <= MAX_SHARED_LINES) lines += countLines(chunk, MAX_SHARED_LINES + 1);
    if (lines <= MAX_SHARED_LINES) chunks.push(chunk);
  });
  return lines <= MAX_SHARED_LINES ? Buffer.concat(chunks) : undefined;
}

function countLines(bytes: Uint8Array, max: number): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && lines < max; at = bytes.indexOf(NEWLINE, at + 1))
    lines += 1;
  return lines;
}

/**
 * Appends to a shared file the lines that the remote has and it lacks, under its lock. Two lines are one
 * only when all of their bytes are the same: by its id alone, anybody could keep a line of another's
 * away. Spec 5.2. Answers how many; undefined: one of the two is larger than what is read. Throws StorageError.
 */
export async function bringShared(
  folder: LocalFolder,
  remote: RemoteFiles,
  path: string,
  parts: readonly string[],
): Promise<number | undefined> {
  const theirs = await readShared(remote, parts);
  const ours = theirs === undefined ? undefined : localLines(folder, path);
  if (theirs === undefined || ours === undefined) return undefined;
  const known = new Set(ours.map(hashOf));
  const missing = [...linesOf(theirs)].filter((line) => addTo(known, hashOf(line)));
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

/** The whole lines of a shared file here, its archived parts included; undefined: more than is read. */
export function localLines(folder: LocalFolder, path: string): Uint8Array[] | undefined {
  const file = openWhole(folder, path);
  if (file === undefined) return [];
  try {
    if (file.stat().size > MAX_SHARED_BYTES) return undefined;
    const lines: Uint8Array[] = [];
    for (const line of linesIn(file)) {
      if (lines.length >= MAX_SHARED_LINES) return undefined;
      lines.push(Buffer.from(line));
    }
    return lines;
  } finally {
    file.close();
  }
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
