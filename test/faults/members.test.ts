import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { applyMembership } from "../../src/agent/config/change-members.ts";
import type { Membership } from "../../src/protocol/members/due-changes.ts";
import { readPinned, savePinned } from "../../src/storage/private/private-store.ts";
import { preparePrivateFolders } from "../../src/storage/private/private-folders.ts";
import { agentPaths, placesFrom, wirePaths } from "../../src/storage/paths.ts";
import { readWhole } from "../../src/storage/disk/disk.ts";
import { parseConfig } from "../../src/trust/policy/config.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { attempt, FAULTS, POWER_CUTS } from "../support/disk/faults.ts";

const WIRE = wirePaths("/wire");
const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge");
const PATHS = agentPaths(PLACES, { wireDir: "/wire", wireKey: "5ce9e0f1", handle: "forge" });
const CONFIG = { wire_id: "5ce9e0f1", layout: "outbox", roster: ["forge", "scribe"], ours: 1 };
const JOINS: Membership = {
  handle: "mason",
  becomes: "new",
  atMs: 1_000,
  logs: new Map(),
  changedBy: "0".repeat(64),
};

function setUp(process: MemoryProcess): void {
  const bytes = Buffer.from(JSON.stringify(CONFIG));
  process.makeFolder("/wire", 0o700);
  process.replace(WIRE.config, bytes, 0o600);
  preparePrivateFolders(process, PATHS);
  savePinned(process, PATHS, "config", bytes);
}

/** Who is in the roster of a file, which is whole. */
function rosterIn(bytes: Uint8Array | undefined): readonly string[] {
  const parsed = parseConfig(bytes ?? new Uint8Array(0));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.config.roster;
}

test("a change of members is in the wire's file first, each file is whole, and repeating it ends it", () => {
  // Where the wire's file is another user's, that operator writes it.
  for (const fault of FAULTS.filter((each) => each !== "EACCES")) {
    for (const power of POWER_CUTS) {
      let operations = 0;
      for (let at = 1; at === 1 || at <= operations; at += 1) {
        const disk = new MemoryDisk({ seed: at });
        setUp(disk.process());
        const process = disk.process();
        process.failAt(at, fault);
        const done = attempt(() => applyMembership(process, { paths: PATHS, wire: WIRE }, JOINS));
        operations = Math.max(operations, process.operations + (done ? 0 : 1));
        process.kill();
        if (power !== "none") disk.powerCut(power);
        const after = disk.process();
        const pinned = rosterIn(readPinned(after, PATHS, "config"));
        const shared = rosterIn(readWhole(after, WIRE.config));
        if (done) expect(pinned).toContain("mason");
        if (pinned.includes("mason")) expect(shared).toContain("mason");
        // A daemon that failed to read it again still calls it due, and it is applied once more.
        applyMembership(after, { paths: PATHS, wire: WIRE }, JOINS);
        const [ours, theirs] = [readPinned(after, PATHS, "config"), readWhole(after, WIRE.config)];
        expect(rosterIn(ours)).toEqual(["forge", "scribe", "mason"]);
        expect(theirs).toEqual(ours);
      }
      expect(operations).toBeGreaterThanOrEqual(4);
    }
  }
});

test("who has left by its own word leaves once, however often that is applied", () => {
  const disk = new MemoryDisk({ seed: 1 });
  setUp(disk.process());
  const process = disk.process();
  const leaves = { handle: "scribe", becomes: "left", atMs: 2_000, changedBy: undefined } as const;
  const apply = (atMs: number) =>
    applyMembership(process, { paths: PATHS, wire: WIRE }, { ...leaves, atMs, logs: new Map() });
  applyMembership(process, { paths: PATHS, wire: WIRE }, JOINS);
  expect([apply(2_000), apply(2_000)]).toEqual(["written", "same"]);
  expect(() => apply(3_000)).toThrow("scribe is no member");
});
