import fc from "fast-check";
import { expect, test } from "vitest";
import { Database } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { HOUR_MS } from "../../src/wire/durations.ts";
import { amount } from "../support/amounts.ts";
import { newLine, Writer } from "../support/chain-lines.ts";

// Our wall clock was set back: nothing was received later than now. Spec 4.9.

const NOW_MS = 1_000_000_000;
const LIMITS = { skewMs: 300_000, lackedMs: undefined };

/** A store that has received these lines of forge at those times, each a claim of an hour. */
function received(atMs: readonly number[]): Store {
  const forge = new Writer("forge");
  for (const at of atMs.keys())
    forge.say("claim", `T${at}`, { paths: [`p${at}`], ttl_seconds: 3_600 });
  const store = new Store(Database.open(":memory:"));
  store.write((into) => {
    for (const [at, line] of forge.lines.entries()) {
      into.hold(newLine(line, atMs[at]));
      store.claims.take(store.history("w"), line);
    }
  });
  return store;
}

function receipts(store: Store): number[] {
  return store.lines({ after: 0, limit: 1_000 }).map(({ receivedMs }) => receivedMs);
}

test("what was received later is received now, claims end so long after it, and once is enough", () => {
  const times = fc.array(fc.integer({ min: -3 * HOUR_MS, max: 3 * HOUR_MS }), { maxLength: 7 });
  fc.assert(
    fc.property(times, (offsets) => {
      const before = offsets.map((ms) => NOW_MS + ms);
      const store = received(before);
      const isLater = offsets.some((ms) => ms > 1_000);
      expect(store.setBack(NOW_MS)).toBe(isLater);
      const after = before.map((ms) => (isLater ? Math.min(ms, NOW_MS) : ms));
      expect(receipts(store)).toEqual(after);
      const live = store.claims.live(store.history("w"), 0);
      expect(live.map(({ endsMs }) => endsMs)).toEqual(after.map((ms) => ms + HOUR_MS));
      expect(store.setBack(NOW_MS)).toBe(false);
      store.close();
    }),
    { numRuns: amount(10, 1_000) },
  );
});

test("who was heard of by a clock that was ahead lives from now on, and falls silent in time", () => {
  const store = received([NOW_MS]);
  const beats = store.beats("scribe");
  const receivedMs = NOW_MS + 24 * HOUR_MS;
  const hear = (atMs: number): boolean =>
    store.write(() => {
      const beat = { datedMs: atMs, receivedMs: atMs };
      return beats.noteBeat("forge", { ...beat, cadenceMs: undefined, isPaused: false }, LIMITS);
    });
  expect(hear(receivedMs)).toBe(true);
  expect(store.setBack(NOW_MS)).toBe(true);
  expect(beats.life("forge")?.receivedMs).toBe(NOW_MS);
  expect(hear(NOW_MS + 1)).toBe(true);
  store.close();
});
