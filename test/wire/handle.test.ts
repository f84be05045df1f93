import { describe, expect, it } from "vitest";
import {
  agentName,
  didOf,
  handleFromDid,
  isHandle,
  rosterProblems,
} from "../../src/wire/handle.ts";

describe("handles", () => {
  it("are letters, digits, dots, underscores and hyphens", () => {
    for (const handle of ["a", "Forge", "0", "a.b_c-d", "a".repeat(128)]) {
      expect(isHandle(handle)).toBe(true);
    }
    for (const text of [
      "",
      ".a",
      "_a",
      "-a",
      "a/b",
      "a b",
      "ä",
      "a\n",
      "a:b",
      "..",
      "a".repeat(129),
    ]) {
      expect(isHandle(text)).toBe(false);
    }
  });

  it("may be spelled as a did", () => {
    expect(handleFromDid("did:wire:scribe")).toBe("scribe");
    expect(handleFromDid(didOf("scribe"))).toBe("scribe");
    expect(handleFromDid("scribe")).toBeUndefined();
    expect(handleFromDid("did:wire:")).toBeUndefined();
    expect(handleFromDid("did:wire:a/b")).toBeUndefined();
    expect(handleFromDid("did:wire:did:wire:a")).toBeUndefined();
    expect(agentName("scribe")).toBe("scribe");
    expect(agentName("did:wire:scribe")).toBe("scribe");
    expect(agentName("did:web:scribe")).toBeUndefined();
  });
});

describe("a roster", () => {
  for (const roster of [
    [],
    ["forge"],
    ["forge", "scribe"],
    ["a", "b", "c"],
    ["console", "nulls", "com", "com10"],
    ["falcon", "beacon.log"],
    ["a_to_b", "c_to_d"],
    // Nobody writes to oneself: "a_to_b" to "a_to_b" is no log.
    ["a_to_b", "a", "b_to_a_to_b"],
  ]) {
    it(`may be ${roster.join(", ") || "empty"}`, () => {
      expect(rosterProblems(roster)).toEqual([]);
    });
  }

  for (const [roster, problem] of [
    [["forge", "con"], 'roster[1]: "con" is a reserved name on Windows; choose another handle'],
    [["NUL"], 'roster[0]: "NUL" is a reserved name on Windows; choose another handle'],
    [["Lpt1.log"], 'roster[0]: "Lpt1.log" is a reserved name on Windows; choose another handle'],
    [["com0"], 'roster[0]: "com0" is a reserved name on Windows; choose another handle'],
    [["a", "a"], 'roster[1]: "a" is in the roster twice'],
    [
      ["forge", "Forge"],
      'roster[1]: "Forge" differs from "forge" only in case; choose another handle',
    ],
    [
      ["a b"],
      'roster[0]: "a b" is not a handle; use a letter or digit, then up to 127 letters, digits, ".", "_" or "-"',
    ],
    [
      ["\u001b[2J"],
      'roster[0]: "\\u001b[2J" is not a handle; use a letter or digit, then up to 127 letters, digits, ".", "_" or "-"',
    ],
    [
      ["a", "b_to_c", "a_to_b", "c"],
      'roster: "a" to "b_to_c" and "a_to_b" to "c" would share the file a_to_b_to_c.jsonl',
    ],
    [
      ["a", "B_to_c", "a_to_b", "C"],
      'roster: "a" to "B_to_c" and "a_to_b" to "C" would share the file a_to_b_to_c.jsonl',
    ],
    [
      Array.from({ length: 257 }, (_, i) => `a${i}`),
      "roster: 257 agents; at most 256 share a wire",
    ],
  ] as const) {
    it(`is refused: ${problem}`, () => {
      expect(rosterProblems(roster)).toEqual([problem]);
    });
  }

  it("may have 256 agents", () => {
    expect(rosterProblems(Array.from({ length: 256 }, (_, i) => `a${i}`))).toEqual([]);
  });

  it("names every fault", () => {
    expect(rosterProblems(["con", "a b", "x", "X"])).toHaveLength(3);
  });
});
