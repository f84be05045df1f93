import { describe, expect, it, test } from "vitest";
import { amount } from "../support/amounts.ts";
import { randomFrom } from "../support/random.ts";
import { PINNED, readLines } from "./lines.ts";
import { findingsOf } from "./model.ts";
import { addToTally, findBrokenPromises, type Tally } from "./properties.ts";
import { randomWire } from "./random-wire.ts";
import { findBrokenInSmallWires, findForkedRosters } from "./small-wires.ts";

describe("what next 3.4 and 3.11 promise", () => {
  it("holds on random wires", () => {
    const tally: Tally = {};
    for (let seed = 1_000; seed < 1_000 + amount(100, 5_000); seed += 1) {
      const wire = randomWire(seed, 120);
      addToTally(tally, wire.pinned, wire.lines);
      expect({ seed, broken: findBrokenPromises(wire, randomFrom(seed), 4) }).toEqual({
        seed,
        broken: [],
      });
    }
    // The wires show what there is to show.
    for (const key of ["proposal", "request", "change", "unchained proposal"]) {
      for (const outcome of ["pending", "approved", "rejected"]) {
        expect(tally).toHaveProperty([`${key} ${outcome}`]);
      }
    }
    for (const key of ["leave counted", "change after a change"]) {
      expect(tally).toHaveProperty([key]);
    }
  });

  it("holds on long wires of honest agents", () => {
    for (let seed = 1; seed <= amount(10, 500); seed += 1) {
      const wire = randomWire(seed, 250, ["honest", "honest", "honest"]);
      expect({ seed, broken: findBrokenPromises(wire, randomFrom(seed), 2) }).toEqual({
        seed,
        broken: [],
      });
    }
  });
});

test("all small wires of two agents keep it", () => {
  const { wires, broken } = findBrokenInSmallWires(amount(5, 6));
  expect(wires).toBeGreaterThan(1_000);
  expect(broken).toEqual([]);
});

test("two agents that do not fork their chains never fork the roster", () => {
  const { approved, broken } = findForkedRosters(amount(6, 7));
  expect(approved).toBeGreaterThan(100);
  expect(broken).toEqual([]);
});

test("the 1,024 words of a thread that are read", () => {
  const word = (seq: number): string =>
    `{"seq":${seq},"from":"forge","type":"ack","correlation_id":"T","body":{}}`;
  const words = (count: number): string =>
    Array.from({ length: count }, (_, index) => word(index + 2)).join("\n");
  const f1 =
    '{"seq":1,"from":"forge","to":["scribe"],"type":"proposal","correlation_id":"T","body":{}}';
  const ended = (seq: number): string =>
    `{"seq":${seq},"from":"forge","type":"correction","correlation_id":"T","body":{"decides":["forge",1,"f1"],"outcome":"ended"}}`;
  const at = (count: number): unknown =>
    findingsOf(PINNED, readLines([f1, words(count - 2), ended(count)].join("\n"))).asks[0]?.outcome;
  expect(at(1_024)).toBe("ended");
  expect(at(1_025)).toBe("pending");
});
