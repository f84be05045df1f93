import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import type { OperatorIncident } from "../../src/store/told.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/wire/durations.ts";
import { amount } from "../support/amounts.ts";

/** What the operator is told of. Spec 3.5, 4.12. */

let store: Store;
beforeEach(() => {
  store = new Store(Database.open(":memory:"));
});
afterEach(() => store.close());

function incident(key: string, said: Partial<OperatorIncident> = {}): OperatorIncident {
  return { key, cause: "log_gap", subject: `about ${key}`, detail: "why", ...said };
}

function tell(each: OperatorIncident, nowMs: number): boolean {
  return store.write(() => store.told.add(each, nowMs));
}

describe("told incidents", () => {
  test("a matter is told once, however often it is raised", () => {
    expect(tell(incident("a", { peer: "forge" }), 1_000)).toBe(true);
    expect(tell(incident("a", { peer: "forge" }), 48 * HOUR_MS)).toBe(false);
    expect(store.told.list()).toEqual([
      {
        ...{ k: 1, atMs: 1_000, cause: "log_gap", peer: "forge", subject: "about a" },
        ...{ detail: "why" },
      },
    ]);
  });

  test("the seventh of a peer within an hour says that there are more, and the next ones nothing", () => {
    for (let each = 0; each < 10; each += 1) tell(incident(`a${each}`, { peer: "forge" }), 1_000);
    const causes = store.told.list().map(({ cause }) => cause);
    expect(causes).toEqual([...Array<string>(6).fill("log_gap"), "more_incidents"]);
    // What was left out has its turn when the hour is over.
    expect(tell(incident("a8", { peer: "forge" }), 1_000 + HOUR_MS)).toBe(true);
  });

  test("no peer, and no cause without a peer, takes the room of another", () => {
    for (let each = 0; each < 10; each += 1) {
      tell(incident(`a${each}`, { peer: "forge" }), 1_000);
      tell(incident(`b${each}`, { cause: "config_drift" }), 1_000);
    }
    expect(tell(incident("c", { peer: "scribe" }), 1_000)).toBe(true);
    expect(tell(incident("d", { cause: "trust_drift" }), 1_000)).toBe(true);
  });

  test("the newest 256 are listed, and older ones are still known", () => {
    for (let each = 0; each < 300; each += 1)
      tell(incident(`a${each}`, { peer: `peer${each}` }), each);
    expect(store.told.list().map(({ peer }) => peer)).toEqual(
      Array.from({ length: 256 }, (_, each) => `peer${each + 44}`),
    );
    expect(store.told.unread().unread).toBe(256);
    expect(tell(incident("a0", { peer: "peer0" }), 300)).toBe(false);
  });

  test("what is read is unread no more, and what is told afterwards is", () => {
    tell(incident("a"), 1_000);
    expect(store.write(() => store.told.markRead())).toBe(1);
    tell(incident("b"), 1_000);
    expect(store.told.unread()).toMatchObject({ unread: 1, newest: { subject: "about b" } });
  });

  test("at most so many are told of a peer within any hour", () => {
    const raised = fc.array(
      fc.record({
        key: fc.integer({ min: 0, max: 40 }),
        peer: fc.constantFrom("forge", "scribe"),
        waitMs: fc.integer({ min: 0, max: 20 * MINUTE_MS }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(raised, (matters) => {
        const fresh = new Store(Database.open(":memory:"));
        let nowMs = 0;
        const told = new Set<string>();
        for (const { key, peer, waitMs } of matters) {
          nowMs += waitMs;
          const each = incident(`${peer} ${key}`, { peer });
          const isTold = fresh.write(() => fresh.told.add(each, nowMs));
          expect(isTold && told.has(each.key)).toBe(false);
          if (isTold) told.add(each.key);
        }
        const all = fresh.told.list();
        for (const { peer, atMs } of all) {
          const hour = all.filter(
            (each) => each.peer === peer && each.atMs > atMs - HOUR_MS && each.atMs <= atMs,
          );
          const more = hour.filter(({ cause }) => cause === "more_incidents");
          expect(hour.length - more.length).toBeLessThanOrEqual(6);
          expect(more.length).toBeLessThanOrEqual(1);
        }
        fresh.close();
      }),
      { numRuns: amount(20, 400) },
    );
  });
});
