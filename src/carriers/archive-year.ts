import { join } from "node:path";
import { StorageError, type Disk } from "../storage/disk/disk.ts";
import {
  archiveFile,
  compressPart,
  listArchive,
  SHARED_FILES,
  type ArchiveOutcome,
} from "./archive.ts";
import type { WireLayout } from "./carrier.ts";
import { isPacked } from "./packed.ts";

/** Whose files of which wire. */
export interface ArchivePlace {
  readonly wireDir: string;
  readonly handle: string;
  readonly layout: WireLayout;
}

/** A file that stays as it is, because of trouble with it. */
export interface FailedFile {
  readonly file: string;
  readonly outcome: "failed";
  readonly problem: string;
  readonly hint: string;
}

/** What became of one file. Paths are relative to the wire's folder. */
export type ArchivedFile = ({ readonly file: string } & ArchiveOutcome) | FailedFile;

/** What became of one archived part that was compressed: bytes before and after. */
export type CompressedFile =
  | { readonly file: string; readonly before: number; readonly after: number }
  | Omit<FailedFile, "outcome">;

/**
 * Moves the carriers of an agent and the shared files into the archive of a year, those whose first dated line is
 * of that year or earlier. Trouble with one file stops no other. Spec 1.10.
 */
export function archiveYear(disk: Disk, place: ArchivePlace, year: number): ArchivedFile[] {
  const { wireDir, handle, layout } = place;
  const own = ownFiles(place).filter(
    (path) =>
      layout.ours.some((each) => each.path === path) ||
      disk.stat(join(wireDir, path)) !== undefined,
  );
  // What others have put into a carrier of ours says nothing of which year it is.
  const files = [
    ...own.map((file) => ({ file, author: handle })),
    ...SHARED_FILES.map((file) => ({ file, author: undefined })),
  ];
  return files.map(({ file, author }) =>
    unlessFailed(file, () => ({
      file,
      ...archiveFile(disk, wireDir, layout.parts, file, { year, author }),
    })),
  );
}

/**
 * Compresses the archived parts of an agent's carriers and of the shared files. They are closed: that needs no
 * daemon. Spec 1.10.
 *
 * @throws StorageError when the archive cannot be listed
 */
export function compressArchive(disk: Disk, place: ArchivePlace): CompressedFile[] {
  const { wireDir, layout } = place;
  const ours = new Set([...ownFiles(place), ...SHARED_FILES]);
  const parts = listArchive(disk, wireDir, layout.parts).parts.filter(
    ({ path, live }) => ours.has(live) && !isPacked(path),
  );
  return parts.map(({ path: file }) => {
    const row = unlessFailed(file, () => {
      const { before, after } = compressPart(disk, join(wireDir, file));
      return { file: `${file}.gz`, before, after };
    });
    if (!("outcome" in row)) return row;
    const { problem, hint } = row;
    return { file, problem, hint };
  });
}

function ownFiles({ handle, layout }: ArchivePlace): string[] {
  return [...layout.carriers].flatMap(([path, { owner }]) => (owner === handle ? [path] : []));
}

/** Anything but trouble with files is our own bug, and goes through. */
function unlessFailed<T>(file: string, work: () => T): T | FailedFile {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { file, outcome: "failed", problem: error.message, hint: error.hint };
  }
}
