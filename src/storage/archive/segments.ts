import { join } from "node:path";
import {
  isObstruction,
  openIfThere,
  StorageError,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../disk/disk.ts";
import { endsLine, LINE_END } from "../disk/line-splitter.ts";
import { openPacked, type PackedReader } from "./packed-segment.ts";

/** One archived part of a log or shared file, as readers see it. Spec 3.10. */
export interface Segment {
  readonly path: string;
  readonly stat: FileStat;
  /** Bytes of its content: decompressed, and with a newline at the end in any case. */
  readonly size: number;
  /** To read it from; the caller closes it. */
  open(): SegmentReader;
}

export interface SegmentReader {
  /** Up to `length` bytes of its content; fewer only where it ends. */
  read(length: number, position: number): Uint8Array;
  datasync(): void;
  close(): void;
}

/** Where a segment belongs: `archive/YYYY/<name>.jsonl`, then `<name>.2.jsonl` and so on. */
export interface SegmentPlace {
  readonly path: string;
  readonly year: number;
  readonly number: number;
}

/**
 * Whether something in the archive is the log's owner's. What others have closed to us is passed over:
 * any member can make such a thing. What its owner has made and we cannot read now is thrown: the log has
 * it, and must not seem to lack it.
 */
export type IsOwners = (stat: FileStat) => boolean;

/** Every segment of a log, or file in the place of one, oldest first. `name` is the log's name. */
export function segmentPlaces(
  disk: Disk,
  archive: string,
  name: string,
  isOwners: IsOwners = () => true,
): SegmentPlace[] {
  return yearsIn(disk, archive, isOwners).flatMap((year) =>
    entriesIn(disk, join(archive, year), isOwners)
      .flatMap((entry) => {
        const number = numberOf(entry, name);
        return number === undefined ? [] : [{ path: join(archive, year, entry), number }];
      })
      .filter(({ path }, _at, all) => !isPackedToo(path, all))
      .toSorted((a, b) => a.number - b.number)
      .map((place) => ({ ...place, year: Number(year) })),
  );
}

/** While a segment is being compressed both forms are there: the plain one is complete. */
function isPackedToo(path: string, all: readonly { readonly path: string }[]): boolean {
  return path.endsWith(".gz") && all.some((other) => `${other.path}.gz` === path);
}

export const LAST_YEAR = 2099;

/** Whether a folder of the archive holds segments. Any member can make folders: only these are looked at. */
export function isYear(name: string): boolean {
  return /^20[0-9]{2}$/.test(name);
}

/** The folders of the years, oldest first. */
export function yearsIn(disk: Disk, archive: string, isOwners: IsOwners): string[] {
  return entriesIn(disk, archive, isOwners)
    .filter(isYear)
    .filter((year) => disk.stat(join(archive, year))?.kind === "folder");
}

function entriesIn(disk: Disk, folder: string, isOwners: IsOwners): string[] {
  const stat = disk.stat(folder);
  // What is in the place of a folder is no archive.
  if (stat?.kind !== "folder") return [];
  try {
    return disk.list(folder);
  } catch (error) {
    if (isObstruction(error) && !isOwners(stat)) return [];
    throw error;
  }
}

/** Which segment of that log a file in the archive is, by its name; undefined: none of it. */
export function numberOf(entry: string, name: string): number | undefined {
  if (!entry.startsWith(`${name}.`)) return undefined;
  const rest = /^(?:([1-9][0-9]{0,8})\.)?jsonl(?:\.gz)?$/.exec(entry.slice(name.length + 1));
  if (rest === null) return undefined;
  return rest[1] === undefined ? 1 : Number(rest[1]);
}

/**
 * The segment in that place; undefined when there is something else, or nothing in it, or others have put
 * something there that is damaged or closed to us: it is no part of the log.
 */
export function segmentAt(
  disk: Disk,
  path: string,
  isOwners: IsOwners = () => true,
): Segment | undefined {
  const stat = disk.stat(path);
  if (stat?.kind !== "file" || stat.nlink !== 1 || stat.size === 0) return undefined;
  try {
    return path.endsWith(".gz") ? packedSegment(disk, path, stat) : plainSegment(disk, path, stat);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === "missing") return undefined;
    const isUnreadable = error.code === "corrupt" || isObstruction(error);
    if (isUnreadable && !isOwners(stat)) return undefined;
    throw error;
  }
}

export function packedSegment(disk: Disk, path: string, stat: FileStat): Segment {
  const content = openPacked(disk, path);
  return { path, stat, size: content.size, open: () => packedReader(content.open()) };
}

function packedReader(content: PackedReader): SegmentReader {
  return {
    read: (length, position) => content.read(length, position),
    // It was synced before the plain one went.
    datasync: () => undefined,
    close: () => content.close(),
  };
}

function plainSegment(disk: Disk, path: string, stat: FileStat): Segment {
  const file = disk.open(path, "read");
  let isEnded: boolean;
  try {
    isEnded = endsLine(file, stat.size);
  } finally {
    file.close();
  }
  const size = isEnded ? stat.size : stat.size + 1;
  const open = (): SegmentReader => {
    const plain = openIfThere(disk, path);
    // Compressed since it was looked up.
    if (plain === undefined) return packedReader(openPacked(disk, `${path}.gz`).open());
    return plainReader(plain, stat.size, isEnded);
  };
  return { path, stat, size, open };
}

/** What was not ended by its writer is ended here: the next line begins in the next segment. */
function plainReader(file: DiskFile, end: number, isEnded: boolean): SegmentReader {
  return {
    read(length, position) {
      const bytes = file.read(Math.min(length, Math.max(0, end - position)), position);
      const isShort = !isEnded && bytes.length < length && position + bytes.length === end;
      return isShort ? Buffer.concat([bytes, LINE_END]) : bytes;
    },
    datasync: () => file.datasync(),
    close: () => file.close(),
  };
}
