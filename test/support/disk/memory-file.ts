import {
  StorageError,
  type DiskFile,
  type FileStat,
  type StorageCode,
} from "../../../src/storage/disk/disk.ts";
import type { MemoryInode, Random } from "./memory-inode.ts";

/** Thrown out of the operation in which a process died; no code of ours catches it. */
export class Crashed extends Error {}

/** The process that a `MemoryFile` belongs to. */
export interface FileOwner {
  readonly random: Random;
  now(): number;
  operation(path: string, how?: "read" | "write" | "sync", halfWay?: () => void): void;
  forget(file: MemoryFile): void;
}

/** An open file of a `MemoryDisk`. */
export class MemoryFile implements DiskFile {
  readonly path: string;
  readonly #process: FileOwner;
  readonly #inode: MemoryInode;
  readonly #failedSyncsBefore: number;
  #poisoned = false;

  constructor(process: FileOwner, path: string, inode: MemoryInode) {
    this.#process = process;
    this.path = path;
    this.#inode = inode;
    this.#failedSyncsBefore = inode.failedSyncs;
  }

  stat(): FileStat {
    return this.#inode.stat();
  }

  read(length: number, position: number): Uint8Array {
    this.#process.operation(this.path);
    return this.#inode.read(length, position);
  }

  append(bytes: Uint8Array): void {
    this.#refuseWhenPoisoned();
    const written = Math.floor(this.#process.random() * bytes.length);
    this.#process.operation(this.path, "write", () => this.#write(bytes.subarray(0, written)));
    this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    this.#inode.append(bytes, this.#process.now());
  }

  writeAgain(from: number, to: number): void {
    this.#refuseWhenPoisoned();
    this.#process.operation(this.path, "sync");
    this.#inode.writeAgain(from, to);
  }

  rewrite(bytes: Uint8Array): void {
    this.#refuseWhenPoisoned();
    this.#process.operation(this.path, "write");
    this.#inode.truncate(0, this.#process.now());
    this.#write(bytes);
    this.datasync();
  }

  truncate(length: number): void {
    this.#process.operation(this.path);
    this.#inode.truncate(length, this.#process.now());
  }

  datasync(): void {
    this.#refuseWhenPoisoned();
    try {
      this.#process.operation(this.path, "sync");
    } catch (error) {
      if (error instanceof Crashed) throw error;
      this.#inode.loseUnsynced();
    }
    // Linux tells everybody who had it open, be it another program whose sync failed.
    if (this.#inode.failedSyncs > this.#failedSyncsBefore) {
      this.#poisoned = true;
      throw failure("io", this.path, "the disk failed to store what was written");
    }
    this.#inode.sync();
  }

  lock(): boolean {
    this.#process.operation(this.path);
    if (this.#inode.lockedBy !== undefined && this.#inode.lockedBy !== this) return false;
    this.#inode.lockedBy = this;
    return true;
  }

  unlock(): void {
    if (this.#inode.lockedBy === this) this.#inode.lockedBy = undefined;
  }

  close(): void {
    this.unlock();
    this.#process.forget(this);
  }

  #refuseWhenPoisoned(): void {
    if (this.#poisoned) throw failure("io", this.path, "an earlier sync failed");
  }
}

/** An error as the real disk throws it. */
export function failure(code: StorageCode, path: string, problem: string): StorageError {
  return new StorageError(code, path, problem, { hint: "simulated" });
}
