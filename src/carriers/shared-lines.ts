import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { StorageError, stillNamed, type Disk, type DiskFile } from "../storage/disk/disk.ts";
import { endsLine, joinLines, LINE_END } from "../storage/disk/line-splitter.ts";
import { listArchive, PartNames } from "./archive.ts";
import { readCarrier, type CarrierRead, type ReadBudget } from "./reader.ts";

export interface SharedRead {
  /** Whole lines that are not blank, without their newlines: of archived parts first, then of the live file. */
  readonly lines: readonly Uint8Array[];
  /** These lines begin anew: the live file is another one than before, so all of them come again. */
  readonly isAgain: boolean;
  readonly hasMore: boolean;
}

/** Of a file that has to be made: every agent of the wire writes it. */
const SHARED_MODE = 0o660;
/** The daemon does nothing else meanwhile; it tries again. */
const LOCK_WAIT_MS = 40;
const MAX_REOPENS = 3;
const DEFAULT_BUDGET: ReadBudget = { bytes: 1024 * 1024, lines: 512 };

/**
 * A file of lines that every agent of the wire writes: `decisions.jsonl`, `incident_log.jsonl`.
 * Spec 4.8, 1.10.
 *
 * To keep something in it once: call `read` each round until `hasMore` is false and note what is there; then
 * `append` the line. Under the file's lock `append` first hands over what others have appended meanwhile, and
 * writes only when its callback says that the line is still needed. The next `read` returns our own line, too.
 * Nothing is read while the file looks as before. Keep `cursor` beside what was noted, and give it to the next
 * `SharedLines`. A peer may append as much junk as it likes: one call reads at most `budget`.
 */
export class SharedLines {
  readonly #disk: Disk;
  readonly #wireDir: string;
  readonly #live: string;
  readonly #budget: ReadBudget;
  /** How far each file was read; the live one has a cursor only when the parts were read to their end. */
  readonly #cursors = new Map<string, string | undefined>();

  /** @param live its path in the wire's folder. @param cursor as another one has returned it */
  constructor(
    disk: Disk,
    wireDir: string,
    live: string,
    cursor?: string,
    budget: ReadBudget = DEFAULT_BUDGET,
  ) {
    this.#disk = disk;
    this.#wireDir = wireDir;
    this.#live = live;
    this.#budget = budget;
    const saved = cursor === undefined ? [] : (JSON.parse(cursor) as [string, string | null][]);
    for (const [path, at] of saved) this.#cursors.set(path, at ?? undefined);
  }

  /** How far it was read, as text. */
  get cursor(): string {
    return JSON.stringify([...this.#cursors].map(([path, at]) => [path, at ?? null]));
  }

  /** What is new. @throws StorageError */
  read(): SharedRead {
    let isAgain = this.#cursors.size === 0;
    const at = this.#cursors.get(this.#live);
    if (at !== undefined) {
      const { lines, cursor, hasMore, ...read } = this.#readOne(this.#live, at, this.#budget.lines);
      if (!read.isAgain && cursor !== undefined) return { lines, isAgain, hasMore };
      // It was archived, cut or replaced.
      this.#cursors.clear();
      isAgain = true;
    }
    const lines: Uint8Array[] = [];
    const paths = this.#paths();
    for (const path of paths) {
      const left = this.#budget.lines - lines.length;
      if (left <= 0) return { lines, isAgain, hasMore: true };
      const read = this.#readOne(path, this.#cursors.get(path), left);
      lines.push(...read.lines);
      // What follows in the next file comes after the rest of this one.
      if (read.hasMore) return { lines, isAgain, hasMore: true };
    }
    if (isDeepStrictEqual(this.#paths(), paths)) return { lines, isAgain, hasMore: false };
    // A part archived or compressed during the scan may have been missed: scan again.
    this.#cursors.clear();
    return { lines, isAgain, hasMore: true };
  }

  /**
   * Appends a line durably, as one more whole line: an unterminated last line of another writer is ended, never cut.
   *
   * @param isNeeded is given what `read` returns under the lock; false when that has made the line superfluous
   * @returns whether it was appended: not when it is not needed, or when more is there than one call reads
   * @throws StorageError `locked` when another program keeps the file locked; try again later
   */
  append(line: Uint8Array, isNeeded: (news: SharedRead) => boolean): boolean {
    const file = this.#openLocked();
    try {
      const { size } = file.stat();
      if (!endsLine(file, size)) file.append(LINE_END);
      const news = this.read();
      if (!isNeeded(news) || news.hasMore) return false;
      const end = file.stat().size;
      try {
        file.append(joinLines([line]));
        file.datasync();
      } catch (error) {
        // Also after a failed sync: what it lost must not be read here and taken for durable.
        file.truncate(end);
        throw error;
      }
      return true;
    } finally {
      file.close();
    }
  }

  #readOne(path: string, at: string | undefined, lines: number): CarrierRead {
    const budget = { ...this.#budget, lines };
    const read = readCarrier(this.#disk, join(this.#wireDir, path), at, budget);
    this.#cursors.set(path, read.cursor);
    return read;
  }

  #paths(): string[] {
    const archive = listArchive(this.#disk, this.#wireDir, new PartNames());
    const parts = archive.parts.filter(({ live }) => live === this.#live).map(({ path }) => path);
    return [...parts.toSorted(byPart), this.#live];
  }

  #openLocked(): DiskFile {
    const path = join(this.#wireDir, this.#live);
    for (let attempt = 0; attempt < MAX_REOPENS; attempt += 1) {
      const file = this.#disk.open(path, "append", SHARED_MODE);
      let isLocked = false;
      try {
        isLocked = file.lock(LOCK_WAIT_MS);
        // Archived while we waited: the lock that we hold is of the closed part.
        if (isLocked && stillNamed(this.#disk, file)) return file;
      } catch (error) {
        file.close();
        throw error;
      }
      file.close();
      if (!isLocked) break;
    }
    throw new StorageError("locked", path, "another program keeps it locked", {
      hint: "it is retried automatically; if this lasts, find the holder with: lslocks",
    });
  }
}

/** By year, then by the number of the part: the first has none. */
function byPart(one: string, other: string): number {
  const year = (path: string): string => path.slice(0, -basename(path).length);
  const number = (path: string): number => Number(/\.(\d+)\.jsonl(?:\.gz)?$/u.exec(path)?.[1] ?? 1);
  return year(one) === year(other) ? number(one) - number(other) : year(one) < year(other) ? -1 : 1;
}
