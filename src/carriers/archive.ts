import { basename, dirname, join } from "node:path";
import {
  isObstruction,
  LOCK_WAIT_MS,
  openIfThere,
  removeTemporary,
  StorageError,
  stillNamed,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../storage/disk/disk.ts";
import { endsLine, LINE_END, wholeLines } from "../storage/disk/line-splitter.ts";
import { agentName } from "../wire/handle.ts";
import { parseObject, type JsonObject } from "../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../wire/limits.ts";
import { parseTimestamp } from "../wire/timestamp.ts";
import { isPacked, pack, unpack } from "./packed.ts";

/** Files that every agent of a wire writes, by their paths in it. */
export const SHARED_FILES: readonly string[] = ["decisions.jsonl", "incident_log.jsonl"];

/** A closed part of a live file. Paths are relative to the wire's folder, with "/". */
export interface ArchivedPart {
  readonly path: string;
  readonly live: string;
}

/** Something in the place of a part, or of a folder of parts, that is not read. */
export interface PassedOver {
  readonly path: string;
  readonly problem: string;
}

export interface ArchiveListing {
  /** By path. */
  readonly parts: readonly ArchivedPart[];
  /** Files of lines that are parts of no known file. */
  readonly unowned: readonly string[];
  readonly passedOver: readonly PassedOver[];
}

export type ArchiveOutcome =
  | { readonly outcome: "archived"; readonly to: string; readonly bytes: number }
  /** Its first dated line is of a later year, or none has a date. */
  | { readonly outcome: "not due" }
  | { readonly outcome: "empty" };

const FIRST_YEAR = 2000;
const LAST_YEAR = 2099;
/** How much of a file's beginning is searched for a line with a date, and how many lines of it. */
const DATED_BYTES = 2 * MAX_LINE_BYTES;
const MAX_SEARCHED = 4_096;
const FOLDER_MODE = 0o750;
/** A daemon does nothing else meanwhile; it tries again. */
const ARCHIVE_LOCK_MS = 40;
const COMPARED_BYTES = 1024 * 1024;

/**
 * Which live file a file of the archive is a part of, by names that are formed from handles. Spec 1.10.
 */
export class PartNames {
  readonly #live = new Map<string, string>();

  /** @param carriers paths of live ones beside the shared files; of two with one name the later one has the parts */
  constructor(carriers: Iterable<string> = []) {
    for (const path of [...SHARED_FILES, ...carriers])
      this.#live.set(basename(path, ".jsonl"), path);
  }

  /** A handle may end in a number as parts do: the longest name that fits is meant. Undefined: of none. */
  liveOf(entry: string): string | undefined {
    const stem = /^(.+)\.jsonl(?:\.gz)?$/su.exec(entry)?.[1];
    if (stem === undefined) return undefined;
    return this.#live.get(stem) ?? this.#live.get(stem.replace(/\.[1-9][0-9]{0,8}$/u, ""));
  }
}

/**
 * What the archive of a wire holds, each folder listed once. Links, folders in the place of files, and what another
 * user owns than the live file are passed over.
 *
 * @throws StorageError when the disk fails
 */
export function listArchive(disk: Disk, wireDir: string, names: PartNames): ArchiveListing {
  const listing = { parts: [] as ArchivedPart[], unowned: [] as string[] };
  const passedOver: PassedOver[] = [];
  const users = new Map<string, number | undefined>(SHARED_FILES.map((path) => [path, undefined]));
  const userOf = (live: string): number | undefined => {
    if (!users.has(live)) users.set(live, disk.stat(join(wireDir, live))?.uid);
    return users.get(live);
  };
  const years = listNames(disk, wireDir, "archive", passedOver).filter(isYear);
  for (const year of years.map((name) => `archive/${name}`)) {
    const entries = listNames(disk, wireDir, year, passedOver);
    const plain = new Set(entries);
    for (const entry of entries) {
      const path = `${year}/${entry}`;
      const live = names.liveOf(entry);
      // While a part is compressed both forms are there.
      if (isPacked(entry) && plain.has(entry.slice(0, -".gz".length))) continue;
      if (live === undefined) {
        if (/\.jsonl(?:\.gz)?$/u.test(entry)) listing.unowned.push(path);
        continue;
      }
      const stat = disk.stat(join(wireDir, path));
      // A part that was compressed since the folder was listed is found by whoever opens it.
      const problem = stat && whyNoPart(stat, userOf(live));
      if (problem === undefined) listing.parts.push({ path, live });
      else passedOver.push({ path, problem });
    }
  }
  return { ...listing, passedOver };
}

function isYear(name: string): boolean {
  return /^20[0-9]{2}$/u.test(name);
}

/**
 * Names in a folder of a wire. Any member can make a folder in it that is closed to us: that must not stop the
 * others. A wire that is closed to us is not empty.
 *
 * @throws StorageError when the disk fails
 */
export function listNames(
  disk: Disk,
  wireDir: string,
  path: string,
  passedOver: PassedOver[],
): readonly string[] {
  const stat = disk.stat(join(wireDir, path));
  if (stat === undefined) return [];
  try {
    // The way to the wire itself is the operator's choice: it may be a link.
    if (stat.kind === "folder" || path === ".") return disk.list(join(wireDir, path));
    passedOver.push({ path, problem: "it is no folder" });
  } catch (error) {
    if (!isObstruction(error) || path === ".") throw error;
    passedOver.push({ path, problem: error.message });
  }
  return [];
}

function whyNoPart(stat: FileStat, user: number | undefined): string | undefined {
  if (stat.kind !== "file") return "it is no file";
  if (stat.nlink !== 1) return "it has another name (a hard link)";
  return user === undefined || user === stat.uid ? undefined : "another user owns it";
}

/**
 * Moves a live file into the archive of a year when its first dated line is of that year or an earlier one, and
 * makes an empty one in its place. A crash at any step loses no line and doubles none: the rename is one step,
 * and who appends next makes the live file if it is missing. Spec 1.10.
 *
 * @param live path in the wire
 * @param author whose lines say of which year the file is; undefined: any line
 * @throws StorageError `locked` when another program keeps the file locked
 */
export function archiveFile(
  disk: Disk,
  wireDir: string,
  names: PartNames,
  live: string,
  { year, author }: { readonly year: number; readonly author?: string | undefined },
): ArchiveOutcome {
  const path = join(wireDir, live);
  // Its parts would be another file's: a handle is named like this pair.
  if (names.liveOf(basename(live)) !== live) return { outcome: "not due" };
  const first = firstYear(disk, path, author);
  if (first === "empty") return { outcome: "empty" };
  // Files that are not due are opened read-only.
  if (first === undefined || first > year) return { outcome: "not due" };
  const file = disk.open(path, "append");
  try {
    if (!file.lock(ARCHIVE_LOCK_MS)) throw locked(path);
    // Another agent has just archived it.
    if (!stillNamed(disk, file)) return { outcome: "not due" };
    const { size, mode, gid } = file.stat();
    if (!endsLine(file, size)) file.append(LINE_END);
    file.datasync();
    const to = freePart(
      disk,
      wireDir,
      names,
      live,
      Math.min(Math.max(year, FIRST_YEAR), LAST_YEAR),
    );
    moveTo(disk, path, join(wireDir, to));
    const fresh = disk.open(path, "append", mode);
    const made = fresh.stat();
    fresh.close();
    if (made.gid !== gid || made.mode !== mode) disk.setMode(path, mode, gid);
    return { outcome: "archived", to, bytes: size };
  } finally {
    file.close();
  }
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
  return new StorageError("locked", path, "another program writes to it, or moves it", {
    hint: "archive it again later; lslocks shows which program holds it",
  });
}

/** The first number whose name is free in both forms, and is not taken for a part of another file. */
function freePart(
  disk: Disk,
  wireDir: string,
  names: PartNames,
  live: string,
  year: number,
): string {
  const folder = `archive/${year}`;
  for (const each of ["archive", folder]) makeFolderLike(disk, join(wireDir, each));
  const taken = new Set(disk.list(join(wireDir, folder)));
  const stem = basename(live, ".jsonl");
  for (let number = 1; ; number += 1) {
    const entry = number === 1 ? `${stem}.jsonl` : `${stem}.${number}.jsonl`;
    const isFree = !taken.has(entry) && !taken.has(`${entry}.gz`);
    if (isFree && names.liveOf(entry) === live) return `${folder}/${entry}`;
  }
}

/**
 * Makes a folder in which every agent of the wire makes files: as open as the folder above it.
 *
 * @throws StorageError
 */
export function makeFolderLike(disk: Disk, folder: string): void {
  if (disk.stat(folder) !== undefined) return;
  const above = disk.stat(dirname(folder));
  const mode = above?.mode ?? FOLDER_MODE;
  disk.makeFolder(folder, mode);
  disk.setMode(folder, mode, above?.gid);
}

function firstYear(
  disk: Disk,
  path: string,
  author: string | undefined,
): number | undefined | "empty" {
  const file = openIfThere(disk, path);
  if (file === undefined) return "empty";
  try {
    const { size } = file.stat();
    if (size === 0) return "empty";
    let searched = 0;
    for (const { bytes } of wholeLines(file, 0, Math.min(size, DATED_BYTES))) {
      if ((searched += 1) > MAX_SEARCHED) return undefined;
      const parsed = bytes === undefined ? undefined : parseObject(bytes);
      const year = parsed?.ok === true ? yearOf(parsed.value, author) : undefined;
      if (year !== undefined) return year;
    }
    return undefined;
  } finally {
    file.close();
  }
}

/** By when a message was written, or a decision ratified. */
function yearOf(line: JsonObject, author: string | undefined): number | undefined {
  const { from, timestamp, ratified_at: ratified } = line;
  const isOthers = author !== undefined && (typeof from !== "string" || agentName(from) !== author);
  const date = typeof timestamp === "string" ? timestamp : ratified;
  const ms = typeof date === "string" && !isOthers ? parseTimestamp(date) : undefined;
  return ms === undefined ? undefined : new Date(ms).getUTCFullYear();
}

/** What was compressed: the bytes before and after. */
export interface Compressed {
  readonly path: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Compresses a closed part. The plain form goes only when the compressed one was read back and is the same; until
 * then readers take the plain one. Spec 1.10.
 *
 * @throws StorageError
 */
export function compressPart(disk: Disk, path: string): Compressed {
  const target = `${path}.gz`;
  const file = disk.open(path, "read");
  try {
    // Two that compress the same part must not each remove what the other one has left.
    if (!file.lock(LOCK_WAIT_MS) || !stillNamed(disk, file)) throw locked(path);
    const { size, mode, gid } = file.stat();
    removeTemporary(disk, target);
    disk.replace(target, pack(file), mode);
    const made = disk.stat(target);
    if (made !== undefined && made.gid !== gid) disk.setMode(target, mode, gid);
    if (!isSame(disk, file, target)) {
      disk.remove(target);
      throw new StorageError("io", target, "what was read back is not what was written", {
        hint: "the plain part was kept; check the disk, and try again",
      });
    }
    disk.remove(path);
    return { path: target, before: size, after: disk.stat(target)?.size ?? 0 };
  } finally {
    file.close();
  }
}

function isSame(disk: Disk, plain: DiskFile, target: string): boolean {
  const { size } = plain.stat();
  const end = endsLine(plain, size) ? [] : [LINE_END];
  const packed = disk.open(target, "read");
  try {
    let at = 0;
    const members = unpack(packed, 0);
    let step = members.next();
    for (; step.done !== true; step = members.next()) {
      const { content } = step.value;
      const there = plain.read(Math.min(content.length, COMPARED_BYTES), at);
      const isLast = at + there.length === size;
      const expected = isLast ? Buffer.concat([there, ...end]) : there;
      if (Buffer.compare(content, expected) !== 0) return false;
      at += there.length;
    }
    return step.value === undefined && at === size;
  } finally {
    packed.close();
  }
}
