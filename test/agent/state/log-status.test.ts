import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
  isCaughtUp,
  isHeldBack,
  isLong,
  isStillTorn,
  observe,
  shownWait,
  UNREAD,
  type LogStatus,
  type Observation,
} from "../../../src/agent/state/log-status.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import type { Cursor } from "../../../src/storage/files/tail.ts";

/** Every status began before this; every observation is made now. */
const NOW = 10_000_000;
const MINUTE = 60_000;

const upTo = (offset: number): Cursor => ({
  ...{ dev: 1, ino: 2, offset, lines: 1, prefixHash: "", scanned: 0, size: offset, mtimeMs: 3 },
});
const problem = new StorageError("not_a_file", "/wire/log.jsonl", "no plain file", {
  hint: "put it back",
});

const torn: LogStatus & { kind: "torn" } = {
  kind: "torn",
  at: 70,
  sinceMs: 1,
  dueMs: 2,
  look: "torn look",
  lookedMs: 3,
  searched: upTo(90),
};
const behind: LogStatus & { kind: "behind" } = {
  kind: "behind",
  why: "behind",
  detail: "lacks lines",
  sinceMs: 1,
  dueMs: 2,
  look: "a look",
};

const obstructed = { kind: "obstructed", sinceMs: 1, dueMs: 2 } as const;

const STATUSES = {
  unread: UNREAD,
  "read to its end": { kind: "reading", isAll: true, dueMs: 0 },
  "over the rate": { kind: "waiting", why: "rate", detail: "too many", sinceMs: 1, dueMs: 2 },
  late: { kind: "waiting", why: "late", detail: "begins late", sinceMs: 1, dueMs: 2 },
  torn,
  behind,
  "out of order": { ...behind, why: "order", detail: "too early" },
  obstructed: { ...obstructed, problem: undefined, before: undefined },
  "obstructed while torn": { ...obstructed, problem: undefined, before: torn },
  "obstructed while behind": { ...obstructed, problem, before: behind },
  damaged: { kind: "damaged", problem, dueMs: 2 },
} as const satisfies Record<string, LogStatus>;

const OBSERVATIONS = {
  "some lines": { saw: "lines", isAll: false },
  "all lines": { saw: "lines", isAll: true },
  "a stop": { saw: "stop", forMs: 5 },
  "the rate": { saw: "limit", why: "rate", detail: "again", forMs: 5, waitedMs: 0 },
  "a line dated ahead": { saw: "limit", why: "ahead", detail: "ahead", forMs: 5, waitedMs: 7 },
  "the same tear": { saw: "tear", at: 70, look: "new", forMs: 5, rest: upTo(80), isMore: true },
  "another tear": { saw: "tear", at: 71, look: "", forMs: 5, rest: upTo(80), isMore: true },
  "a tear at the end": { saw: "tear", at: 71, look: "l", forMs: 5, rest: upTo(80), isMore: false },
  "a piece searched": { saw: "searched", upTo: upTo(99) },
  "what follows a tear": { saw: "search over", isFound: true },
  "another file": { saw: "search over", isFound: false },
  "no change": { saw: "no change", forMs: 5 },
  disorder: { saw: "disorder", why: "reordered", detail: "new", look: "l", forMs: 5 },
  order: { saw: "order", forMs: 0 },
  "order at a price": { saw: "order", forMs: 5 },
  "an obstruction": { saw: "obstruction", forMs: 5 },
  damage: { saw: "damage", problem, forMs: 5 },
  "a long line": { saw: "long line", forMs: 5 },
  "a decision": { saw: "decision", isFromBeginning: false },
  "a new beginning": { saw: "decision", isFromBeginning: true },
} as const satisfies Record<string, Observation>;

type StatusName = keyof typeof STATUSES;
type ObservationName = keyof typeof OBSERVATIONS;

/** What a log is in after an observation. */
function next(status: LogStatus, seen: Observation, nowMs: number): LogStatus {
  return observe({ status }, seen, nowMs);
}

/** One status in a few characters; times as they relate to now. */
function short(status: LogStatus): string {
  const at = (ms: number) =>
    ms > NOW ? `now+${ms - NOW}` : ms > NOW - 100 ? `now${ms - NOW || ""}` : String(ms);
  const due = `due ${at(status.dueMs)}`;
  switch (status.kind) {
    case "reading":
      return `reading${status.isAll ? " all" : ""}, ${due}`;
    case "waiting":
      return `${status.why} since ${at(status.sinceMs)}, ${due}`;
    case "torn":
      return `torn at ${status.at} since ${at(status.sinceMs)}, look "${status.look}" of ${at(status.lookedMs)}, searched to ${status.searched?.offset ?? "nothing"}, ${due}`;
    case "behind":
      return `${status.why} since ${at(status.sinceMs)}, look "${status.look}", ${due}`;
    case "obstructed":
      return `obstructed${status.problem === undefined ? "" : " (ours)"} over ${status.before === undefined ? "nothing" : status.before.kind}, ${due}`;
    case "damaged":
      return `damaged, ${due}`;
  }
}

describe("every status and every observation", () => {
  const rows = (Object.keys(STATUSES) as StatusName[]).flatMap((status) =>
    (Object.keys(OBSERVATIONS) as ObservationName[]).map(
      (seen) => `${status} | ${seen} | ${short(next(STATUSES[status], OBSERVATIONS[seen], NOW))}`,
    ),
  );

  it("has one next status", async () => {
    expect(rows).toHaveLength(Object.keys(STATUSES).length * Object.keys(OBSERVATIONS).length);
    await expect(`${rows.join("\n")}\n`).toMatchFileSnapshot("log-status.table.txt");
  });
});

