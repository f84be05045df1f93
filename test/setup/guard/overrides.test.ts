import { expect, test } from "vitest";
import {
  lastOverrides,
  recordOverride,
  type Override,
} from "../../../src/setup/guard/overrides.ts";
import { agentPaths, placesFrom } from "../../../src/storage/paths.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const PLACES = placesFrom({ HOME: "/home/forge" }, "/home/forge");

const override = (reason: string): Override => ({
  ...{ at: "2026-11-23T07:00:00.000Z", hook: "pre-commit", handle: "forge", git_user: null },
  ...{ os_user: "ada", work_tree: "/w", blocked: [{ path: "a", why: "b" }], more: 0, reason },
});

test("a record behind one that a crash has cut is read, and is durable", () => {
  const world = new MemoryDisk({ seed: 1, nowMs: () => 0 });
  const disk = world.process();
  const paths = agentPaths(PLACES, { wireDir: "/wire", wireKey: "k", handle: "forge" });
  disk.makeFolder(paths.stateDir, 0o700);
  recordOverride(disk, paths, override("first"));
  const file = disk.open(paths.overrides, "append");
  file.append(Buffer.from('{"at":"2026', "utf8"));
  file.datasync();
  file.close();
  recordOverride(disk, paths, override("second"));
  world.powerCut("drop");
  const found = lastOverrides(world.process(), paths, 5).map(({ reason }) => reason);
  expect(found).toEqual(["second", "first"]);
});
