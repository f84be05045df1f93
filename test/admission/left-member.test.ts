import { expect, test } from "vitest";
import type { Absences, LogPlace } from "../../src/wire/roster/members.ts";
import { admit, freshLog, judge, LOG, short, verified } from "./admission-scene.ts";
import { context, note, NOON_MS, signV31, type Fields } from "../trust/people.ts";

/** Alice's chained lines, `count` of them. */
function chain(count: number, before?: Fields, from = 1): Fields[] {
  const lines: Fields[] = [];
  for (let seq = from; seq < from + count; seq += 1) {
    const prev = (lines.at(-1) ?? before)?.["event_id"];
    const link = prev === undefined ? {} : { prev };
    lines.push(signV31(note({ log: LOG, seq, body: `line ${seq}`, ...link })));
  }
  return lines;
}

const place = (seq: number): LogPlace => ({ lines: seq, seq, eventId: undefined });

function left(after: number, backAt?: number): Absences {
  const back =
    backAt === undefined ? undefined : { atMs: NOON_MS, logs: new Map([[LOG, place(backAt)]]) };
  return new Map([["alice", [{ atMs: NOON_MS, logs: new Map([[LOG, place(after)]]), back }]]]);
}

function verdicts(lines: readonly Fields[], absences: Absences): string[] {
  const log = freshLog();
  const ctx = context({ left: absences });
  return lines.map((line) => short(judge(line, log, ctx)));
}

test("lines after the last one are refused, and move nothing", () => {
  const log = freshLog();
  const lines = chain(4);
  const ctx = context({ left: left(2) });
  expect(lines.map((line) => short(judge(line, log, ctx)))).toEqual([
    "accepted",
    "accepted",
    "left_member",
    "left_member",
  ]);
  expect(log.chain.head?.seq).toBe(2);
});

test("a fork after the last line holds nobody", () => {
  const lines = chain(3);
  const other = chain(1, lines[0], 2)[0]!;
  const log = freshLog();
  const ctx = context({ left: left(2) });
  for (const line of lines) judge(line, log, ctx);
  const forked = chain(1, other, 3)[0]!;
  expect(short(judge(forked, log, ctx))).toBe("left_member");
  expect(log.held).toBeUndefined();
});

test("after the return the chain goes on from its first line, without a gap", () => {
  const lines = chain(6);
  expect(verdicts(lines, left(2, 5))).toEqual([
    "accepted",
    "accepted",
    "left_member",
    "left_member",
    "accepted",
    "accepted",
  ]);
});

test("what was written away is not missing, and what was written before it is, until it comes", () => {
  const lines = chain(6);
  const [, second, third] = lines as [Fields, Fields, Fields];
  const absences = left(3, 6);
  const log = freshLog();
  const ctx = context({ left: absences });
  for (const line of lines.filter((each) => each !== second && each !== third)) {
    judge(line, log, ctx);
  }
  expect(log.chain.gaps).toEqual([
    { from: 2, to: 3, after: lines[0]?.["event_id"], before: undefined },
  ]);
  expect([second, third].map((line) => short(judge(line, log, ctx)))).toEqual([
    "accepted",
    "accepted",
  ]);
  expect(log.chain).toEqual({ head: { seq: 6, id: lines[5]?.["event_id"] }, gaps: [] });
});

test("a line that the journal noted as accepted stays so, live and in an audit", () => {
  const [first, second] = chain(2) as [Fields, Fields];
  for (const mode of ["recall", "audit"] as const) {
    const log = freshLog();
    const ctx = context({ left: left(1) });
    judge(first, log, ctx);
    const noted = { reason: undefined };
    expect(short(admit(verified(second, ctx), log, ctx, NOON_MS, { mode, noted }))).toBe(
      "accepted",
    );
  }
});
