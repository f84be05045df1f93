import { expect, test } from "vitest";
import { judgeLines, prepareLines, type Judging } from "../../src/daemon/judging.ts";
import type { LogIntake } from "../../src/daemon/memory.ts";
import type { TailLine } from "../../src/storage/tail.ts";
import { newBucket, STORAGE_BYTES_PER_DAY } from "../../src/trust/rate.ts";
import { newLogAdmission } from "../../src/trust/log-admission.ts";
import { EMPTY_STORE } from "../../src/trust/store.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { makeLayout } from "../../src/wire/layout.ts";

const NOON_MS = Date.UTC(2026, 5, 1, 12);
const DAY_MS = 24 * 60 * 60_000;

const layout = makeLayout("pairwise", ["forge", "quill", "scribe"]);
const log = layout.logs.get("scribe_to_quill");
if (log === undefined) throw new Error("the layout lacks a log");

const ctx: Judging["ctx"] = {
  wireId: undefined,
  signing: { enforceSigned: true, allowUnsignedFrom: [] },
  limits: DEFAULT_LIMITS,
  store: EMPTY_STORE,
  self: "forge",
};

function intake(): LogIntake {
  return {
    log: log as NonNullable<typeof log>,
    cursor: undefined,
    admission: newLogAdmission(log as NonNullable<typeof log>, layout, 1),
    historyTo: 0,
    signedTo: 0,
    unlimitedTo: 0,
    lastAt: 0,
    caughtUp: false,
    heldBack: false,
    late: undefined,
    notBeforeMs: 0,
    awaited: new Map(),
    rubbish: { day: 0, bytes: 0 },
    wait: undefined,
    orderedLook: undefined,
    claims: undefined,
    takesAnyOrder: false,
    hole: undefined,
  };
}

function rubbish(count: number): TailLine[] {
  return Array.from({ length: count }, (_, at) => ({
    kind: "line",
    bytes: Buffer.from("x"),
    start: 2 * at,
    end: 2 * at + 2,
    line: at + 1,
  }));
}

test("rubbish is charged to its log with what we note of it, and not to the log's owner", () => {
  const into = intake();
  const use = { day: Math.floor(NOON_MS / DAY_MS), bytes: 0 };
  const allowance = { bucket: newBucket(60, 0), use };
  const judge = (count: number, wallMs: number) =>
    judgeLines(prepareLines(rubbish(count), into, ctx), [], {
      intake: into,
      ctx,
      wallMs,
      monoMs: 0,
      own: false,
      allowance,
      refusalRoom: Infinity,
      standsBehind: () => false,
      isOrdered: false,
    });

  expect(judge(10, NOON_MS).judged).toHaveLength(10);
  expect(allowance.use.bytes).toBe(0);
  // The journal notes well over a hundred bytes of each.
  expect(into.rubbish.bytes).toBeGreaterThan(10 * 100);

  into.rubbish = { ...into.rubbish, bytes: STORAGE_BYTES_PER_DAY };
  const full = judge(10, NOON_MS);
  expect(full.judged).toEqual([]);
  expect(full.stop?.cause).toBe("storage");
  expect(judge(10, NOON_MS + DAY_MS).judged).toHaveLength(10);
});
