import { describe, expect, test } from "vitest";
import { judge as judgeLine } from "../../src/admission/judge.ts";
import { nothingIsMissingBefore, type LogAdmission } from "../../src/admission/log-admission.ts";
import type { FirstLook } from "../../src/admission/reading.ts";
import { freshLog, judge, verified } from "./admission-scene.ts";
import { context, NOON_MS, note, signV31, unsignedContext, type Fields } from "../trust/people.ts";

const MINUTE_MS = 60_000;

/** Signed lines of a chain: number 1, 2, 3 and so on. */
function chain(count: number): Fields[] {
  const lines: Fields[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const prev = lines.at(-1)?.["event_id"];
    const link = prev === undefined ? {} : { prev };
    lines.push(signV31(note({ log: "alice_to_bob", seq, body: `line ${seq}`, ...link })));
  }
  return lines;
}

/** The verdict on a line that is read for the first time. `behind`: what the file holds behind it. */
function firstLook(
  line: Fields | undefined,
  log: LogAdmission,
  { behind = false, atMs = NOON_MS, end = 700 } = {},
) {
  const asked: unknown[] = [];
  const first: FirstLook = {
    hasLinesBehind: (...args) => {
      asked.push(args);
      return behind;
    },
  };
  const message = verified(line ?? {});
  const reading = { mode: "live", receivedAtMs: atMs, first, end } as const;
  return { verdict: judgeLine({ ok: true, message }, log, context(), reading), asked };
}

describe("a line waits", () => {
  test("when lines that it follows come behind it in the file", () => {
    const [one, , , four] = chain(4);
    const log = freshLog();
    judge(one ?? {}, log);
    const { verdict, asked } = firstLook(four, log, { behind: true });
    expect(verdict).toEqual({
      outcome: "wait",
      because: "order",
      detail: "alice_to_bob: line 4 of the chain comes before lines that it follows",
      events: [],
    });
    expect(asked).toMatchObject([[700, { from: 2, to: 3 }]]);
    // They are nowhere: it is taken, behind a gap.
    expect(firstLook(four, log).verdict.outcome).toBe("accepted");
  });

  test("not when nothing is missing before it, whatever the file holds", () => {
    const [one, two] = chain(2);
    const log = freshLog();
    judge(one ?? {}, log);
    const { verdict, asked } = firstLook(two, log, { behind: true });
    expect([verdict.outcome, asked]).toEqual(["accepted", []]);
  });

  test("when its log begins with it above 1", () => {
    const [, , three] = chain(3);
    expect(firstLook(three, freshLog()).verdict).toMatchObject({
      outcome: "wait",
      because: "late",
      detail:
        "alice_to_bob begins with line 3: lines 1 to 2 are missing, and it needs its archive or the operator's decision",
    });
  });

  test("when it is dated ahead: a quarter of an hour, one in an hour", () => {
    const log = freshLog();
    const dated = (minutes: number, body: string) =>
      signV31(
        note({
          body,
          timestamp: new Date(NOON_MS + minutes * MINUTE_MS).toISOString(),
        }),
      );
    const line = dated(200, "ahead");
    const { verdict } = firstLook(line, log);
    expect(verdict).toMatchObject({ outcome: "wait", because: "ahead", events: [] });
    expect(verdict).toHaveProperty(
      "detail",
      expect.stringMatching(/^alice_to_bob: the next line is /),
    );
    const id = String(line["event_id"]);
    log.ahead = { id, sinceMs: NOON_MS };
    const at = (minutes: number, other: Fields = line) =>
      firstLook(other, log, { atMs: NOON_MS + minutes * MINUTE_MS }).verdict;
    expect(at(14.9).outcome).toBe("wait");
    expect(at(15)).toMatchObject({ outcome: "refused", reason: "clock_skew" });
    const second = dated(400, "ahead too");
    expect(at(59.9, second)).toMatchObject({ outcome: "refused", reason: "clock_skew" });
    expect(at(60, dated(500, "ahead once more")).outcome).toBe("wait");
    // Who reads it again does not wait.
    expect(judge(line, freshLog())).toMatchObject({ outcome: "refused", reason: "clock_skew" });
  });
});

describe("nothing is missing before a line", () => {
  const [one, two, three] = chain(3).map((line) => verified(line));

  test("of a chain: it is the first, or the next", () => {
    const log = freshLog();
    if (one === undefined || two === undefined || three === undefined) throw new Error("a chain");
    expect([one, two].map((line) => nothingIsMissingBefore(line, log))).toEqual([true, false]);
    judge(chain(1)[0] ?? {}, log);
    expect([one, two, three].map((line) => nothingIsMissingBefore(line, log))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("of one that does not chain: before the first chained line", () => {
    const ctx = unsignedContext();
    const plain = verified(note({}), ctx);
    const log = freshLog();
    expect(nothingIsMissingBefore(plain, log)).toBe(true);
    judge(chain(1)[0] ?? {}, log);
    expect(nothingIsMissingBefore(plain, log)).toBe(false);
  });
});
