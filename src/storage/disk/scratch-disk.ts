import {
  openIfThere,
  piecesOf,
  StorageError,
  type Disk,
  type DiskFile,
  type FileStat,
} from "./disk.ts";
import { PRIVATE_FILE } from "./file-modes.ts";

const OUR_DEVICE = -1;
const NOTHING = new Uint8Array(0);

/** A file of which something was written. */
interface Written {
  readonly stat: FileStat;
  /** So many bytes of the file on the disk come first. */
  readonly kept: number;
  /** Then these. */
  readonly tail: Uint8Array;
}

/**
 * A copy-on-write overlay over a disk: what is written stays in the memory of this process. So all that reads
 * can work while the disk takes nothing, with the code that otherwise notes as it reads. Locks are not taken:
 * two overlays cannot disturb each other.
 */
export class ScratchDisk implements Disk {
  readonly #disk: Disk;
  readonly #written = new Map<string, Written | "removed">();
  #nextIno = 1;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  open(path: string, how: "read" | "append", mode = PRIVATE_FILE): DiskFile {
    const known = this.#written.get(path);
    if (how === "read" && known === "removed") throw missing(path);
    const isOnDisk = how === "read" && known === undefined;
    const below = isOnDisk ? this.#disk.open(path, how) : openIfThere(this.#disk, path);
    if (known === "removed" || (known === undefined && below === undefined)) {
      this.#make(path, mode, NOTHING);
    }
    return this.#opened(path, below);
  }

  stat(path: string): FileStat | undefined {
    const written = this.#written.get(path);
    return written === "removed" ? undefined : (written?.stat ?? this.#disk.stat(path));
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
    this.#make(path, mode, Buffer.concat([...piecesOf(bytes)]));
  }

  renameExclusive(from: string, to: string): void {
    if ((this.stat(to)?.size ?? 0) > 0) {
      throw new StorageError("exists", to, "exists already", { hint: "move it away first" });
    }
    const file = this.open(from, "read");
    const { size, mode } = file.stat();
    this.#make(to, mode, file.read(size, 0));
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

  #make(path: string, mode: number, tail: Uint8Array): void {
    const ino = this.#nextIno++;
    const owner = { nlink: 1, uid: 0, gid: 0 };
    const stat = { ...owner, dev: OUR_DEVICE, ino, mode, mtimeMs: ino, size: tail.length };
    this.#written.set(path, { kept: 0, tail, stat: { ...stat, kind: "file" } });
  }

  /** @param below the file that the disk has there */
  #opened(path: string, below: DiskFile | undefined): DiskFile {
    const now = (): Written => {
      const written = this.#written.get(path);
      if (typeof written === "object") return written;
      if (below === undefined) throw missing(path);
      const stat = below.stat();
      return { stat, kept: stat.size, tail: NOTHING };
    };
    const write = (kept: number, tail: Uint8Array): void => {
      const { stat } = now();
      const size = kept + tail.length;
      this.#written.set(path, { kept, tail, stat: { ...stat, size, mtimeMs: stat.mtimeMs + 1 } });
    };
    return {
      path,
      stat: () => now().stat,
      read: (length, position) => readOver(now(), below, length, position),
      append(bytes) {
        const { kept, tail } = now();
        write(kept, Buffer.concat([tail, bytes]));
      },
      writeAgain: () => undefined,
      rewrite: (bytes) => write(0, Uint8Array.from(bytes)),
      truncate(length) {
        const { kept, tail } = now();
        write(Math.min(kept, length), tail.subarray(0, Math.max(0, length - kept)));
      },
      datasync: () => undefined,
      lock: () => true,
      close: () => below?.close(),
    };
  }
}

function missing(path: string): StorageError {
  return new StorageError("missing", path, "no such file", { hint: "check the path" });
}

function readOver(
  { kept, tail }: Written,
  below: DiskFile | undefined,
  length: number,
  position: number,
): Uint8Array {
  const before = Math.min(length, kept - position);
  const head = before > 0 ? (below?.read(before, position) ?? NOTHING) : NOTHING;
  const from = Math.max(0, position - kept);
  return Buffer.concat([head, tail.subarray(from, Math.max(0, position + length - kept))]);
}
