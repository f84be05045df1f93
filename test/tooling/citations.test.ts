import { describe, expect, it, test } from "vitest";
import { citationsIn, numbersIn, referencesIn, unresolved } from "./citations.ts";
import { textFiles } from "./repository-files.ts";

const CITING = ["src", "test", "bench", "docs", "schemas"];
const DOCUMENTS = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"];

const chapters = textFiles(["docs/spec"], /\.md$/);
const known = new Set(chapters.flatMap(({ text }) => numbersIn(text)));

test("the specification has each number once", () => {
  const numbers = chapters.flatMap(({ text }) => numbersIn(text));
  expect(numbers).toEqual([...known]);
  expect(numbers).toEqual(expect.arrayContaining(["1", "1.1", "1.7", "2", "2.6"]));
});

test("every cited section of the specification exists", () => {
  const files = textFiles([...CITING, ...DOCUMENTS], /\.(?:ts|js|json|md|py|sh)$/);
  const cited = files.map(({ path, text }) => ({ path, citations: citationsIn(text) }));
  expect(cited.flatMap(({ citations }) => citations).length).toBeGreaterThan(500);
  expect(cited.flatMap(({ path, citations }) => unresolved(path, citations, known))).toEqual([]);
});

test("every section that a chapter refers to exists", () => {
  const cited = chapters.map(({ path, text }) => ({ path, citations: referencesIn(text) }));
  expect(cited.flatMap(({ citations }) => citations).length).toBeGreaterThan(50);
  expect(cited.flatMap(({ path, citations }) => unresolved(path, citations, known))).toEqual([]);
});

describe("the finder", () => {
  // Put together here, so that this file cites nothing that does not exist.
  const spec = (rest: string): string => ["Spec", rest].join(" ");
  const numbers = (text: string): string[] => citationsIn(text).map(({ number }) => number);

  it("names file and line of a citation that no heading answers", () => {
    const headings = new Set(numbersIn("# 1. The wire\n\n## 1.1 The folder\n\n### Files\n"));
    const text = `/** A log. ${spec("1.1.")} */\n\n/**\n * Its end.\n * ${spec("1.1, 9.9.")}\n */\n`;
    expect(unresolved("src/log.ts", citationsIn(text), headings)).toEqual([
      "src/log.ts:5 cites 9.9, and docs/spec has no such heading",
    ]);
  });

  it.each([
    [spec("1.5"), ["1.5"]],
    [spec("1.5, 2.3."), ["1.5", "2.3"]],
    [spec("2.4, 3, 4.4. */"), ["2.4", "3", "4.4"]],
    [spec("2.1 to 2.3 for one agent"), ["2.1", "2.3"]],
    [spec("1.6 and 2.4, over all"), ["1.6", "2.4"]],
    [spec("1.1, 2.1, and 3.10"), ["1.1", "2.1", "3.10"]],
    [spec("3. */"), ["3"]],
    [spec('section 3.4, "Asking"'), ["3.4"]],
    [spec("1.2.3"), ["1.2.3"]],
    [spec("3.4").toLowerCase(), ["3.4"]],
    [`the ${["specification", "3.4"].join(" ")}`, ["3.4"]],
    [spec("1.5,\n * 2.3"), ["1.5", "2.3"]],
    [spec("1.5,\n// 2.3"), ["1.5", "2.3"]],
    [["Spec", " * 1.5"].join("\n"), ["1.5"]],
    [spec("4.1 allows 2 s"), ["4.1"]],
    [spec("1.2, 3 times"), ["1.2"]],
    [spec("2.4 (replay), 4.1"), ["2.4"]],
    ["RFC 8259, v3.1, speccheck 2.1", []],
  ])("reads %j", (text, expected) => {
    expect(numbers(text)).toEqual(expected);
  });

  it("reads numbers in parentheses within a chapter", () => {
    const found = referencesIn(
      "as (3.4) says; a line (1.2, 1.4) and (decisions, 2.4); v3.1 (at 1.0)",
    );
    expect(found.map(({ number }) => number)).toEqual(["3.4", "1.2", "1.4", "2.4"]);
  });
});
