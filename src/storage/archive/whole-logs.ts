import { basename, dirname, join } from "node:path";
import {
  isObstruction,
  StorageError,
  stillNamed,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../disk/disk.ts";
import { wirePaths, type WirePaths } from "../paths.ts";
import { segmentAt, segmentPlaces, yearsIn, type Segment } from "./segments.ts";
import { ofLog, WholeFile, wholeStat } from "./whole-file.ts";

/**
 * A disk on which each log of a wire, and each shared file, is one file with all of its lines, archived
 * or not: who reads, checks or repairs a log need not know of its archive. Spec 3.10. Everything else
 * on it is as on `disk`.
 *
 * A segment in a log's name that belongs to another user than the log is passed over: in a folder with
 * the sticky bit, others can make files and not replace ours.
 */
export function wholeLogs(disk: Disk, wireDir: string): Disk {
  return new WholeLogsDisk(disk, wirePaths(wireDir));
}

/** A file that any agent of the wire may have archived. */
const SHARED = new Set(["decisions", "incident_log"]);

/** Each further one takes another archival in the moment in which the log is opened. */
const MAX_ATTEMPTS = 8;

/** What is known of one log. */
interface Known {
  /** Which file was live when its segments were looked up, "" for none, and how large it was. */
  live: string;
  size: number;
  /** How the folders looked then. */
  folders: string;
  segments: readonly Segment[];
}

class WholeLogsDisk implements Disk {
  readonly #disk: Disk;
  readonly #wire: WirePaths;
  readonly #known = new Map<string, Known>();
  /** The folders of the years, and when one of them last came or went. */
  #years: { readonly mtimeMs: number; readonly names: readonly string[] } | undefined;

  constructor(disk: Disk, wire: WirePaths) {
    this.#disk = disk;
    this.#wire = wire;
  }

  open(path: string, how: "read" | "append", mode?: number): DiskFile {
    if (!this.#isLog(path)) return this.#disk.open(path, how, mode);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const file = this.#openWhole(path, how, mode);
      if (file !== undefined) return file;
    }
    throw new StorageError("locked", path, "it is archived again and again while it is opened", {
      hint: "it goes on by itself once nothing archives it",
    });
  }

  /**
   * Undefined when the live file was archived while its segments were looked up: it may be among them
   * compressed, as another file, or others may come after it. Its lines would be there twice or in
   * another order, and our next heartbeat would count them so.
   */
  #openWhole(path: string, how: "read" | "append", mode?: number): DiskFile | undefined {
    let live: DiskFile;
    try {
      live = this.#disk.open(path, how, mode);
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "missing") throw error;
      const all = this.#segments(path, undefined, "look");
      if (all.length === 0) throw error;
      return new WholeFile(path, undefined, all);
    }
    try {
      const before = this.#known.get(path)?.segments;
      const segments = this.#segments(path, live.stat(), "look");
      const isNew = segments.length > 0 && this.#known.get(path)?.segments !== before;
      if (!isNew || stillNamed(this.#disk, live)) {
        return segments.length === 0 ? live : new WholeFile(path, live, segments);
      }
    } catch (error) {
      live.close();
      throw error;
    }
    live.close();
    return undefined;
  }

  stat(path: string): FileStat | undefined {
    const live = this.#disk.stat(path);
    if (!this.#isLog(path) || (live !== undefined && live.kind !== "file")) return live;
    try {
      const segments = this.#segments(path, live, "while it is the same");
      return segments.length === 0 ? live : wholeStat(live, segments);
    } catch (error) {
      // As anything else in the place of a log: it is not read, and stops nothing but that.
      if (isObstruction(error) && live !== undefined) return { ...live, kind: "other" };
      throw error;
    }
  }

  #isLog(path: string): boolean {
    if (!path.endsWith(".jsonl")) return false;
    const folder = dirname(path);
    return folder === this.#wire.folder || folder === this.#wire.outbox;
  }

  /**
   * They are looked up when the live file is another one, or became smaller; and, to "look", when
   * something was made or removed in the archive, or written to the last segment.
   */
  #segments(
    path: string,
    live: FileStat | undefined,
    when: "look" | "while it is the same",
  ): readonly Segment[] {
    const identity = live === undefined ? "" : `${live.dev} ${live.ino}`;
    const size = live?.size ?? 0;
    let known = this.#known.get(path);
    const isSame = known?.live === identity && size >= known.size;
    if (known === undefined || !isSame || (when === "look" && this.#hasChanged(known))) {
      known = { live: identity, size, ...this.#lookUp(path, live) };
      this.#known.set(path, known);
    }
    known.size = size;
    return known.segments.filter(({ stat }) => `${stat.dev} ${stat.ino}` !== identity);
  }

  #lookUp(path: string, live: FileStat | undefined): Pick<Known, "folders" | "segments"> {
    const name = basename(path, ".jsonl");
    const folders = this.#folders();
    const isShared = SHARED.has(name);
    const isOwners = ({ uid }: FileStat): boolean => !isShared && uid === live?.uid;
    const isPart = ({ stat }: Segment): boolean => isShared || live === undefined || isOwners(stat);
    try {
      // A plain one that is gone by now has been compressed since the folder was listed.
      const at = (path: string) => segmentAt(this.#disk, path, isOwners);
      const segments = segmentPlaces(this.#disk, this.#wire.archive, name, isOwners)
        .flatMap(({ path }) => at(path) ?? at(`${path}.gz`) ?? [])
        .filter(isPart);
      return { folders, segments };
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      throw ofLog(path, error);
    }
  }

  #hasChanged({ folders, segments }: Known): boolean {
    const last = segments.at(-1);
    const isGrown =
      last !== undefined && lookOfSegment(this.#disk.stat(last.path)) !== lookOfSegment(last.stat);
    return isGrown || this.#folders() !== folders;
  }

  /** Changes when a segment comes or goes. */
  #folders(): string {
    const { archive } = this.#wire;
    const folder = this.#disk.stat(archive);
    if (folder?.kind !== "folder") return "";
    if (this.#years?.mtimeMs !== folder.mtimeMs) {
      this.#years = { mtimeMs: folder.mtimeMs, names: this.#yearNames() };
    }
    const looks = this.#years.names.map((year) => this.#disk.stat(join(archive, year))?.mtimeMs);
    return `${folder.mtimeMs} ${looks.join(" ")}`;
  }

  #yearNames(): string[] {
    try {
      return yearsIn(this.#disk, this.#wire.archive, () => false);
    } catch (error) {
      // Whose trouble it is shows when that log's segments are looked up.
      if (error instanceof StorageError) return [];
      throw error;
    }
  }

  room(path: string): number {
    return this.#disk.room(path);
  }

  list(path: string): string[] {
    return this.#disk.list(path);
  }

  makeFolder(path: string, mode: number): void {
    this.#disk.makeFolder(path, mode);
  }

  replace(path: string, bytes: Uint8Array | Iterable<Uint8Array>, mode: number): void {
    this.#disk.replace(path, bytes, mode);
  }

  replaceSlowly(path: string, pieces: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
    return this.#disk.replaceSlowly(path, pieces, mode);
  }

  renameExclusive(from: string, to: string): void {
    this.#disk.renameExclusive(from, to);
  }

  remove(path: string): void {
    this.#disk.remove(path);
  }

  realPath(path: string): string {
    return this.#disk.realPath(path);
  }

  syncFolder(path: string): void {
    this.#disk.syncFolder(path);
  }

  setMode(path: string, mode: number, groupId?: number): void {
    this.#disk.setMode(path, mode, groupId);
  }
}

function lookOfSegment(stat: FileStat | undefined): string {
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}`;
}
