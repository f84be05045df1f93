import { expect, test } from "vitest";
import { exceedsCodePoints, firstCodePoints } from "../../../src/wire/json/code-points.ts";

test.each([
  ["", 0, ""],
  ["abc", 3, "abc"],
  ["abcd", 3, "abc"],
  ["🐝🐝", 1, "🐝"],
  ["🐝🐝", 2, "🐝🐝"],
  ["a🐝b", 2, "a🐝"],
])("of %j, the first %i code points are %j", (text, max, first) => {
  expect(firstCodePoints(text, max)).toBe(first);
  expect(exceedsCodePoints(text, max)).toBe(first !== text);
});
