import { describe, expect, it } from "vitest";
import { quote } from "../../src/wire/quote.ts";

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
