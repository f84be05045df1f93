import { expect, test } from "vitest";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import { DeaddropError } from "../../src/api/errors.ts";
import type { SetupHost } from "../../src/setup/host.ts";
import { initWire } from "../../src/setup/wire/init-wire.ts";
import { joinWire } from "../../src/setup/wire/join-wire.ts";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { identityPaths, placesFrom } from "../../src/storage/paths.ts";
import { nextPoint } from "../support/amounts.ts";
import { Crashed, MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { FAULTS } from "../support/disk/faults.ts";
import { BEGIN_MS, WIRE } from "../support/scenes/scene-folder.ts";

/** A machine on which every set-up draws other random bytes than the one before. */
function host(disk: MemoryProcess, handle: string, draw: number): SetupHost {
  const places = placesFrom({ HOME: `/home/${handle}` }, `/home/${handle}`);
  let drawn = draw * 16;
  const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill((drawn += 1));
  return { disk, places, nowMs: BEGIN_MS, random };
}

const init = (disk: MemoryProcess, draw: number): unknown =>
  initWire(host(disk, "forge", draw), {
    wireDir: WIRE,
    handles: ["forge"],
    peers: ["scribe"],
    track: true,
  });
const join = (disk: MemoryProcess, draw: number): unknown =>
  joinWire(host(disk, "scribe", draw), {
    wireDir: WIRE,
    handle: "scribe",
    peers: [],
    acceptWireTrust: true,
    track: true,
  });

function attempt(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch (error) {
    const isTrouble = error instanceof StorageError || error instanceof DeaddropError;
    if (isTrouble || error instanceof Crashed) return false;
    throw error;
  }
}

function textOf(disk: MemoryProcess, path: string): string {
  if ((disk.stat(path)?.size ?? 0) === 0) return "";
  const file = disk.open(path, "read");
  return Buffer.from(file.read(file.stat().size, 0)).toString("hex");
}

const CASES = [
  { name: "init", handle: "forge", run: init, prepare: () => undefined },
  { name: "join", handle: "scribe", run: join, prepare: (disk: MemoryProcess) => init(disk, 5) },
] as const;

for (const { name, handle, run, prepare } of CASES) {
  test(`${name} that fails at any operation is finished by a second run, with the same key`, () => {
    for (const fault of FAULTS) {
      for (const isCut of fault === "crash" ? [false, true] : [false]) {
        for (let at = 1, isThrough = false; !isThrough; at = nextPoint(at)) {
          const power = isCut ? (["drop", "tear", "keep"] as const)[at % 3] : undefined;
          const world = new MemoryDisk({ seed: at });
          prepare(world.process());
          const first = world.process();
          first.failAt(at, fault);
          attempt(() => run(first, 1));
          isThrough = first.operations < at;
          first.kill();
          if (power !== undefined) world.powerCut(power);
          const keyPath = identityPaths(host(world.process(), handle, 3).places, handle).key;
          const key = textOf(world.process(), keyPath);
          const where = `${fault} at operation ${at}, power ${power}`;
          const second = world.process();
          run(second, 2);
          const { places } = host(second, handle, 3);
          const place = loadPlace(second, places, { wireDir: WIRE, handle });
          expect(place.config.roster, where).toEqual(["forge", "scribe"]);
          if (key !== "") expect(textOf(second, keyPath), where).toBe(key);
          expect(place.paths.wireKey, where).toBe(place.config.wireId);
          if (name === "join") expect(place.store.peers.get("forge")?.keys, where).toHaveLength(1);
          const files = second.list(WIRE);
          for (const file of ["config.json", "tiers.json", "trust.json", "decisions.jsonl"]) {
            expect(files, where).toContain(file);
          }
          // And a third has nothing left to do.
          const before = second.operations;
          run(second, 3);
          expect(textOf(second, `${WIRE}/config.json`), where).not.toBe("");
          expect(second.operations - before, where).toBeLessThan(80);
        }
      }
    }
  });
}
