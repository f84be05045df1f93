import { describe, expect, it, test } from "vitest";
import { quote, sanitise } from "../../src/wire/quote.ts";

describe("the text of strangers in an error", () => {
  it("is spelled as JSON, in printable ASCII", () => {
    expect(quote('a "b" \\')).toBe('"a \\"b\\" \\\\"');
    expect(quote("\u001b[2J\n")).toBe('"\\u001b[2J\\n"');
    expect(quote("é\u007f\u202e😀")).toBe('"\\u00e9\\u007f\\u202e\\ud83d\\ude00"');
  });

  it("is cut after 64 characters, or as many as are asked for", () => {
    expect(quote("x".repeat(64))).toBe(`"${"x".repeat(64)}"`);
    expect(quote("x".repeat(65))).toBe(`"${"x".repeat(64)}…"`);
    expect(quote("x".repeat(65), 128)).toBe(`"${"x".repeat(65)}"`);
    expect(quote("abcd", 3)).toBe('"abc…"');
  });
});

describe("peers' text on one line", () => {
  test.each([
    ["plain, żółć, 漢字, 👩", "plain, żółć, 漢字, 👩"],
    ["a\nb\rc\td", "a\\nb\\rc\\td"],
    ["\u0007\u001b[2J\u007f", "\\x07\\x1b[2J\\x7f"],
    ["\u009b\u00ad", "\\x9b\\xad"],
    ["\u0600\u202e\ufeff", "\\u0600\\u202e\\ufeff"],
    ["\u{e0041}", "\\u{e0041}"],
    ["\ud800", "\\ud800"],
    ["a\u200cb\u200dc", "a\u200cb\u200dc"],
  ])("%j is shown as %j", (text, shown) => {
    expect(sanitise(text)).toBe(shown);
  });
});
