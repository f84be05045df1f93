import { expect, test } from "vitest";
import { NOTHING_FOREIGN } from "../../../src/agent/state/agent-state.ts";
import { runsOf } from "../../../src/agent/state/line-runs.ts";
import { judgeLines, type Judging } from "../../../src/agent/intake/judge-lines.ts";
import { prepareLines } from "../../../src/agent/intake/prepare-lines.ts";
import type { LogIntake } from "../../../src/agent/state/agent-state.ts";
import { noRefusedLines } from "../../../src/protocol/receipts/refused-lines.ts";
import { UNREAD } from "../../../src/agent/state/log-status.ts";
import type { TailLine } from "../../../src/storage/files/tail.ts";
import { newBucket } from "../../../src/admission/rate-limits.ts";
import { newLogAdmission } from "../../../src/admission/log-admission.ts";
import { EMPTY_STORE } from "../../../src/trust/store.ts";
import { DEFAULT_LIMITS } from "../../../src/wire/limits.ts";
import { makeLayout } from "../../../src/wire/layout.ts";

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
    status: UNREAD,
    past: { historyTo: 0, signedTo: 0, unlimitedTo: 0, lastAt: 0 },
    awaited: new Map(),
    foreign: NOTHING_FOREIGN,
    order: { look: undefined, claims: undefined, takesAny: false, goesOn: undefined },
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

test("rubbish costs nobody anything, however much of it there is: what is behind it is read", () => {
  const into = intake();
  const use = { day: Math.floor(NOON_MS / DAY_MS), bytes: 0 };
  const allowance = { bucket: newBucket(60, 0), use };
  const { judged, stop } = judgeLines(prepareLines(rubbish(300_000), into, ctx), [], {
    intake: into,
    ctx,
    now: { wallMs: NOON_MS, monoMs: 0 },
    own: false,
    takesAny: false,
    allowance,
    refused: noRefusedLines(),
    order: { hasLinesBehind: () => false, isOrdered: false },
  });
  expect([judged.length, stop]).toEqual([300_000, undefined]);
  expect(allowance).toEqual({ bucket: newBucket(60, 0), use });
  // All of it is one note in our journal, and one event.
  expect(runsOf(judged)).toMatchObject([{ run: { count: 300_000 } }]);
});
