import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { CHECKOUT } from "./repository-files.ts";

/** One row: what can go wrong, and the tests that hold against it. */
interface Row {
  readonly says: string;
  readonly files: readonly string[];
  /** The names of the tests, in pieces that each stand as they are in the text of a file. */
  readonly pieces: readonly string[];
}

/** A name is shortened, or filled in by its test, where it has "…"; "a / b" are several of one form. */
const BETWEEN_PIECES = /;|…| › | \/ |, …/;

function rowsOf(markdown: string): Row[] {
  const rows = markdown.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).flatMap((row) => {
    const [says = "", files = "", names = ""] = row.split("|").slice(1, -1);
    const pieces = names.replaceAll("\\_", "_").split(BETWEEN_PIECES);
    return files.trim() === ""
      ? []
      : {
          says: says.trim(),
          files: [...files.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
          pieces: pieces.map((piece) => piece.trim()).filter((piece) => piece !== ""),
        };
  });
}

/** The text of a test and of what it imports from beside it: names are made there, too. */
function textOf(path: string): string {
  const text = readFileSync(join(CHECKOUT, path), "utf8");
  const imported = [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, to = ""]) =>
    join(dirname(path), to),
  );
  // A test of the linter holds imports of files that there are not.
  const ours = imported.filter((to) => to.startsWith("test/") && existsSync(join(CHECKOUT, to)));
  return [text, ...ours.map((to) => readFileSync(join(CHECKOUT, to), "utf8"))].join("\n");
}

function problemsOf({ says, files, pieces }: Row): string[] {
  const missing = files.filter((path) => !existsSync(join(CHECKOUT, path)));
  if (files.length === 0 || missing.length > 0) {
    return [`${says}: there is no test file ${missing.join(", ")}`];
  }
  const text = files.map(textOf).join("\n");
  return pieces
    .filter((piece) => !text.includes(piece))
    .map((piece) => `${says}: none of ${files.join(", ")} has a test "${piece}"`);
}

test("every test that the catalogue names is there", () => {
  const rows = rowsOf(readFileSync(join(CHECKOUT, "docs/catalogue.md"), "utf8"));
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.flatMap(problemsOf)).toEqual([]);
});

describe("the comparison", () => {
  const table = (row: string) => rowsOf(`| a | b | c |\n| - | - | - |\n${row}\n`);
  const here = "test/tooling/catalogue.test.ts";

  it("finds a file that is gone, and a name that no test has", () => {
    const [gone] = table("| it | `test/none.test.ts` | something |");
    expect(problemsOf(gone as Row)).toEqual(["it: there is no test file test/none.test.ts"]);
    const other = ["no", "such", "name"].join(" ");
    const [renamed] = table(`| it | \`${here}\` | the comparison › ${other} |`);
    expect(problemsOf(renamed as Row)).toEqual([`it: none of ${here} has a test "${other}"`]);
  });

  it("takes a name in pieces, and passes over headings", () => {
    expect(table("| **Torn** | | |")).toEqual([]);
    const [row] = table("| a | `x`, `y` | one … two; three › four / five |");
    expect(row?.files).toEqual(["x", "y"]);
    expect(row?.pieces).toEqual(["one", "two", "three", "four", "five"]);
  });
});
