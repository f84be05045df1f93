import type { FileStat } from "../../../src/storage/disk/disk.ts";

export type Random = () => number;

/**
 * How much of the unsynced part a power cut takes: all of it, none of it, or some (writes are
 * dropped, torn, or leave zero bytes where the file had grown already).
 */
export type PowerCut = "drop" | "keep" | "tear";

type Change = { readonly write: Uint8Array; readonly at: number } | { readonly truncate: number };

/** One file or folder of a `MemoryDisk`: what programs see, and what the platter holds. */
export class MemoryInode {
  readonly ino: number;
  readonly kind: "file" | "folder";
  mode: number;
  /** The open file that holds the lock. */
  lockedBy: object | undefined;
  #seen = new Content();
  #durable = new Content();
  #unsynced: Change[] = [];
  #failedSyncs = 0;
  #mtimeMs: number;

  constructor(ino: number, kind: "file" | "folder", mode: number, nowMs: number) {
    this.ino = ino;
    this.kind = kind;
    this.mode = mode;
    this.#mtimeMs = nowMs;
  }

  get size(): number {
    return this.#seen.size;
  }

  stat(): FileStat {
    const { ino, kind, mode, size } = this;
    return { dev: 1, ino, size, mode, nlink: 1, uid: 0, gid: 0, kind, mtimeMs: this.#mtimeMs };
  }

  read(length: number, position: number): Uint8Array {
    return this.#seen.read(length, position);
  }

  append(bytes: Uint8Array, nowMs: number): void {
    this.#change({ write: Uint8Array.from(bytes), at: this.size }, nowMs);
  }

  truncate(length: number, nowMs: number): void {
    this.#change({ truncate: length }, nowMs);
  }

  writeAgain(from: number, to: number): void {
    this.#unsynced.push({ write: Uint8Array.from(this.read(to - from, from)), at: from });
  }

  #change(change: Change, nowMs: number): void {
    this.#seen.apply(change);
    this.#unsynced.push(change);
    this.#mtimeMs = nowMs;
  }

  sync(): void {
    for (const change of this.#unsynced) this.#durable.apply(change);
    this.#unsynced = [];
  }

  /** How many syncs of it have failed: whoever had it open then is told at the next sync. */
  get failedSyncs(): number {
    return this.#failedSyncs;
  }

  /** A sync failed: programs still see the bytes, the kernel takes them for written. */
  loseUnsynced(): void {
    this.#failedSyncs += 1;
    this.#unsynced = [];
  }

  powerCut(how: PowerCut, random: Random): void {
    for (const change of how === "drop" ? [] : this.#unsynced) {
      const survives = how === "keep" ? change : torn(change, this.#durable, random);
      if (survives !== undefined) this.#durable.apply(survives);
    }
    this.#unsynced = [];
    this.#seen = this.#durable.copy();
    this.lockedBy = undefined;
  }
}

function torn(change: Change, durable: Content, random: Random): Change | undefined {
  const luck = random();
  if (luck < 0.3) return undefined;
  if (luck < 0.6 || "truncate" in change) return change;
  const at = Math.floor(random() * (change.write.length + 1));
  if (luck < 0.8) return { ...change, write: change.write.slice(0, at) };
  // The file had grown before its data came: zero bytes up to, or from, some place, but never
  // where it had bytes before.
  const holed = change.write.slice();
  if (luck < 0.9) holed.fill(0, 0, at);
  else holed.fill(0, at);
  holed.set(durable.read(holed.length, change.at));
  return { ...change, write: holed };
}

/** Bytes that grow, with zeros in every hole. */
class Content {
  size = 0;
  #bytes = new Uint8Array(0);

  read(length: number, position: number): Uint8Array {
    return this.#bytes.slice(position, Math.min(this.size, position + length));
  }

  apply(change: Change): void {
    if ("truncate" in change) {
      this.#bytes.fill(0, change.truncate);
      this.#reserve(change.truncate);
      this.size = change.truncate;
      return;
    }
    const end = change.at + change.write.length;
    this.#reserve(end);
    this.#bytes.set(change.write, change.at);
    this.size = Math.max(this.size, end);
  }

  copy(): Content {
    const content = new Content();
    content.apply({ write: this.#bytes.slice(0, this.size), at: 0 });
    return content;
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(size, this.#bytes.length * 2, 1024));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}
