import { expect, test } from "vitest";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { agentPaths, placesFrom } from "../../src/storage/paths.ts";
import { preparePrivateFolders } from "../../src/storage/private/private-folders.ts";
import { changePrivateTrust, readPrivateTrust } from "../../src/agent/config/trust-store.ts";
import { pin, setTier } from "../../src/trust/pins.ts";
import type { TrustStore } from "../../src/trust/store.ts";
import { serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { publicKeyOf } from "../../src/wire/signature.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { POWER_CUTS, FAULTS } from "../support/disk/faults.ts";

const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge");
const PATHS = agentPaths(PLACES, { wireDir: "/wire", wireKey: "5ce9e0f1", handle: "forge" });
const NOW = "2026-06-01T09:00:00.000Z";
const keyOf = (number: number): Uint8Array => publicKeyOf(new Uint8Array(32).fill(number));
const KEYS = { scribe: keyOf(1), quill: keyOf(2) };

const CHANGES: readonly [string, (store: TrustStore) => ReturnType<typeof pin>][] = [
  ["a pin", (store) => pin(store, "quill", KEYS.quill, NOW)],
  ["a tier", (store) => setTier(store, "scribe", "ATTESTED", Date.parse(NOW))],
];

function prepared(seed: number): { world: MemoryDisk; before: string } {
  const world = new MemoryDisk({ seed });
  const process = world.process();
  preparePrivateFolders(process, PATHS);
  const store = changePrivateTrust(process, PATHS, (empty) =>
    pin(empty, "scribe", KEYS.scribe, NOW),
  );
  process.kill();
  return { world, before: serialiseTrustStore(store) };
}

const textOn = (process: MemoryProcess): string =>
  serialiseTrustStore(readPrivateTrust(process, PATHS));

for (const [what, change] of CHANGES) {
  test(`${what}: the store is the old or the new one, and a second run finishes`, () => {
    for (const fault of FAULTS) {
      for (const power of POWER_CUTS) {
        for (let at = 1, isThrough = false; !isThrough; at += 1) {
          const { world, before } = prepared(at);
          const process = world.process();
          process.failAt(at, fault);
          let after: string | undefined;
          try {
            after = serialiseTrustStore(changePrivateTrust(process, PATHS, change));
          } catch (error) {
            if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
          }
          isThrough = process.operations < at;
          process.kill();
          if (power !== "none") world.powerCut(power);
          const found = textOn(world.process());
          const again = world.process();
          const finished = serialiseTrustStore(changePrivateTrust(again, PATHS, change));
          again.kill();
          const where = `${fault} at operation ${at}, power ${power}`;
          if (after !== undefined) expect(found, where).toBe(after);
          expect([before, finished], where).toContain(found);
          expect(textOn(world.process()), where).toBe(finished);
        }
      }
    }
  });
}
