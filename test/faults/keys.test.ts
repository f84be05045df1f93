import { expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk.ts";
import { loadIdentity, makeIdentity, replaceIdentity } from "../../src/storage/identity.ts";
import { identityPaths, placesFrom } from "../../src/storage/paths.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/memory-disk.ts";
import { AFTERMATHS, FAULTS } from "../support/plain-faults.ts";

const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge", "/tmp");
const PATHS = identityPaths(PLACES, "forge");
const FIRST = new Uint8Array(32).fill(1);
const SECOND = new Uint8Array(32).fill(2);
const THIRD = new Uint8Array(32).fill(3);

function attempt(action: () => void): boolean {
  try {
    action();
    return true;
  } catch (error) {
    if (error instanceof Crashed || error instanceof StorageError) return false;
    throw error;
  }
}

/** The bytes of the private key; undefined when there is none. */
function keyOn(process: MemoryProcess): Uint8Array | undefined {
  if ((process.stat(PATHS.key)?.size ?? 0) === 0) return undefined;
  const file = process.open(PATHS.key, "read");
  return file.read(file.stat().size, 0);
}

/** Runs an action whose operation `at` fails, and hands over the disk that is left of it. */
function everyFault(
  prepare: (process: MemoryProcess) => void,
  action: (process: MemoryProcess) => void,
  look: (process: MemoryProcess, done: boolean) => void,
): void {
  for (const fault of FAULTS) {
    for (const power of AFTERMATHS) {
      let operations = 0;
      for (let at = 1; at === 1 || at <= operations; at += 1) {
        const world = new MemoryDisk({ seed: at });
        prepare(world.process());
        const process = world.process();
        process.failAt(at, fault);
        const done = attempt(() => action(process));
        operations = Math.max(operations, process.operations + (done ? 0 : 1));
        process.kill();
        if (power !== "none") world.powerCut(power);
        look(world.process(), done);
      }
      expect(operations).toBeGreaterThan(5);
    }
  }
}

test("a new key is whole or absent; the next keygen finishes and overwrites nothing", () => {
  everyFault(
    () => undefined,
    (process) => makeIdentity(process, PATHS, "forge", FIRST),
    (process, done) => {
      const before = keyOn(process);
      if (done) expect(before).toEqual(FIRST);
      if (before !== undefined) expect(before).toEqual(FIRST);
      const again = attempt(() => makeIdentity(process, PATHS, "forge", SECOND));
      // Whoever has a key keeps it; without one the second run makes one.
      expect(again).toBe(before === undefined);
      const kept = before ?? SECOND;
      expect(keyOn(process)).toEqual(kept);
      const { publicIdentity } = loadIdentity(process, PATHS, "forge");
      expect(loadIdentity(process, PATHS, "forge").publicIdentity).toEqual(publicIdentity);
      expect(keyOn(process)).toEqual(kept);
    },
  );
});

test("a key that is replaced is the old or the new one, and the old one is never lost", () => {
  everyFault(
    (process) => makeIdentity(process, PATHS, "forge", FIRST),
    (process) => replaceIdentity(process, PATHS, "forge", SECOND),
    (process, done) => {
      const key = keyOn(process);
      expect([FIRST, SECOND]).toContainEqual(key);
      if (done) expect(key).toEqual(SECOND);
      // Both halves belong together, however it ended.
      loadIdentity(process, PATHS, "forge");
      const old = process.list(PATHS.folder).filter((name) => name.endsWith(".old"));
      if (key?.[0] === 2) expect(old).toHaveLength(1);
      replaceIdentity(process, PATHS, "forge", THIRD);
      expect(keyOn(process)).toEqual(THIRD);
    },
  );
});
