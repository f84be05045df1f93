import { dirname } from "node:path";
import {
  piecesOf,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../../../src/storage/disk/disk.ts";
import { Crashed, failure, MemoryFile } from "./memory-file.ts";
import { MemoryInode, type PowerCut, type Random } from "./memory-inode.ts";

/** What happens at a chosen operation: the process dies in it, or the disk refuses it. */
export type Fault = "crash" | "EIO" | "ENOSPC" | "EACCES";

/** What an operation does to the disk. */
export type How = "read" | "open" | "write" | "sync" | "name";

/** What each refusal says, as the real disk says it. */
const REFUSALS = {
  EIO: ["io", "input/output error"],
  ENOSPC: ["disk_full", "disk full"],
  EACCES: ["denied", "permission denied"],
  EROFS: ["read_only", "the filesystem is read-only"],
} as const;

/** What a disk refuses for as long as it lasts. */
export type Refusal = keyof typeof REFUSALS;

export { Crashed };

type NameChange = { readonly path: string; readonly inode: MemoryInode | undefined };

/** A small generator of random numbers in [0, 1), the same for the same seed. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * One machine's disk, in memory and deterministic: what was written and not synced is kept apart,
 * so that `powerCut` can drop or tear it, names included. Several processes may share it; their
 * locks exclude each other like flock's. A failed sync loses its data for good, as Linux does.
 */
export class MemoryDisk {
  readonly #random: Random;
  readonly #nowMs: () => number;
  #names = new Map<string, MemoryInode>();
  /** What folders were found to hold, until a name changes. */
  #listings = new Map<string, readonly string[]>();
  #durableNames = new Map<string, MemoryInode>();
  #unsyncedNames: (readonly NameChange[])[] = [];
  #processes: MemoryProcess[] = [];
  #nextIno = 1;
  #ticks = 0;

  constructor(
    options: {
      readonly seed?: number;
      readonly random?: Random;
      readonly nowMs?: () => number;
    } = {},
  ) {
    this.#random = options.random ?? seeded(options.seed ?? 1);
    // Without a clock every change gets a time of its own.
    this.#nowMs = options.nowMs ?? (() => (this.#ticks += 1));
    const root = this.newInode("folder", 0o755);
    this.#names.set("/", root);
    this.#durableNames.set("/", root);
  }

  /** A process that uses this disk. */
  process(): MemoryProcess {
    const process = new MemoryProcess(this, this.#random);
    this.#processes.push(process);
    return process;
  }

  /** The power goes: every process dies, and of what was not synced `how` much is lost. */
  powerCut(how: PowerCut): void {
    for (const process of this.#processes) process.kill();
    this.#processes = [];
    const kept = { drop: 0, keep: this.#unsyncedNames.length, tear: -1 }[how];
    const count = kept >= 0 ? kept : Math.floor(this.#random() * (this.#unsyncedNames.length + 1));
    this.#commitNames(count);
    this.#unsyncedNames = [];
    this.#names = new Map(this.#durableNames);
    this.#listings.clear();
    for (const inode of new Set(this.#names.values())) inode.powerCut(how, this.#random);
  }

  now(): number {
    return this.#nowMs();
  }

  newInode(kind: "file" | "folder", mode: number): MemoryInode {
    return new MemoryInode(this.#nextIno++, kind, mode, this.now());
  }

  lookUp(path: string): MemoryInode | undefined {
    return this.#names.get(path);
  }

  namesIn(folder: string): string[] {
    const known = this.#listings.get(folder);
    if (known !== undefined) return [...known];
    const paths = [...this.#names.keys()].filter(
      (path) => path !== "/" && dirname(path) === folder,
    );
    const names = paths.map((path) => path.slice(folder === "/" ? 1 : folder.length + 1));
    this.#listings.set(folder, names.toSorted());
    return names.toSorted();
  }

  /** Changes names at once, as a rename does. */
  rename(changes: readonly NameChange[]): void {
    this.#listings.clear();
    for (const { path, inode } of changes) {
      if (inode === undefined) this.#names.delete(path);
      else this.#names.set(path, inode);
    }
    this.#unsyncedNames.push(changes);
  }

  /** Like a journalling filesystem: older changes of names become durable with newer ones. */
  syncFolder(folder: string): void {
    const last = this.#unsyncedNames.findLastIndex((changes) =>
      changes.some(({ path }) => dirname(path) === folder),
    );
    this.#commitNames(last + 1);
  }

  #commitNames(count: number): void {
    for (const changes of this.#unsyncedNames.splice(0, count)) {
      for (const { path, inode } of changes) {
        if (inode === undefined) this.#durableNames.delete(path);
        else this.#durableNames.set(path, inode);
      }
    }
  }
}

/** One process's view of a `MemoryDisk`. */
export class MemoryProcess implements Disk {
  readonly world: MemoryDisk;
  readonly random: Random;
  /** Storage operations so far; `failAt` counts from here. */
  operations = 0;
  alive = true;
  /** A trouble that lasts: what is refused now. */
  standing: ((path: string, how: How) => Refusal | undefined) | undefined;
  /** How often that was met, by path. */
  readonly refused = new Map<string, number>();
  readonly #faults = new Map<number, Fault>();
  readonly #files = new Set<MemoryFile>();

  constructor(world: MemoryDisk, random: Random) {
    this.world = world;
    this.random = random;
  }

  now(): number {
    return this.world.now();
  }

  /** The nth operation from now on (1: the next) fails; the ones after it work, if we live. */
  failAt(operation: number, fault: Fault): void {
    this.#faults.set(this.operations + operation, fault);
  }

  /** The disk is well again: faults that have not come yet will not come. */
  heal(): void {
    this.#faults.clear();
  }

  /** Like kill -9: what was written stays, locks are freed. */
  kill(): void {
    this.alive = false;
    for (const file of this.#files) file.unlock();
    this.#files.clear();
  }

  /** Counts an operation; returns the fault that it must suffer, except a crash, which is thrown. */
  operation(path: string, how: How = "read", halfWay: () => void = () => undefined): void {
    if (!this.alive) throw new Crashed("this process is dead");
    this.operations += 1;
    const standing = this.standing?.(path, how);
    if (standing !== undefined) this.#refuse(path, standing, halfWay);
    const fault = this.#faults.get(this.operations);
    if (fault === undefined) return;
    halfWay();
    if (fault === "crash") {
      this.kill();
      throw new Crashed(`died at operation ${this.operations} on ${path}`);
    }
    const [code, problem] = REFUSALS[fault];
    throw failure(code, path, problem);
  }

  /** A disk that is full takes what fits the first time, and nothing more. */
  #refuse(path: string, refusal: Refusal, halfWay: () => void): never {
    const before = this.refused.get(path) ?? 0;
    if (before === 0) halfWay();
    this.refused.set(path, before + 1);
    const [code, problem] = REFUSALS[refusal];
    throw failure(code, path, problem);
  }

  room(path: string): number {
    const standing = this.standing?.(path, "write");
    return standing === "ENOSPC" || standing === "EROFS" ? 0 : Infinity;
  }

  open(path: string, how: "read" | "append", mode = 0o600): DiskFile {
    this.operation(path, how === "append" ? "open" : "read");
    let inode = this.world.lookUp(path);
    if (inode === undefined) {
      if (how === "read" || this.world.lookUp(dirname(path)) === undefined) {
        throw failure("missing", path, "no such file or folder");
      }
      if (this.standing !== undefined) this.operation(path, "name");
      inode = this.world.newInode("file", mode);
      this.world.rename([{ path, inode }]);
    }
    if (inode.kind !== "file") throw failure("not_a_file", path, "a folder, not a file");
    if (how === "append" && inode.size === 0) {
      this.operation(path);
      this.world.syncFolder(dirname(path));
    }
    const file = new MemoryFile(this, path, inode);
    this.#files.add(file);
    return file;
  }

  get openFiles(): number {
    return this.#files.size;
  }

  forget(file: MemoryFile): void {
    this.#files.delete(file);
  }

  stat(path: string): FileStat | undefined {
    return this.world.lookUp(path)?.stat();
  }

  list(path: string): string[] {
    this.operation(path);
    return this.world.namesIn(path);
  }

  makeFolder(path: string, mode: number): void {
    if (this.world.lookUp(path) !== undefined) return;
    this.makeFolder(dirname(path), mode);
    this.operation(path);
    this.world.rename([{ path, inode: this.world.newInode("folder", mode) }]);
    this.world.syncFolder(dirname(path));
  }

  replace(path: string, bytes: Uint8Array | Iterable<Uint8Array>, mode: number): void {
    if (this.world.lookUp(dirname(path)) === undefined) {
      throw failure("missing", path, "no such file or folder");
    }
    const inode = this.world.newInode("file", mode);
    this.operation(path, "write");
    for (const piece of piecesOf(bytes)) inode.append(piece, this.world.now());
    this.operation(path, "sync");
    inode.sync();
    this.operation(path, "name");
    this.world.rename([{ path, inode }]);
    this.operation(path, "sync");
    this.world.syncFolder(dirname(path));
  }

  renameExclusive(from: string, to: string): void {
    const inode = this.world.lookUp(from);
    if (inode === undefined) throw failure("missing", from, "no such file or folder");
    if ((this.world.lookUp(to)?.size ?? 0) > 0) throw failure("exists", to, "exists already");
    this.operation(from);
    this.world.rename([
      { path: to, inode },
      { path: from, inode: undefined },
    ]);
    this.operation(to);
    this.world.syncFolder(dirname(to));
  }

  remove(path: string): void {
    this.operation(path);
    if (this.world.lookUp(path) !== undefined) this.world.rename([{ path, inode: undefined }]);
  }

  realPath(path: string): string {
    return path;
  }

  syncFolder(path: string): void {
    this.operation(path);
    this.world.syncFolder(path);
  }

  setMode(path: string, mode: number): void {
    this.operation(path);
    const inode = this.world.lookUp(path);
    if (inode === undefined) throw failure("missing", path, "no such file or folder");
    inode.mode = mode;
  }
}
