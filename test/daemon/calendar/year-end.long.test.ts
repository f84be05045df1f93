import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { DAY_MS } from "../../../src/wire/durations.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { settableClock } from "../../support/processes/settable-clock.ts";

const LOG = "forge_to_scribe";

afterEach(removeWires);

const segmentOf = ({ dir }: LiveWire): string =>
  join(dir, "archive", String(new Date().getUTCFullYear()), `${LOG}.jsonl`);

/** A daemon that was down at the turn of the year: when it starts, the year after ours has come. */
async function startNextYear(wire: LiveWire): Promise<string> {
  await wire.json("forge", "send", "old", "x");
  const clock = settableClock(wire);
  clock.set(366 * DAY_MS);
  const daemon = await wire.daemon("forge", clock.daemonOptions);
  await wire.json("forge", "send", "new", "x");
  await daemon.stop();
  return daemon.stdout();
}

test("a daemon that was down at the turn of the year archives the old one when it starts", async () => {
  const wire = makeWire({});
  const log = await startNextYear(wire);
  expect(existsSync(segmentOf(wire))).toBe(true);
  expect(log).toContain('"msg":"archived"');
  const said = wire.lines(`${LOG}.jsonl`).filter(({ type }) => type !== "heartbeat");
  expect(said.map(({ subject }) => subject)).toEqual(["old", "new"]);
});

test("not where its operator does not want it", async () => {
  const wire = makeWire({});
  await wire.json("forge", "config", "set", "archive.at_year_end", "false");
  await startNextYear(wire);
  expect(existsSync(segmentOf(wire))).toBe(false);
});
