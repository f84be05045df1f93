import {
  openIfThere,
  allPieces,
  piecesOf,
  StorageError,
  type Disk,
  type DiskFile,
  type FileStat,
} from "./disk.ts";
import { PRIVATE_FILE } from "./file-modes.ts";

/**
 * A disk as this process sees it, and on which nothing is ever written: what is written stays in
 * memory, over what is there. So all that reads can work while the disk takes nothing, with the code
 * that otherwise notes as it reads. Locks are not taken: two of these cannot disturb each other.
 */
export function scratchDisk(disk: Disk): Disk {
  return new ScratchDisk(disk);
}

/** What a file holds for us; undefined in the map: as on the disk; `undefined` content: removed. */
interface Written {
  /** So many bytes of the file on the disk come first. */
  readonly kept: number;
  /** Then these. */
  readonly tail: Uint8Array;
  readonly stat: FileStat;
}

const OUR_DEVICE = -1;

class ScratchDisk implements Disk {
  readonly #disk: Disk;
  readonly #written = new Map<string, Written | "removed">();
  #nextIno = 1;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  open(path: string, how: "read" | "append", mode = PRIVATE_FILE): DiskFile {
    if (this.#written.get(path) === "removed") this.#written.set(path, this.#made(mode));
    if (this.#written.has(path)) return this.#opened(path, openIfThere(this.#disk, path));
    const below = how === "read" ? this.#disk.open(path, how) : openIfThere(this.#disk, path);
    if (below === undefined) this.#written.set(path, this.#made(mode));
    return this.#opened(path, below);
  }

  stat(path: string): FileStat | undefined {
    const written = this.#written.get(path);
    if (written === "removed") return undefined;
    return written?.stat ?? this.#disk.stat(path);
  }

  room(): number {
    return Infinity;
  }

  list(path: string): string[] {
    const prefix = `${path}/`;
    const names = new Set(this.#disk.list(path));
    for (const [each, written] of this.#written) {
      if (!each.startsWith(prefix)) continue;
      const name = each.slice(prefix.length);
      if (written === "removed") names.delete(name);
      else if (!name.includes("/")) names.add(name);
    }
    return [...names].toSorted();
  }

  makeFolder(): void {
    // What is written below it is in memory.
  }

  replace(path: string, bytes: Uint8Array | Iterable<Uint8Array>, mode: number): void {
    this.#put(path, this.#made(mode, Buffer.concat([...piecesOf(bytes)])));
  }

  async replaceSlowly(
    path: string,
    pieces: AsyncIterable<Uint8Array>,
    mode: number,
  ): Promise<void> {
    this.replace(path, await allPieces(pieces), mode);
  }

  renameExclusive(from: string, to: string): void {
    if ((this.stat(to)?.size ?? 0) > 0) {
      throw new StorageError("exists", to, "exists already", { hint: "move it away first" });
    }
    const file = this.open(from, "read");
    const { size, mode } = file.stat();
    this.#put(to, this.#made(mode, file.read(size, 0)));
    file.close();
    this.remove(from);
  }

  remove(path: string): void {
    this.#written.set(path, "removed");
  }

  realPath(path: string): string {
    return this.#disk.realPath(path);
  }

  syncFolder(): void {
    // Nothing of this is to last.
  }

  setMode(): void {
    // Nobody else sees it.
  }

  #made(mode: number, tail: Uint8Array = new Uint8Array(0)): Written {
    const ino = this.#nextIno++;
    const about = { dev: OUR_DEVICE, ino, mode, nlink: 1, uid: 0, gid: 0, mtimeMs: ino };
    return { kept: 0, tail, stat: { ...about, size: tail.length, kind: "file" } };
  }

  #put(path: string, written: Written): void {
    this.#written.set(path, written);
  }

  /** A file of which we may have written something; `below`: what the disk has there. */
  #opened(path: string, below: DiskFile | undefined): DiskFile {
    const now = (): Written | undefined => {
      const written = this.#written.get(path);
      return written === "removed" ? undefined : written;
    };
    const stat = (): FileStat => {
      const known = now()?.stat ?? below?.stat();
      if (known === undefined)
        throw new StorageError("missing", path, "no such file", { hint: "" });
      return known;
    };
    const write = (kept: number, tail: Uint8Array): void => {
      const before = stat();
      const size = kept + tail.length;
      this.#put(path, { kept, tail, stat: { ...before, size, mtimeMs: before.mtimeMs + 1 } });
    };
    const tailOf = ({ kept, tail }: Written, length: number): void =>
      length <= kept
        ? write(length, new Uint8Array(0))
        : write(kept, tail.subarray(0, length - kept));
    return {
      path,
      stat,
      read: (length, position, into) => {
        const written = now();
        if (written === undefined) return below?.read(length, position, into) ?? new Uint8Array(0);
        return readOver(written, below, { length, position, into });
      },
      search: (byte, from, to) => {
        if (now() === undefined && below !== undefined) return below.search(byte, from, to);
        const found = readOver(now() as Written, below, { length: to - from, position: from });
        const at = found.indexOf(byte);
        return Promise.resolve(at < 0 ? undefined : from + at);
      },
      append: (bytes) => {
        const { kept, tail } = now() ?? { kept: stat().size, tail: new Uint8Array(0) };
        write(kept, Buffer.concat([tail, bytes]));
      },
      // The same bytes once more.
      overwrite: () => undefined,
      rewrite: (bytes) => write(0, Uint8Array.from(bytes)),
      truncate: (length) =>
        tailOf(now() ?? { kept: stat().size, tail: new Uint8Array(0), stat: stat() }, length),
      datasync: () => undefined,
      lock: () => true,
      close: () => below?.close(),
    };
  }
}

function readOver(
  { kept, tail }: Written,
  below: DiskFile | undefined,
  at: {
    readonly length: number;
    readonly position: number;
    readonly into?: Uint8Array | undefined;
  },
): Uint8Array {
  const { length, position } = at;
  const pieces: Uint8Array[] = [];
  if (position < kept && below !== undefined) {
    pieces.push(below.read(Math.min(length, kept - position), position));
  }
  const from = Math.max(0, position - kept);
  const to = Math.max(0, position + length - kept);
  pieces.push(tail.subarray(from, to));
  const bytes = Buffer.concat(pieces);
  if (at.into === undefined) return bytes;
  at.into.set(bytes);
  return at.into.subarray(0, bytes.length);
}
