import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { safeJson, sanitise, sanitiseLines } from "../../../src/framing/sanitise.ts";

describe("sanitise", () => {
  it.each([
    ["a colour", "\u001b[31mred", "\\x1b[31mred"],
    ["a link (OSC 8)", "\u001b]8;;http://x\u0007here", "\\x1b]8;;http://x\\x07here"],
    ["the clipboard (OSC 52)", "\u001b]52;c;AAAA\u001b\\", "\\x1b]52;c;AAAA\\x1b\\"],
    ["an 8-bit CSI", "\u009b31m", "\\x9b31m"],
    ["a carriage return", "paid\rowed", "paid\\rowed"],
    ["a newline", "a\nb", "a\\nb"],
    ["backspace and DEL", "a\b\u007f", "a\\x08\\x7f"],
    ["a bidi override", "\u202etxt.exe", "\\u202etxt.exe"],
    ["bidi isolates", "\u2066x\u2069", "\\u2066x\\u2069"],
    ["line separators", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
    ["zero-width space and byte-order mark", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
    ["tag characters", "\u{e0041}", "\\u{e0041}"],
    ["a lone surrogate", "a\ud800b", "a\\ud800b"],
  ])("shows %s by its code", (_what, text, shown) => {
    expect(sanitise(text)).toBe(shown);
  });

  it("leaves words of any script alone", () => {
    const text = "naïve 数字 मानक नमस्ते क्‍ष 👩‍🚀 ελληνικά";
    expect(sanitise(text)).toBe(text);
  });

  it("lets nothing through that can steer a terminal", () => {
    const anything = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(anything, (text) => {
        for (const shown of [sanitise(text), ...sanitiseLines(text), safeJson(text)]) {
          expect(shown).not.toMatch(
            /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029]/,
          );
        }
      }),
    );
  });

  it("keeps the lines of a body, and only those", () => {
    expect(sanitiseLines("one\r\ntwo\n\tthree\rfour\u2028five")).toEqual([
      "one",
      "two",
      "    three\\rfour\\u2028five",
    ]);
  });
});

describe("safeJson", () => {
  it("is one line, safe on a terminal, and the same value", () => {
    const value = { a: "\u001b]52;c;x\u0007 \u009b \u202e \u2028 \u{e0041} \u007f", "\u0085": [1] };
    const text = safeJson(value);
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e\u2028\u{e0041}]/u);
    expect(JSON.parse(text)).toEqual(value);
  });

  it("gives any text back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(JSON.parse(safeJson({ text }))).toEqual({ text });
      }),
    );
  });
});
