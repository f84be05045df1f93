import { expect, test } from "vitest";
import { DeaddropError } from "../../src/api/errors.ts";
import { collectBackup } from "../../src/setup/backup/backup.ts";
import { restore } from "../../src/setup/backup/restore.ts";
import type { SetupHost } from "../../src/setup/host.ts";
import { readMark, writeMark } from "../../src/agent/lines/mark.ts";
import { changePrivateTrust, readPrivateTrust } from "../../src/agent/config/trust-store.ts";
import type { Backup } from "../../src/storage/private/backup-file.ts";
import { readWhole } from "../../src/storage/disk/disk.ts";
import { loadIdentity, makeIdentity } from "../../src/storage/private/identity.ts";
import { agentPaths, placesFrom } from "../../src/storage/paths.ts";
import { preparePrivateFolders, rememberWire } from "../../src/storage/private/private-folders.ts";
import { saveSettings } from "../../src/storage/private/private-store.ts";
import { pin, revokeKey, setFlags, setTier } from "../../src/trust/pins.ts";
import { serialiseTrustStore } from "../../src/trust/trust-file.ts";
import { keyId, publicKeyOf } from "../../src/wire/signature.ts";
import { nextPoint } from "../support/amounts.ts";
import { MemoryDisk, type Fault, type MemoryProcess } from "../support/disk/memory-disk.ts";
import type { PowerCut } from "../support/disk/memory-inode.ts";
import { attempt } from "../support/disk/faults.ts";

const WIRE_ID = "5ce9e0f1";
const NOW_MS = Date.UTC(2026, 5, 1, 9);
const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge");
const PATHS = agentPaths(PLACES, { wireDir: "/wire", wireKey: WIRE_ID, handle: "forge" });
const SEED = new Uint8Array(32).fill(7);
const OTHER = new Uint8Array(32).fill(8);
const SCRIBE = publicKeyOf(new Uint8Array(32).fill(1));
const QUILL = publicKeyOf(new Uint8Array(32).fill(2));
const NOW = new Date(NOW_MS).toISOString();
const MARKS = [PATHS.mark, PATHS.identity.mark];
const ALL = { acceptOlder: true, replaceKey: true };
const NOTHING = { acceptOlder: false, replaceKey: false };

function hostOn(disk: MemoryProcess): SetupHost {
  return { disk, places: PLACES, nowMs: NOW_MS, random: (bytes) => new Uint8Array(bytes).fill(9) };
}

const CONFIG = {
  wire_id: WIRE_ID,
  protocol_version: "v3.1",
  roster: ["forge", "scribe"],
};

function makeWire(disk: MemoryProcess): void {
  disk.makeFolder("/wire", 0o700);
  disk.replace("/wire/config.json", Buffer.from(JSON.stringify(CONFIG)), 0o600);
}

/** An agent that has worked. */
function makeAgent(disk: MemoryProcess): void {
  preparePrivateFolders(disk, PATHS);
  makeIdentity(disk, PATHS.identity, "forge", SEED);
  rememberWire(disk, PATHS, WIRE_ID);
  changePrivateTrust(disk, PATHS, (empty) => pin(empty, "scribe", SCRIBE, NOW));
  changePrivateTrust(disk, PATHS, (store) => setTier(store, "scribe", "ATTESTED", NOW_MS));
  saveSettings(disk, PATHS, { "guard.strict": true });
  for (const path of MARKS) writeMark(disk, path, { seq: 3, id: "3".repeat(64) });
}

const BACKUP = ((): Backup => {
  const disk = new MemoryDisk().process();
  makeWire(disk);
  makeAgent(disk);
  return collectBackup(disk, PATHS, { wireId: WIRE_ID, nowMs: NOW_MS });
})();

/** How it goes wrong, and what becomes of the host then. */
const TROUBLES: readonly (readonly [Fault, PowerCut | "none"])[] = [
  ["EIO", "none"],
  ["ENOSPC", "none"],
  ["EACCES", "none"],
  ["crash", "none"],
  ["crash", "drop"],
  ["crash", "tear"],
  ["crash", "keep"],
  // A failed sync loses what it was to store.
  ["EIO", "drop"],
];

const marksOn = (disk: MemoryProcess) => MARKS.map((path) => readMark(disk, path));

interface Scene {
  readonly name: string;
  readonly agreed: typeof ALL;
  prepare(disk: MemoryProcess): void;
  /** After a restore that went wrong, and after one that went through. */
  always(disk: MemoryProcess): void;
  finished(disk: MemoryProcess): void;
}

const keyOn = (disk: MemoryProcess) => {
  const bytes = readWhole(disk, PATHS.identity.key);
  return bytes === undefined || bytes.length === 0 ? undefined : Buffer.from(bytes);
};

