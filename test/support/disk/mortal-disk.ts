import { StorageError, type Disk, type DiskFile } from "../../../src/storage/disk/disk.ts";
import { Crashed } from "./memory-file.ts";

/** What changes something: where a process dies between two others, nobody can tell. */
const STEPS = new Set([
  ...["append", "datasync", "lock", "makeFolder", "open", "remove", "replace"],
  ...["renameExclusive", "rewrite", "setMode", "syncFolder", "truncate", "writeAgain"],
]);

/** A disk as one process uses it, which can be killed. Its locks are free then, and it does nothing more. */
export interface MortalDisk {
  readonly disk: Disk;
  readonly isAlive: boolean;
  /** Steps so far: what changes files, in order. */
  readonly steps: number;
  /** It dies in that step, before anything of it is done; an append, when half of it is written. */
  dieAt(step: number): void;
  /** It is full at that step and the next ones, so many: nothing of them is done; half of an append is. */
  fillAt(step: number, count: number): void;
  kill(): void;
}

export function mortalDisk(real: Disk): MortalDisk {
  const open = new Set<DiskFile>();
  let isAlive = true;
  let steps = 0;
  let last = Infinity;
  let full = { from: Infinity, count: 0 };

  function kill(): void {
    isAlive = false;
    for (const file of open) file.close();
    open.clear();
  }

  function die(): never {
    kill();
    throw new Crashed("the process has died");
  }

  function step(file: DiskFile | undefined, name: string, args: readonly unknown[]): void {
    if (!isAlive) die();
    if (!STEPS.has(name)) return;
    steps += 1;
    const isFull = steps >= full.from && steps < full.from + full.count;
    if (steps < last && !isFull) return;
    const [bytes] = args;
    if (name === "append" && bytes instanceof Uint8Array) {
      file?.append(bytes.subarray(0, bytes.length >> 1));
    }
    if (steps >= last) die();
    throw new StorageError("disk_full", "disk", "disk full", { hint: "free space" });
  }

  function mortal<T extends object>(target: T, file?: DiskFile): T {
    return new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          if (name === "close" && file !== undefined) {
            if (open.delete(file)) file.close();
            return undefined;
          }
          step(file, String(name), args);
          const result: unknown = Reflect.apply(value, target, args);
          if (file !== undefined || name !== "open") return result;
          const opened = result as DiskFile;
          open.add(opened);
          return mortal(opened, opened);
        };
      },
    });
  }

  return {
    disk: mortal(real),
    get isAlive() {
      return isAlive;
    },
    get steps() {
      return steps;
    },
    dieAt(at) {
      last = at;
    },
    fillAt(from, count) {
      full = { from, count };
    },
    kill,
  };
}
