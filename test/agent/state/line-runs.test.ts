import fc from "fast-check";
import { expect, test } from "vitest";
import type { JournalEntry, LineEntry } from "../../../src/agent/state/journal-entries.ts";
import { addEntry } from "../../../src/agent/state/line-runs.ts";

type Verdict = "accepted" | "unauthentic" | "blank";

const LOGS = ["a_to_b", "b_to_a"] as const;

/** What is noted of the lines of two logs as they come in turns. */
const arbitraryNotes: fc.Arbitrary<LineEntry[]> = fc
  .array(
    fc.record({
      log: fc.constantFrom(...LOGS),
      verdict: fc.constantFrom<Verdict>("accepted", "unauthentic", "unauthentic", "blank"),
      reason: fc.constantFrom("malformed" as const, "schema" as const),
      isOld: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  .map((notes) => {
    const lines = new Map<string, number>();
    return notes.map(({ log, verdict, reason, isOld }, at): LineEntry => {
      const line = (lines.get(log) ?? 0) + 1;
      lines.set(log, line);
      return {
        k: "line",
        at,
        log,
        line,
        start: 10 * (line - 1),
        end: 10 * line,
        verdict,
        ...(verdict === "unauthentic" ? { reason } : {}),
        ...(verdict === "accepted" ? { id: `${log} ${line}` } : {}),
        // Half of them are history.
        ...(isOld && line < 20 ? { old: true as const } : {}),
      };
    });
  });

function added(notes: readonly LineEntry[]): LineEntry[] {
  const waiting: JournalEntry[] = [];
  for (const note of notes) addEntry(waiting, note);
  return waiting as LineEntry[];
}

/** What stands in the journal before each line that was accepted, counted by log. */
function counts(entries: readonly LineEntry[]): object[] {
  const told = new Map<string, { line: number; foreign: number }>();
  return entries.flatMap(({ log, line, verdict, count }) => {
    const before = told.get(log) ?? { line: 0, foreign: 0 };
    const foreign = before.foreign + (verdict === "unauthentic" ? (count ?? 1) : 0);
    told.set(log, { line, foreign });
    return verdict === "accepted" ? [Object.fromEntries(told)] : [];
  });
}

test("nothing of what is noted is lost, or told on the other side of a line that was taken in", () => {
  fc.assert(
    fc.property(arbitraryNotes, (notes) => {
      const entries = added(notes);
      expect(counts([...entries, ...ends()])).toEqual(counts([...notes, ...ends()]));
      for (const log of LOGS) {
        const own = entries.filter((entry) => entry.log === log);
        for (const [at, { start, end, first, line, old }] of own.entries()) {
          expect(start).toBe(own[at - 1]?.end ?? 0);
          // A blank entry has the number of the last of its lines alone.
          if (first !== undefined) expect(end - start).toBe(10 * (line - first + 1));
          const noted = notes.filter((note) => note.log === log && note.end > start);
          const within = noted.filter((note) => note.end <= end);
          expect(within.every((note) => note.old === old)).toBe(true);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});

test("junk and blank lines in turns, in two logs at once, are four notes at most", () => {
  const notes = Array.from({ length: 400 }, (_, at): LineEntry => {
    const line = Math.floor(at / 2) + 1;
    const verdict = line % 2 === 0 ? "blank" : "unauthentic";
    const log = LOGS[at % 2] as string;
    return { k: "line", at, log, line, start: 2 * line, end: 2 * line + 2, verdict };
  });
  expect(added(notes).length).toBeLessThanOrEqual(4);
});

test("a reason is kept while it is one", () => {
  const note = (line: number, reason: "malformed" | "schema"): LineEntry => ({
    ...{ k: "line", at: line, log: "a_to_b", line, verdict: "unauthentic", reason },
    ...{ start: line, end: line + 1 },
  });
  const run = { first: 1, line: 2, count: 2, start: 1, end: 3, at: 2 };
  expect(added([note(1, "schema"), note(2, "schema")])).toEqual([
    { ...note(2, "schema"), ...run, reason: "schema" },
  ]);
  expect(added([note(1, "schema"), note(2, "malformed")])[0]).not.toHaveProperty("reason");
});

/** One accepted line more in each log, so that what came last counts, too. */
function ends(): LineEntry[] {
  return LOGS.map((log) => ({
    ...{ k: "line", at: 0, log, line: 1_000, verdict: "accepted", id: log },
    ...{ start: 0, end: 0 },
  }));
}
