import { expect, test } from "vitest";
import { Allowances } from "../../../src/agent/lines/allowances.ts";

// What others may make us spend, summed over all their files.

const NOTHING = { bytes: 0, lines: 0 };
const DAY_MS = 86_400_000;

test("an author may send a minute's worth, and after silence ten", () => {
  const allowances = new Allowances();
  const take = (monoMs: number): boolean =>
    allowances.mayTake("scribe", "ship", "VERIFIED", { perMinute: 3, monoMs });
  const count = (monoMs: number): number => {
    let taken = 0;
    while (take(monoMs)) taken += 1;
    return taken;
  };
  expect(count(0)).toBe(3);
  expect(count(20_000)).toBe(1);
  expect(count(3_600_000)).toBe(30);
  // A clock that goes back gives nothing.
  expect(count(1_000_000)).toBe(0);
  expect(allowances.mayTake("scribe", "heartbeat", "VERIFIED", { perMinute: 3, monoMs: 0 })).toBe(
    true,
  );
  expect(allowances.mayTake("scribe", "ship", "TRUSTED", { perMinute: 3, monoMs: 0 })).toBe(true);
});

test("an owner who has used up its day waits for the next; junk only slows its files", () => {
  const allowances = new Allowances();
  const noon = { wallMs: 20_000 * DAY_MS + DAY_MS / 2, monoMs: 0 };
  const live = allowances.budget("scribe", true, noon);
  expect(live).toEqual({ bytes: 65_536, lines: 64 });
  expect(allowances.budget("scribe", false, noon)).toEqual({ bytes: 1_048_576, lines: 8_192 });
  const junk = { bytes: 0, lines: 20_000 };
  allowances.charge("scribe", { taken: NOTHING, junk, again: NOTHING }, noon);
  const slow = { bytes: 1_048_576, lines: 1_000 };
  expect(allowances.budget("scribe", true, noon)).toEqual(slow);
  allowances.charge(
    "scribe",
    { taken: NOTHING, junk: { bytes: 9, lines: 9 }, again: NOTHING },
    noon,
  );
  expect(allowances.budget("scribe", true, noon)).toBeUndefined();
  expect(allowances.budget("scribe", true, { ...noon, monoMs: 60_000 })).toEqual(slow);
  expect(allowances.budget("ann", true, noon)).toEqual(live);
  const taken = { bytes: 0, lines: 200_000 };
  allowances.charge(
    "scribe",
    { taken, junk: NOTHING, again: NOTHING },
    { ...noon, monoMs: 60_000 },
  );
  expect(allowances.budget("scribe", true, { ...noon, monoMs: 240_000 })).toBeUndefined();
  const yesterday = { wallMs: noon.wallMs - DAY_MS, monoMs: 300_000 };
  expect(allowances.budget("scribe", true, yesterday)).toBeUndefined();
  const tomorrow = { wallMs: noon.wallMs + DAY_MS, monoMs: 300_000 };
  expect(allowances.budget("scribe", true, tomorrow)).toEqual(live);
});
