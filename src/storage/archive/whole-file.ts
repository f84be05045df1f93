import { Buffer } from "node:buffer";
import { StorageError, type Disk, type DiskFile, type FileStat } from "../disk/disk.ts";
import { packedSegment, type Segment, type SegmentReader } from "./segments.ts";

/** Bytes of a segment that are searched at once. */
const STEP_BYTES = 256 * 1024;

/**
 * A log as one file: its segments, then the live file. Offsets count from the beginning of the first
 * segment, so they stay what they are when the live file is archived. Spec 3.10.
 *
 * Segments are only read. Locks, appends and the identity (device, inode, mode) are those of the live
 * file; while that is missing there is nothing to lock, and the identity is nobody's.
 */
export class WholeFile implements DiskFile {
  readonly path: string;
  readonly #live: DiskFile | undefined;
  readonly #segments: readonly Segment[];
  readonly #readers = new Map<Segment, SegmentReader>();
  /** Where the live file begins. */
  readonly #base: number;

  constructor(path: string, live: DiskFile | undefined, segments: readonly Segment[]) {
    this.path = path;
    this.#live = live;
    this.#segments = segments;
    this.#base = sizeOf(segments);
  }

  stat(): FileStat {
    return wholeStat(this.#live?.stat(), this.#segments);
  }

  read(length: number, position: number, into?: Uint8Array): Uint8Array {
    if (position >= this.#base) {
      return this.#live?.read(length, position - this.#base, into) ?? new Uint8Array(0);
    }
    const bytes = Buffer.concat([...this.#pieces(position, length)]);
    if (into === undefined) return bytes;
    into.set(bytes);
    return into.subarray(0, bytes.length);
  }

  *#pieces(position: number, length: number): Generator<Uint8Array> {
    const end = position + length;
    let start = 0;
    for (const segment of this.#segments) {
      const next = start + segment.size;
      const from = Math.max(position, start);
      const to = Math.min(end, next);
      if (from < to) yield this.#readAll(segment, to - from, from - start);
      start = next;
    }
    if (end > start) yield this.#live?.read(end - start, 0) ?? new Uint8Array(0);
  }

  /** Fewer bytes than it had would shift all that follows. */
  #readAll(segment: Segment, length: number, position: number): Uint8Array {
    const bytes = this.#using(segment, (reader) => reader.read(length, position));
    if (bytes.length === length) return bytes;
    throw new StorageError("io", this.path, `${segment.path} became shorter while it was read`, {
      hint: "an archived segment is never changed; restore it from a backup or a peer's copy",
    });
  }

  #using<T>(segment: Segment, work: (reader: SegmentReader) => T): T {
    try {
      const reader = this.#readers.get(segment) ?? segment.open();
      this.#readers.set(segment, reader);
      return work(reader);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      throw ofLog(this.path, error);
    }
  }

  async search(byte: number, from: number, to: number): Promise<number | undefined> {
    for (let at = from; at < Math.min(to, this.#base);) {
      const bytes = this.read(Math.min(STEP_BYTES, to - at), at);
      const found = bytes.indexOf(byte);
      if (found >= 0) return at + found;
      if (bytes.length === 0) return undefined;
      at += bytes.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const begin = Math.max(0, from - this.#base);
    if (to <= this.#base + begin) return undefined;
    const found = await this.#live?.search(byte, begin, to - this.#base);
    return found === undefined ? undefined : this.#base + found;
  }

  append(bytes: Uint8Array): void {
    this.#writable().append(bytes);
  }

  /** What is in a segment was synced before it became one. */
  overwrite(bytes: Uint8Array, position: number): void {
    const rest = bytes.subarray(Math.max(0, this.#base - position));
    if (rest.length > 0) {
      this.#writable().overwrite(rest, Math.max(0, position - this.#base));
    }
  }

  rewrite(): void {
    throw new Error(`${this.path}: a log is never written over`);
  }

  truncate(length: number): void {
    if (length < this.#base) {
      throw new StorageError("corrupt", this.path, "its damaged part is archived, and is not cut", {
        hint: "restore the segment in the archive folder from a backup, or from a peer's copy of the wire",
      });
    }
    this.#writable().truncate(length - this.#base);
  }

  datasync(): void {
    for (const segment of this.#readers.keys()) this.#using(segment, (reader) => reader.datasync());
    this.#live?.datasync();
  }

  lock(waitMs: number): boolean {
    return this.#writable().lock(waitMs);
  }

  close(): void {
    for (const reader of this.#readers.values()) reader.close();
    this.#readers.clear();
    this.#live?.close();
  }

  #writable(): DiskFile {
    if (this.#live === undefined) throw new Error(`${this.path} was opened for reading`);
    return this.#live;
  }
}

/** Trouble with a segment is the trouble of its log, and of no other. A damaged one obstructs it. */
export function ofLog(path: string, cause: StorageError): StorageError {
  const code = cause.code === "corrupt" ? "not_a_file" : cause.code;
  return new StorageError(code, path, cause.message, { hint: cause.hint, cause });
}

/** What a log looks like as one file. `live`: undefined while it is missing. */
export function wholeStat(live: FileStat | undefined, segments: readonly Segment[]): FileStat {
  const base = sizeOf(segments);
  if (live !== undefined) return { ...live, size: base + live.size };
  const last = segments.at(-1);
  if (last === undefined) throw new Error("a log without segments and without a live file");
  // No file has this identity: who holds the one that was archived must not take it for this one.
  return { ...last.stat, dev: 0, ino: 0, size: base };
}

function sizeOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { size }) => sum + size, 0);
}

/** A segment by itself, compressed or not, for reading. Throws "corrupt" when it is damaged. */
export function openSegment(disk: Disk, path: string): DiskFile {
  const stat = disk.stat(path);
  if (stat === undefined || !path.endsWith(".gz")) return disk.open(path, "read");
  return new WholeFile(path, undefined, [packedSegment(disk, path, stat)]);
}