describe("whatever the status", () => {
  const all = Object.values(STATUSES) as LogStatus[];
  const after = (seen: Observation) => all.map((status) => next(status, seen, NOW));

  it("lines that are taken in leave nothing of it", () => {
    for (const isAll of [true, false]) {
      for (const status of after({ saw: "lines", isAll })) {
        expect(status).toEqual({ kind: "reading", isAll, dueMs: 0 });
      }
    }
  });

  it("nothing but lines makes a log read to its end", () => {
    for (const [name, seen] of Object.entries(OBSERVATIONS)) {
      const isKept = ["searched", "search over", "no change", "long line"].includes(seen.saw);
      if (seen.saw === "lines" || isKept) continue;
      expect([name, after(seen).filter(isCaughtUp)]).toEqual([name, []]);
    }
  });

  it("an obstruction that passes leaves the author the time that it had", () => {
    for (const status of [torn, behind]) {
      const during = next(status, { saw: "obstruction", forMs: 5 }, NOW);
      const seen: Observation =
        status.kind === "torn"
          ? { saw: "tear", at: 70, look: "", forMs: 5, rest: undefined, isMore: false }
          : { saw: "disorder", why: "behind", detail: "", look: "", forMs: 5 };
      expect(next(during, seen, NOW + 1)).toMatchObject({ kind: status.kind, sinceMs: 1 });
    }
  });

  it("our own damage ends only when the log is read again", () => {
    const { damaged } = STATUSES;
    expect(next(damaged, { saw: "decision", isFromBeginning: false }, NOW).kind).toBe("damaged");
    expect(next(damaged, { saw: "lines", isAll: true }, NOW).kind).toBe("reading");
  });
});

describe("what follows from a status", () => {
  const at = (ms: number) => ({ ...behind, sinceMs: NOW - ms });

  it("a log is caught up when all of its file is taken in, and nothing is in its way", () => {
    const names = (Object.keys(STATUSES) as StatusName[]).filter((name) =>
      isCaughtUp(STATUSES[name]),
    );
    expect(names).toEqual(["read to its end"]);
  });

  it("no deadline runs against lines that we leave unread, nor forever for what an author left", () => {
    expect(isHeldBack(STATUSES["over the rate"], NOW)).toBe(true);
    expect(isHeldBack(at(60 * MINUTE - 1), NOW)).toBe(false);
    expect(isHeldBack(at(60 * MINUTE), NOW)).toBe(true);
    expect(isHeldBack({ ...torn, sinceMs: NOW - 60 * MINUTE }, NOW)).toBe(true);
    const inTheWay = { ...STATUSES["obstructed while torn"], sinceMs: NOW - 60 * MINUTE };
    expect(isHeldBack(inTheWay as LogStatus, NOW - 1)).toBe(false);
    expect(isHeldBack(inTheWay as LogStatus, NOW)).toBe(true);
    for (const name of ["unread", "damaged"] as const) {
      expect([name, isHeldBack(STATUSES[name], NOW)]).toEqual([name, false]);
    }
  });

  it("the operator is told after ten minutes of a log that lacks lines or shows another order", () => {
    expect(isLong(at(10 * MINUTE - 1), NOW)).toBe(false);
    expect(isLong(at(10 * MINUTE), NOW)).toBe(true);
    expect(isLong({ ...torn, sinceMs: 0 }, NOW)).toBe(false);
  });

  it("a torn file is read again when it looks different, or after a minute", () => {
    const seen = { ...torn, lookedMs: NOW - MINUTE + 1 };
    expect(isStillTorn(seen, "torn look", NOW)).toBe(true);
    expect(isStillTorn(seen, "another", NOW)).toBe(false);
    expect(isStillTorn({ ...seen, look: "" }, "", NOW)).toBe(false);
    expect(isStillTorn(seen, "torn look", NOW + 1)).toBe(false);
  });

  it("whatever keeps a log from moving is shown, a tear and an obstruction once they last", () => {
    const shown = (nowMs: number) =>
      (Object.keys(STATUSES) as StatusName[]).flatMap((name) => {
        const wait = shownWait(STATUSES[name], nowMs);
        return wait === undefined ? [] : [`${name}: ${wait.why}`];
      });
    const atOnce = [
      ...["over the rate: rate", "late: late", "behind: behind", "out of order: order"],
      "obstructed while behind: behind",
    ];
    expect(shown(10_000)).toEqual(atOnce);
    const later = ["torn: hole", "obstructed: obstructed", "obstructed while torn: obstructed"];
    expect(shown(10_001).toSorted()).toEqual([...atOnce, ...later].toSorted());
    // One that begins with the obstruction has its own time.
    const now = next(torn, { saw: "obstruction", forMs: 5 }, 10_001);
    expect(shownWait(now, 10_001)?.why).toBe("hole");
  });
});

/** Files of the source that assign to that field of a log. */
function writersOf(field: string): string[] {
  const src = resolve(import.meta.dirname, "../../../src");
  const assignment = new RegExp(`\\b(log|intake)\\.${field} = `);
  return readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && assignment.test(readFileSync(join(src, name), "utf8")),
  );
}

it("one file writes the status of a log, and one its cursor", () => {
  expect(writersOf("status")).toEqual([join("agent", "state", "log-status.ts")]);
  expect(writersOf("cursor")).toEqual([join("agent", "state", "log-cursor.ts")]);
});
