import { expect, it } from "vitest";
import { placesFrom } from "../../src/storage/paths.ts";
import { openHostState, type HostState } from "../../src/transport/host-state.ts";
import { transportPaths } from "../../src/transport/transport-settings.ts";
import { MemoryDisk } from "../support/disk/memory-disk.ts";

const HOME = "/home/forge";
const PATHS = transportPaths(placesFrom({ HOME }, HOME), "wire");

/** Two daemons of one machine: the first one moves the copies. */
function daemons(): readonly [mover: HostState, other: HostState] {
  const disk = new MemoryDisk();
  const [mover, other] = [disk.process(), disk.process()].map((process) =>
    openHostState(process, PATHS, "file:///remote"),
  ) as [HostState, HostState];
  expect(mover.mayMove()).toBe(true);
  expect(other.mayMove()).toBe(false);
  return [mover, other];
}

it("all daemons of a machine know when the last fetch of the mover began", () => {
  const [mover, other] = daemons();
  expect(other.fetchedMs(5_000)).toBeUndefined();
  mover.noteFetched(1_000);
  mover.save();
  other.noteFetched(4_000);
  other.save();
  expect(mover.fetchedMs(5_000)).toBe(1_000);
  expect(other.fetchedMs(5_000)).toBe(1_000);
});

it("a fetch that the clock says is later than now counts for nothing, also when that time comes", () => {
  const [mover, other] = daemons();
  mover.noteFetched(9_000);
  mover.save();
  for (const each of [mover, other]) {
    expect(each.fetchedMs(8_000)).toBeUndefined();
    expect(each.fetchedMs(10_000)).toBeUndefined();
  }
});

it("the next fetch counts again", () => {
  const [mover, other] = daemons();
  mover.noteFetched(9_000);
  mover.save();
  for (const each of [mover, other]) expect(each.fetchedMs(8_000)).toBeUndefined();
  mover.noteFetched(8_500);
  mover.save();
  for (const each of [mover, other]) expect(each.fetchedMs(10_000)).toBe(8_500);
});

it("what a daemon fetched before it moved the copies counts for nothing: it brought none of it", () => {
  const [mover, other] = daemons();
  other.noteFetched(4_000);
  mover.close();
  expect(other.mayMove()).toBe(true);
  expect(other.fetchedMs(5_000)).toBeUndefined();
  other.noteFetched(4_500);
  expect(other.fetchedMs(5_000)).toBe(4_500);
});
