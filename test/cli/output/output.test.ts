import { describe, expect, it } from "vitest";
import { emit, painter, table } from "../../../src/cli/output/output.ts";

import { cut, displayWidth } from "../../../src/cli/output/width.ts";

const plain = painter({ write: () => {} }, {});

describe("table", () => {
  it("aligns by what is seen: wide characters take two columns, combining ones none", () => {
    const rows = [
      [{ text: "数字" }, { text: "x" }],
      [{ text: "e\u0301" }, { text: "y" }],
    ];
    expect(table(rows, plain, undefined)).toBe("数字  x\ne\u0301     y");
  });

  it("aligns coloured cells as plain ones", () => {
    const paint = painter({ write: () => {}, isTTY: true }, {});
    const rows = [
      [{ text: "ab", style: "red" as const }, { text: "1" }],
      [{ text: "abcd" }, { text: "2" }],
    ];
    expect(table(rows, paint, undefined)).toBe("\u001b[31mab\u001b[39m    1\nabcd  2");
  });

  it("sanitises what a peer wrote before it measures it", () => {
    expect(
      table(
        [
          [{ text: "\u001b[2J" }, { text: "x" }],
          [{ text: "a" }, { text: "y" }],
        ],
        plain,
        undefined,
      ),
    ).toBe("\\x1b[2J  x\na        y");
  });

  it("cuts the last column to the terminal, and nothing in a pipe", () => {
    const rows = [[{ text: "id" }, { text: "a subject that goes on and on" }]];
    expect(displayWidth(table(rows, plain, 24))).toBe(24);
    expect(table(rows, plain, undefined)).toContain("on and on");
  });
});

describe("cut", () => {
  it("never splits a wide character", () => {
    expect(cut("数字数字", 6)).toBe("数字…");
    expect(cut("abc", 3)).toBe("abc");
  });
});

describe("painter", () => {
  const terminal = { write: () => {}, isTTY: true };
  it.each([
    ["a terminal", terminal, {}, true],
    ["a pipe", { write: () => {} }, {}, false],
    ["NO_COLOR", terminal, { NO_COLOR: "1" }, false],
    ["an empty NO_COLOR", terminal, { NO_COLOR: "" }, true],
    ["a dumb terminal", terminal, { TERM: "dumb" }, false],
    ["FORCE_COLOR in a pipe", { write: () => {} }, { FORCE_COLOR: "1" }, true],
  ])("respects %s", (_what, screen, env, coloured) => {
    expect(painter(screen, env)("red", "x") !== "x").toBe(coloured);
  });
});

describe("emit", () => {
  it("prints one line of JSON, or the words for people", () => {
    const written: string[] = [];
    const cli = { stdout: { write: (text: string) => written.push(text) }, env: {} };
    emit(cli, { json: true }, { a: [1, "\u009b"] }, () => "people");
    emit(cli, {}, { a: 1 }, () => "people");
    emit(cli, {}, { a: 1 }, () => "");
    expect(written).toEqual(['{"a":[1,"\\u009b"]}\n', "people\n"]);
  });
});