const SCENES: readonly Scene[] = [
  {
    name: "on a fresh machine",
    agreed: NOTHING,
    prepare: makeWire,
    always(disk) {
      // Who has the key signs nothing before the operator says so, and knows whom it believes.
      if (keyOn(disk) === undefined) return;
      expect(loadIdentity(disk, PATHS.identity, "forge").signer.keyId).toMatch(/^forge:/);
      expect(marksOn(disk)).toEqual([undefined, undefined]);
      expect(readPrivateTrust(disk, PATHS).peers.get("scribe")?.tier).toBe("ATTESTED");
    },
    finished(disk) {
      expect(keyOn(disk)).toEqual(Buffer.from(SEED));
      expect(readPrivateTrust(disk, PATHS).version).toBe(BACKUP.storeVersion);
    },
  },
  {
    name: "over a newer agent that has another key",
    agreed: ALL,
    prepare(disk) {
      makeWire(disk);
      makeAgent(disk);
      changePrivateTrust(disk, PATHS, (store) => pin(store, "quill", QUILL, NOW));
      changePrivateTrust(disk, PATHS, (store) => setFlags(store, "quill", { blocked: true }));
      const id = keyId("scribe", SCRIBE);
      changePrivateTrust(disk, PATHS, (store) => revokeKey(store, id, NOW_MS));
      disk.remove(PATHS.identity.publicKey);
      disk.replace(PATHS.identity.key, OTHER, 0o600);
      loadIdentity(disk, PATHS.identity, "forge");
    },
    always(disk) {
      expect([Buffer.from(SEED), Buffer.from(OTHER)]).toContainEqual(keyOn(disk));
      loadIdentity(disk, PATHS.identity, "forge");
      if (keyOn(disk)?.equals(SEED) === true) expect(marksOn(disk)).toEqual([undefined, undefined]);
      // Refused as rolled back if its version fell below the last one seen.
      const { peers } = readPrivateTrust(disk, PATHS);
      expect(peers.get("scribe")?.keys.map(({ active }) => active)).toEqual([false]);
      expect(peers.get("scribe")?.held?.cause).toBe("key_revoked");
      expect(peers.get("quill")?.blocked).toBe(true);
    },
    finished(disk) {
      expect(keyOn(disk)).toEqual(Buffer.from(SEED));
      const fingerprint = keyId("forge", publicKeyOf(OTHER)).slice("forge:".length);
      const kept = readWhole(disk, `${PATHS.identity.key}.${fingerprint}.old`);
      expect(kept).toEqual(OTHER);
    },
  },
];

function preparedFor(scene: number): MemoryProcess {
  const world = new MemoryDisk({ seed: 5 });
  SCENES[scene]?.prepare(world.process());
  return world.process();
}

for (const scene of SCENES) {
  test(`${scene.name}: whatever fails, each file is the old or the new one, and a repeated restore completes`, () => {
    for (const [fault, power] of TROUBLES) {
      for (let at = 1, isThrough = false; !isThrough; at = nextPoint(at)) {
        const where = `${fault} at operation ${at}, power ${power}`;
        const world = new MemoryDisk({ seed: at });
        const before = world.process();
        scene.prepare(before);
        before.kill();
        const process = world.process();
        process.failAt(at, fault);
        const done = attempt(() => restore(hostOn(process), BACKUP, "/wire", scene.agreed));
        isThrough = process.operations < at;
        expect(done || !isThrough, where).toBe(true);
        process.kill();
        if (power !== "none") world.powerCut(power);
        const found = world.process();
        scene.always(found);
        if (done) scene.finished(found);
        found.kill();
        if (done) continue;

        const again = world.process();
        restore(hostOn(again), BACKUP, "/wire", scene.agreed);
        again.kill();
        const after = world.process();
        scene.always(after);
        scene.finished(after);
        expect(after.stat(PATHS.restoring), where).toBeUndefined();
      }
    }
  });
}

test("an interrupted restore that was agreed to goes on without being agreed to again", () => {
  const whole = preparedFor(1);
  expect(() => restore(hostOn(whole), BACKUP, "/wire", NOTHING)).toThrow(DeaddropError);
  const looked = whole.operations;
  restore(hostOn(whole), BACKUP, "/wire", ALL);
  const process = preparedFor(1);
  const { world } = process;
  process.failAt(whole.operations - looked - 12, "crash");
  expect(attempt(() => restore(hostOn(process), BACKUP, "/wire", ALL))).toBe(false);
  const again = world.process();
  expect(again.stat(PATHS.restoring)?.kind).toBe("file");
  restore(hostOn(again), BACKUP, "/wire", NOTHING);
  SCENES[1]?.finished(again);
  // And then it is over.
  expect(() => restore(hostOn(world.process()), BACKUP, "/wire", NOTHING)).toThrow(/older/);
  const text = serialiseTrustStore(readPrivateTrust(world.process(), PATHS));
  restore(hostOn(world.process()), BACKUP, "/wire", ALL);
  expect(serialiseTrustStore(readPrivateTrust(world.process(), PATHS))).toBe(text);
});
