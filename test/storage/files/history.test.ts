import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { compareHistory, type FoundLine } from "../../../src/storage/files/history.ts";

// A letter is a line. Small ones are chained, and the alphabet is the order of their chain; capital
// ones are not. A dot is a hole.

function lines(text: string): { found: FoundLine[]; holes: number[] } {
  const found: FoundLine[] = [];
  const holes: number[] = [];
  for (const [at, id] of [...text].entries()) {
    const seq = id >= "a" ? id.charCodeAt(0) - 96 : undefined;
    if (id === ".") holes.push(found.length);
    else found.push({ id, seq, end: at + 1, line: at + 1 });
  }
  return { found, holes };
}

function compare(known: string, text: string) {
  const { found, holes } = lines(text);
  return compareHistory([...known], found, holes);
}

describe("how a log relates to what was taken in from it", () => {
  it.each([
    ["abc", "abc", "same"],
    ["abc", "abcde", "same"],
    ["", "abc", "same"],
    ["", "cab", "same"],
    // A copy of a line, wherever it stands.
    ["abc", "aabcb", "same"],
    ["abc", "cabc", "same"],
    // Lines that were never in the chain, or are older than what we know.
    ["abc", "Xabc", "same"],
    ["ac", "abc", "same"],
    // Taken in when the middle was missing; the author's own order, too.
    ["acb", "acb", "same"],
    ["acb", "abc", "same"],
    ["aXc", "aXc", "same"],
    ["abc", "ab", "behind"],
    ["abc", "", "behind"],
    ["abc", "aab", "behind"],
    ["abc", "ac", "behind"],
    ["abc", "ca", "behind"],
    ["abc", "bca", "reordered"],
    ["abc", "acb", "reordered"],
    ["abc", "acbd", "reordered"],
    // What comes next stands before what we know.
    ["abc", "abdc", "reordered"],
    ["AB", "BA", "reordered"],
    ["abc", "abx", "rewritten"],
    ["abc", "abX", "rewritten"],
    ["abc", "x", "rewritten"],
    ["abc", "bad", "rewritten"],
    // A hole that a power cut left: what stands behind it does not count yet.
    ["abc", "ab.d", "behind"],
    ["abc", "a.cd", "behind"],
    ["abc", "axb.", "rewritten"],
  ])("knew %j, found %j: %s", (known, text, verdict) => {
    expect(compare(known, text).verdict).toBe(verdict);
  });

  it("names a line that is missing, and another one that is not known", () => {
    expect(compare("abc", "cxy")).toMatchObject({ missing: "a", other: "x" });
    expect(compare("abc", "cba")).toMatchObject({ missing: undefined, other: undefined });
  });

  it("says where the last known line ends, copies behind it left out", () => {
    expect(compare("abc", "abcdb").inOrder.at(-1)?.end).toBe(3);
    expect(compare("acb", "abcd").inOrder.at(-1)?.end).toBe(3);
  });
});

test("whatever order a chain is shown in, the order it had is the same, and no other is rewritten", () => {
  const chain = "abcdefgh".split("");
  const orders = fc.shuffledSubarray(chain, { minLength: chain.length });
  fc.assert(
    fc.property(fc.nat(chain.length), orders, (known, shown) => {
      const text = shown.join("");
      const { verdict } = compare(chain.slice(0, known).join(""), text);
      const isUntouched = text.startsWith(chain.slice(0, known).join(""));
      expect(verdict).toBe(isUntouched ? "same" : "reordered");
      const part = shown.slice(0, known - 1).filter((id) => chain.indexOf(id) < known);
      if (known > 1)
        expect(compare(chain.slice(0, known).join(""), part.join("")).verdict).toBe("behind");
    }),
  );
});
