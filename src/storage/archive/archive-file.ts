import { dirname, join } from "node:path";
import { openIfThere, StorageError, stillNamed, type Disk, type DiskFile } from "../disk/disk.ts";
import {
  bytesBefore,
  endsLine,
  LINE_END,
  NEWLINE,
  wholeLines,
  type WholeLine,
} from "../disk/line-splitter.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import { LAST_YEAR, segmentPlaces } from "./segments.ts";

/** A log or shared file that may be archived. */
export interface Archivable {
  /** The log's name. */
  readonly name: string;
  /** Of the live file. */
  readonly path: string;
  /** Whether a line is its author's: only such a line says of which year a log is. Absent: any line. */
  readonly isAuthors?: (line: Uint8Array) => boolean;
}

export type ArchiveOutcome =
  /** `to`: the segment that it is now. */
  | { readonly outcome: "archived"; readonly to: string; readonly bytes: number }
  /** Its lines are of a later year, or it has none that say of which year they are. */
  | { readonly outcome: "not due" }
  | { readonly outcome: "empty" };

/** How much of a file's beginning and end is searched for a line with a date. */
const DATED_BYTES = 2 * MAX_LINE_BYTES;
/** Lines that are searched for one: of two bytes each, there could be a million of them. */
const MAX_SEARCHED = 4_096;
/** Lines with a date that are asked whose they are: others may fill a log with such. */
const MAX_ASKED = 64;
const NEW_FOLDER_MODE = 0o750;
/** A daemon does nothing else meanwhile; it tries again. */
const ARCHIVE_LOCK_WAIT_MS = 40;
const MAX_ATTEMPTS = 3;

/**
 * Moves a live file into the archive, when its first line is of that year or an earlier one, and makes
 * an empty one in its place. Spec 3.10. A crash at any step loses no line and doubles none: the rename
 * is one step, and who appends next makes the live file if it is missing.
 *
 * `disk` shows files as they are. Of an own log the caller holds the identity's lock, and all of ours
 * is durable in it. Throws "locked" when another program keeps the file locked.
 */
export function archiveFile(
  disk: Disk,
  archive: string,
  of: Archivable,
  year: number,
): ArchiveOutcome {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const first = firstYear(disk, of);
    if (first === "empty") return { outcome: first };
    if (first === undefined || first > year) return { outcome: "not due" };
    const file = disk.open(of.path, "append");
    try {
      const outcome = archiveOpen(disk, archive, { of, file, first }, year);
      if (outcome !== undefined) return outcome;
    } finally {
      file.close();
    }
  }
  throw locked(of.path);
}

/** Undefined when another agent has archived it meanwhile. */
function archiveOpen(
  disk: Disk,
  archive: string,
  { of, file, first }: { readonly of: Archivable; readonly file: DiskFile; readonly first: number },
  year: number,
): ArchiveOutcome | undefined {
  if (!file.lock(ARCHIVE_LOCK_WAIT_MS)) throw locked(of.path);
  if (!stillNamed(disk, file)) return undefined;
  const { size, mode, gid } = file.stat();
  if (!endsLine(file, size)) file.append(LINE_END);
  file.datasync();
  const last = Math.max(first, lastYear(file, of) ?? first);
  const to = nextSegment(disk, archive, of.name, Math.min(year, last, LAST_YEAR));
  moveTo(disk, of.path, to);
  beginAgain(disk, of.path, mode, gid);
  return { outcome: "archived", to, bytes: size };
}

/** A name that was claimed in vain is given back: in a folder with the sticky bit others may not rename. */
function moveTo(disk: Disk, path: string, to: string): void {
  try {
    disk.renameExclusive(path, to);
  } catch (error) {
    const isClaimed = error instanceof StorageError && error.code !== "exists";
    if (isClaimed && disk.stat(to)?.size === 0) disk.remove(to);
    throw error;
  }
}

