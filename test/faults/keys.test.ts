import { expect, test } from "vitest";
import { loadIdentity, makeIdentity } from "../../src/storage/private/identity.ts";
import { agentPaths, identityPaths, placesFrom } from "../../src/storage/paths.ts";
import { preparePrivateFolders } from "../../src/storage/private/private-folders.ts";
import {
  adoptNextIdentity,
  isNextUrgent,
  loadNextIdentity,
  loadSigningIdentity,
  prepareNextIdentity,
  prepareUrgentIdentity,
} from "../../src/storage/private/signing-key.ts";
import { keyId, publicKeyOf } from "../../src/wire/signature.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { POWER_CUTS, attempt, FAULTS } from "../support/disk/faults.ts";

const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge");
const PATHS = identityPaths(PLACES, "forge");
const FIRST = new Uint8Array(32).fill(1);
const SECOND = new Uint8Array(32).fill(2);
const ON_WIRE = agentPaths(PLACES, { wireDir: "/wire", wireKey: "5ce9e0f1", handle: "forge" });
const THIRD = new Uint8Array(32).fill(3);

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
  atLeast = 6,
): void {
  for (const fault of FAULTS) {
    for (const power of POWER_CUTS) {
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
      expect(operations).toBeGreaterThanOrEqual(atLeast);
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
      // Who has a key keeps it; without one the second run makes one.
      expect(again).toBe(before === undefined);
      const kept = before ?? SECOND;
      expect(keyOn(process)).toEqual(kept);
      const { publicIdentity } = loadIdentity(process, PATHS, "forge");
      expect(loadIdentity(process, PATHS, "forge").publicIdentity).toEqual(publicIdentity);
      expect(keyOn(process)).toEqual(kept);
    },
  );
});

const idOf = (seed: Uint8Array): string => keyId("forge", publicKeyOf(seed));

function usedOn(process: MemoryProcess): string {
  return loadSigningIdentity(process, ON_WIRE).signer.keyId;
}

test("a key that waits for its rotation is whole or absent, and only one waits", () => {
  everyFault(
    (process) => {
      makeIdentity(process, PATHS, "forge", FIRST);
      preparePrivateFolders(process, ON_WIRE);
    },
    (process) => prepareNextIdentity(process, ON_WIRE, SECOND),
    (process, done) => {
      expect(usedOn(process)).toBe(idOf(FIRST));
      const waiting = loadNextIdentity(process, ON_WIRE)?.signer.keyId;
      expect(done ? [idOf(SECOND)] : [undefined, idOf(SECOND)]).toContain(waiting);
      const again = prepareNextIdentity(process, ON_WIRE, THIRD).signer.keyId;
      expect(again).toBe(waiting ?? idOf(THIRD));
    },
    3,
  );
});

test("a key that is changed is the old or the new one, and the old one is never lost", () => {
  everyFault(
    (process) => {
      makeIdentity(process, PATHS, "forge", FIRST);
      preparePrivateFolders(process, ON_WIRE);
      prepareNextIdentity(process, ON_WIRE, SECOND);
      adoptNextIdentity(process, ON_WIRE);
      prepareNextIdentity(process, ON_WIRE, THIRD);
    },
    (process) => adoptNextIdentity(process, ON_WIRE),
    (process, done) => {
      // Both halves belong together, however it ended, or this throws.
      expect(done ? [idOf(THIRD)] : [idOf(SECOND), idOf(THIRD)]).toContain(usedOn(process));
      const old = () => process.list(ON_WIRE.configDir).filter((name) => name.endsWith(".old.key"));
      if (usedOn(process) === idOf(THIRD)) expect(old()).toHaveLength(2);
      adoptNextIdentity(process, ON_WIRE);
      expect([usedOn(process), old().length]).toEqual([idOf(THIRD), 2]);
      expect(loadNextIdentity(process, ON_WIRE)).toBeUndefined();
      // The key of the identity, which other wires use, stays.
      expect(keyOn(process)).toEqual(FIRST);
    },
  );
});

test("a key that is urgent is said to be so only with the key itself, and no later one is", () => {
  everyFault(
    (process) => {
      makeIdentity(process, PATHS, "forge", FIRST);
      preparePrivateFolders(process, ON_WIRE);
      prepareNextIdentity(process, ON_WIRE, SECOND);
    },
    (process) => prepareUrgentIdentity(process, ON_WIRE, THIRD),
    (process, done) => {
      const next = loadNextIdentity(process, ON_WIRE)?.signer.keyId;
      if (done) expect(next).toBe(idOf(THIRD));
      if (isNextUrgent(process, ON_WIRE)) expect(next).toBe(idOf(THIRD));
      prepareUrgentIdentity(process, ON_WIRE, THIRD);
      adoptNextIdentity(process, ON_WIRE);
      expect(usedOn(process)).toBe(idOf(THIRD));
      prepareNextIdentity(process, ON_WIRE, FIRST);
      expect(isNextUrgent(process, ON_WIRE)).toBe(false);
    },
    4,
  );
});
