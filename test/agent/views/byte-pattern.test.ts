import fc from "fast-check";
import { expect, it } from "vitest";
import { patternFor } from "../../../src/agent/views/byte-pattern.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "A", "b", "B", "@", "`", "[") });

it("finds what a case-insensitive pattern finds, from any place", () => {
  fc.assert(
    fc.property(letters, letters, fc.nat(12), (text, needle, from) => {
      fc.pre(needle.length > 0 && !needle.includes("["));
      const escaped = needle.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const oracle = new RegExp(escaped, "gi");
      oracle.lastIndex = from;
      const bytes = Buffer.from(text, "latin1");
      const found = patternFor(needle.toLowerCase()).firstIn(bytes, from);
      expect(found).toBe(oracle.exec(text)?.index ?? -1);
    }),
    { numRuns: 2_000 },
  );
});

it("of a text that JSON may escape it finds the longest part that JSON writes as it is", () => {
  const bytes = Buffer.from(JSON.stringify({ text: 'un "héron" gris\u2028' }));
  expect(patternFor('ron" gris').firstIn(bytes, 0)).toBe(bytes.indexOf("gris"));
});

it("without such a part it finds each byte that may be it: an escape, or beyond ASCII", () => {
  const bytes = Buffer.from(JSON.stringify(["plain", 'a"b', "é"]));
  const { firstIn } = patternFor('"é"');
  const escape = bytes.indexOf("\\");
  expect(firstIn(bytes, 0)).toBe(escape);
  expect(firstIn(bytes, escape + 1)).toBe(bytes.indexOf("é"));
  expect(firstIn(bytes, bytes.indexOf("é") + 2)).toBe(-1);
});

it("of no text it finds every byte there is", () => {
  const { firstIn } = patternFor("");
  expect([0, 2, 3].map((from) => firstIn(Buffer.from("abc"), from))).toEqual([0, 2, -1]);
});