function locked(path: string): StorageError {
  return new StorageError("locked", path, "another program writes to it", {
    hint: "archive it again later; lslocks shows which program holds it",
  });
}

/** Who may read and write it stays as it was. */
function beginAgain(disk: Disk, path: string, mode: number, gid: number): void {
  const fresh = disk.open(path, "append", mode);
  const made = fresh.stat();
  fresh.close();
  if (made.gid !== gid || made.mode !== mode) disk.setMode(path, mode, gid);
}

/** The free place after all segments of that name: what is archived later is always read later. */
function nextSegment(disk: Disk, archive: string, name: string, year: number): string {
  const places = segmentPlaces(disk, archive, name);
  const folder = String(Math.max(year, places.at(-1)?.year ?? 0));
  const last = places.findLast((place) => place.year === Number(folder));
  makeYear(disk, archive, folder);
  for (let number = (last?.number ?? 0) + 1; ; number += 1) {
    const path = join(archive, folder, number === 1 ? `${name}.jsonl` : `${name}.${number}.jsonl`);
    if (disk.stat(path) === undefined && disk.stat(`${path}.gz`) === undefined) return path;
  }
}

/** Every agent of the wire archives into it: as open as the folder above it. */
function makeYear(disk: Disk, archive: string, year: string): void {
  const folder = join(archive, year);
  if (disk.stat(folder) !== undefined) return;
  if (disk.stat(archive) === undefined) {
    const wire = disk.stat(dirname(archive));
    makeLike(disk, archive, wire?.mode ?? NEW_FOLDER_MODE, wire?.gid);
  }
  const above = disk.stat(archive);
  makeLike(disk, folder, above?.mode ?? NEW_FOLDER_MODE, above?.gid);
}

function makeLike(disk: Disk, folder: string, mode: number, gid: number | undefined): void {
  disk.makeFolder(folder, mode);
  disk.setMode(folder, mode, gid);
}

/** Of what is not due nothing is opened to write: it may be closed to us. */
function firstYear(disk: Disk, of: Archivable): number | undefined | "empty" {
  const file = openIfThere(disk, of.path);
  if (file === undefined) return "empty";
  try {
    const { size } = file.stat();
    if (size === 0) return "empty";
    return yearAmong(wholeLines(file, 0, Math.min(size, DATED_BYTES)), of);
  } finally {
    file.close();
  }
}

function lastYear(file: DiskFile, of: Archivable): number | undefined {
  const end = bytesBefore(file, file.stat().size, DATED_BYTES);
  return yearAmong(linesBackwards(end), of);
}

function* linesBackwards(bytes: Uint8Array): Generator<{ readonly bytes: Uint8Array }> {
  for (let to = bytes.lastIndexOf(NEWLINE); to > 0;) {
    const from = bytes.lastIndexOf(NEWLINE, to - 1) + 1;
    yield { bytes: bytes.subarray(from, to) };
    to = from - 1;
  }
}

/** The year of the first of these lines that has a date and counts. */
function yearAmong(
  lines: Iterable<Pick<WholeLine, "bytes">>,
  { isAuthors = () => true }: Archivable,
): number | undefined {
  let [searched, asked] = [0, 0];
  for (const { bytes } of lines) {
    if ((searched += 1) > MAX_SEARCHED) return undefined;
    const year = bytes === undefined ? undefined : yearIn(bytes);
    if (bytes === undefined || year === undefined) continue;
    if (isAuthors(bytes)) return year;
    if ((asked += 1) >= MAX_ASKED) return undefined;
  }
  return undefined;
}

/** By when a message was written, or a decision ratified. */
function yearIn(line: Uint8Array): number | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line).toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { timestamp, ratified_at: ratified } = value as Record<string, unknown>;
  const date = typeof timestamp === "string" ? timestamp : ratified;
  const ms = typeof date === "string" ? Date.parse(date) : NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).getUTCFullYear();
}
