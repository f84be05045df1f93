import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database } from "../../src/store/database.ts";
import type { Matter } from "../../src/store/notices.ts";
import { Store } from "../../src/store/store.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/wire/durations.ts";
import { amount } from "../support/amounts.ts";

// What the agent was told, as rows. Spec 3.12.

let store: Store;
beforeEach(() => {
  store = new Store(Database.open(":memory:"));
});
afterEach(() => {
  store.close();
});

function tell(about: string, peer: string | undefined, nowMs: number): boolean {
  const matter: Matter = { kind: "ended", about, text: `${about} has ended.`, peer };
  return store.write(() => store.notices.add(matter, nowMs));
}

/** What was told, for each peer: when, and whether it is the summary. */
class NaiveNotices {
  readonly #told = new Set<string>();
  readonly #times = new Map<string, number[]>();
  readonly list: string[] = [];

  add(about: string, peer: string | undefined, nowMs: number): void {
    if (this.#told.has(about)) return;
    const times = peer === undefined ? [] : (this.#times.get(peer) ?? []);
    const within = times.filter((at) => at > nowMs - HOUR_MS).length;
    if (within > 6) return;
    if (peer !== undefined) this.#times.set(peer, [...times, nowMs]);
    if (within < 6) this.#told.add(about);
    this.list.push(within < 6 ? about : "more");
  }
}

describe("notices", () => {
  test("of each peer six are told within an hour and then a summary, like a naive list", () => {
    const raised = fc.record({
      about: fc.integer({ min: 0, max: 60 }).map(String),
      peer: fc.constantFrom("forge", "scribe", undefined),
      laterMs: fc.integer({ min: 1, max: 20 * MINUTE_MS }),
    });
    fc.assert(
      fc.property(fc.array(raised, { maxLength: 80 }), (matters) => {
        store.close();
        store = new Store(Database.open(":memory:"));
        const naive = new NaiveNotices();
        let nowMs = Date.parse("2026-06-01T12:00:00Z");
        for (const { about, peer, laterMs } of matters) {
          nowMs += laterMs;
          tell(about, peer, nowMs);
          naive.add(about, peer, nowMs);
        }
        const told = store.notices.after(0, 100);
        expect(told.map(({ kind, about }) => (kind === "more_notices" ? "more" : about))).toEqual(
          naive.list,
        );
      }),
      { numRuns: amount(40, 2_000) },
    );
  });

  test("each matter is told once, listed, and marked as read by its id", () => {
    expect([tell("a", undefined, 1), tell("a", undefined, 2), tell("b", undefined, 3)]).toEqual([
      true,
      false,
      true,
    ]);
    const [a, b] = store.notices.after(0, 9);
    expect(a?.id).toMatch(/^n-[0-9a-f]{12}$/u);
    expect(store.notices.numberOf(b?.id ?? "")).toBe(2);
    expect(store.notices.oldestUnread()).toBe(1);
    expect(store.write(() => store.notices.markRead([a?.id ?? "", "n-000000000000"]))).toBe(1);
    expect([store.notices.oldestUnread(), store.notices.countUnread()]).toEqual([2, 1]);
    expect(store.notices.newest(1, false).map(({ about }) => about)).toEqual(["b"]);
    expect(store.write(() => store.notices.markRead("all"))).toBe(1);
    expect(store.notices.newest(9, true)).toEqual([]);
  });

  test("a clock that is set back takes no room away", () => {
    for (let each = 0; each < 9; each += 1) tell(`a${each}`, "forge", 10 * HOUR_MS);
    expect(tell("b", "forge", 2 * HOUR_MS)).toBe(true);
  });

  test("a watched ask is due in its time, at once when its closer is silent, and until it is put off", () => {
    const watched = { n: 7, party: "", closer: "forge" };
    const due = (nowMs: number): unknown[] => store.notices.due(nowMs, 9);
    store.write(() => {
      store.notices.watch(watched, 100);
      store.notices.watch(watched, 500);
      store.notices.watch({ ...watched, party: "ann", closer: "scribe" }, 200);
    });
    expect([due(99), due(100)]).toEqual([[], [watched]]);
    store.write(() => {
      store.notices.putOff(watched, 1_000);
    });
    expect(due(199)).toEqual([]);
    store.write(() => {
      store.notices.hasten("forge");
    });
    expect(due(1)).toEqual([watched]);
    store.write(() => {
      store.notices.putOff(watched, undefined);
    });
    expect(due(Number.MAX_SAFE_INTEGER)).toHaveLength(1);
  });
});
