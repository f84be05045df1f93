import { expect, test } from "vitest";
import {
  isFull,
  MAX_NAMED_REFUSALS,
  noRefusedLines,
  noteRefused,
  noteTaken,
  type RefusedLines,
} from "../../../src/protocol/receipts/refused-lines.ts";

const rangesOf = ({ ranges }: RefusedLines) =>
  ranges.map(({ first, last, reason }) => [first, last, reason]);

/** As many ranges of one line each as a beat can name, from line 1 on, all with lines taken in between. */
function apart(count: number): RefusedLines {
  const lines = noRefusedLines();
  for (let at = 0; at < count; at += 1) {
    noteRefused(lines, { first: 2 * at + 1, last: 2 * at + 1 }, "unchained");
    noteTaken(lines, 2 * at + 2);
  }
  return lines;
}

test("one range too many: the first two that nothing separates become one, of the rest none changes", () => {
  const lines = noRefusedLines();
  noteRefused(lines, { first: 1, last: 1 }, "foreign");
  noteTaken(lines, 2);
  noteRefused(lines, { first: 3, last: 3 }, "foreign");
  noteRefused(lines, { first: 4, last: 5 }, "unchained");
  const rest: [number, number, string][] = [];
  for (let line = 6; lines.ranges.length < MAX_NAMED_REFUSALS; line += 1) {
    const reason = line % 2 === 0 ? "foreign" : "unchained";
    noteRefused(lines, { first: line, last: line }, reason);
    rest.push([line, line, reason]);
  }
  expect(isFull(lines)).toBe(false);
  const next = (rest.at(-1)?.[0] ?? 0) + 1;
  noteRefused(lines, { first: next, last: next }, "clock_skew");
  expect(rangesOf(lines)).toEqual([
    [1, 1, "foreign"],
    [3, 5, "mixed"],
    ...rest,
    [next, next, "clock_skew"],
  ]);
});

test("ranges of one reason keep it when they are joined", () => {
  const lines = apart(MAX_NAMED_REFUSALS - 1);
  const next = lines.lastTaken + 1;
  noteRefused(lines, { first: next, last: next }, "foreign");
  noteRefused(lines, { first: next + 1, last: next + 1 }, "unchained");
  expect(rangesOf(lines).slice(-1)).toEqual([[next, next + 1, "mixed"]]);
  expect(isFull(lines)).toBe(true);
});

test("with lines taken in between all of them no further one is named, and the list is full", () => {
  expect(isFull(apart(MAX_NAMED_REFUSALS - 1))).toBe(false);
  expect(isFull(apart(MAX_NAMED_REFUSALS))).toBe(true);
});
