import { describe, expect, test } from "vitest";
import { patternsOverlap } from "../../../src/protocol/decisions/path-match.ts";
import {
  ownersNeeded,
  requiredOf,
  touchedDomains,
} from "../../../src/protocol/decisions/required-parties.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON, WireScript } from "../../support/scripts/wire-script.ts";

/** 1,024 characters in 32 names. */
const LONGEST = `${`${"x".repeat(31)}/`.repeat(31)}${"x".repeat(32)}`;

describe("paths", () => {
  test.each([
    ["docs/**", "docs/a/b.md", true],
    ["docs/**", "docs", true],
    ["docs/**", "docsy/a.md", false],
    ["docs/*.md", "docs/a.md", true],
    ["docs/*.md", "docs/a/b.md", false],
    ["**/test/?.ts", "src/x/test/a.ts", true],
    ["**/test/?.ts", "test/ab.ts", false],
    ["docs/", "docs/a", true],
    ["./docs/**", "docs/../docs/a", true],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "a-b-d", false],
    ["docs/*", "docs/*", true],
    ["docs/a", "docs/*", true],
    ["**", "", false],
  ])("%s and %s: %s", (pattern, path, matches) => {
    expect(patternsOverlap(pattern, path)).toBe(matches);
  });

  test.each([
    ["src/api/**", "src/**/user.ts", true],
    ["src/api/**", "src/db/*", false],
    ["src/*/a.ts", "src/x*/?.ts", true],
    ["a*", "*b", true],
    ["**", "anything/at/all", true],
    ["a/**/c", "a/c", true],
    ["src/web", "src/web/a/*.ts", true],
    ["src/web", "src/**/web/a.ts", true],
    ["src/web", "src/webs/a.ts", false],
    ["src/a.ts", "**/*.test.ts", false],
    ["src/*", "src/web/a.ts", false],
  ])("%s and %s overlap: %s", (a, b, overlap) => {
    expect(patternsOverlap(a, b)).toBe(overlap);
    expect(patternsOverlap(b, a)).toBe(overlap);
  });

  const words = (letters: readonly string[], length: number): string[][] =>
    length === 0
      ? [[]]
      : words(letters, length - 1).flatMap((word) =>
          word.length < length - 1 ? [word] : [word, ...letters.map((each) => [...word, each])],
        );

  /** Word for word what overlapping means, with all the backtracking. */
  function slowOverlap(a: readonly string[], b: readonly string[], any: string): boolean {
    const [x, ...restA] = a;
    const [y, ...restB] = b;
    if (x === any)
      return slowOverlap(restA, b, any) || (y !== undefined && slowOverlap(a, restB, any));
    if (y === any)
      return slowOverlap(a, restB, any) || (x !== undefined && slowOverlap(restA, b, any));
    if (x === undefined || y === undefined) return x === y;
    return (x === y || x === "?" || y === "?") && slowOverlap(restA, restB, any);
  }

  /** And what is below a plain name at the end, where the other pattern spells that name. */
  function slowMeet(a: readonly string[], b: readonly string[], any: string): boolean {
    const isBelow = (one: readonly string[], other: readonly string[]) =>
      any === "**" &&
      one.at(-1) !== any &&
      other.some(
        (name, at) =>
          at < other.length - 1 &&
          name === one.at(-1) &&
          slowOverlap(one, other.slice(0, at + 1), any),
      );
    return slowOverlap(a, b, any) || isBelow(a, b) || isBelow(b, a);
  }

  test("all short patterns overlap as slow matching says", () => {
    for (const [letters, any, between, length] of [
      [["a", "b", "**"], "**", "/", 3],
      [["a", "b", "*", "?"], "*", "", 2],
    ] as const) {
      const all = words(letters, length).filter((word) => word.length > 0);
      const isFolders = (word: readonly string[]) => any === "*" && /^\*\*+$/u.test(word.join(""));
      for (const a of all) {
        for (const b of all) {
          if (isFolders(a) || isFolders(b)) continue;
          const found = patternsOverlap(a.join(between), b.join(between));
          if (found !== slowMeet(a, b, any)) expect([a, b, found]).toEqual("the other");
        }
      }
    }
  });

  test.each([
    ["a/../b", "b", true],
    ["../b", "b", true],
    ["a/..", "a", false],
    ["a//b", "a/./b", true],
    ["", "a", false],
    ["a", "", false],
    ["abc", "abd", false],
    [LONGEST, LONGEST, true],
    [`${LONGEST}x`, `${LONGEST}x`, false],
    ["a/".repeat(63) + "a", "a/".repeat(63) + "a", true],
    ["a/".repeat(64) + "a", "a/".repeat(64) + "a", false],
  ])("names, dots and lengths: %s and %s: %s", (pattern, path, expected) => {
    expect(patternsOverlap(pattern, path)).toBe(expected);
  });

  // A matcher that tries every way to split a path would take longer than the universe has.
  test("nothing to blow up", () => {
    const pattern = "a*".repeat(500);
    expect(patternsOverlap(pattern, `${"a".repeat(1_000)}b/c`)).toBe(false);
    expect(patternsOverlap("**/a/".repeat(12), "**/b/".repeat(12))).toBe(true);
    expect(patternsOverlap("x".repeat(2_000), "x".repeat(2_000))).toBe(false);
  });
});

describe("body.required", () => {
  test.each([
    ["needs=a,b", "body.required names the proposer"],
    ["needs=", "body.required is empty"],
    ["needs=x", 'body.required names "x", outside our roster'],
    ["", "body.required is missing; a proposal to more than one agent names whom it needs"],
    ["needs=b,c plain", "an unchained proposal can ask one agent only"],
  ])("%s among three: %s", (needs, problem) => {
    const script = new OutcomeScript("outbox", ["a", "b", "c"], [`a proposes P ${needs}`.trim()]);
    const [proposal] = script.fold("a").proposals.proposals.values();
    expect(proposal?.problem).toBe(problem);
  });

  test.each([
    ["needs=b,c", "body.required names several agents; that needs layout outbox"],
    ["needs=c", "body.required names an agent that does not read this log"],
    ["needs=x", 'body.required names "x", outside our roster'],
  ])("%s in pairs: %s", (needs, problem) => {
    const script = new OutcomeScript("pairwise", ["a", "b", "c"], [`a proposes P ${needs}`]);
    const [proposal] = script.fold("a").proposals.proposals.values();
    expect(proposal?.problem).toBe(problem);
  });
});

describe("whom a proposal needs", () => {
  const required = (
    kind: "pairwise" | "outbox",
    roster: string[],
    body: object,
    to?: readonly string[],
  ) => {
    const script = new WireScript(kind, roster);
    const log = kind === "outbox" ? "a" : "a_to_b";
    const { message } = script.say(log, NOON, {
      type: "proposal",
      body,
      ...(to === undefined ? {} : { to }),
    });
    const at = script.layout.logs.get(log);
    if (at === undefined) throw new Error("no log");
    return requiredOf(message, at, script.layout);
  };

  const THREE = ["a", "b", "c"];
  const MISSING = "body.required is missing; a proposal to more than one agent names whom it needs";

  test.each<[string, "pairwise" | "outbox", object, readonly string[] | undefined, object]>([
    ["who reads the log", "pairwise", {}, undefined, { parties: ["b"] }],
    ["the one handle in `to`", "outbox", {}, ["b"], { parties: ["b"] }],
    ["nobody, when it is to two", "outbox", {}, ["b", "c"], { parties: [], problem: MISSING }],
    ["nobody, when it is to all", "outbox", {}, ["*"], { parties: [], problem: MISSING }],
    ["each once", "outbox", { required: ["c", "b", "c"] }, undefined, { parties: ["c", "b"] }],
    [
      "who is in `to`",
      "outbox",
      { required: ["b", "c"] },
      ["b"],
      { parties: [], problem: 'body.required names "c", to does not' },
    ],
    [
      "no list",
      "outbox",
      { required: "b" },
      undefined,
      { parties: [], problem: "body.required is not a list of handles" },
    ],
    [
      "no handle",
      "outbox",
      { required: [""] },
      undefined,
      { parties: [], problem: "body.required names what is no handle" },
    ],
    [
      "a stranger: whom our operator may accept yet",
      "outbox",
      { required: ["b", "x"] },
      undefined,
      { parties: [], problem: 'body.required names "x", outside our roster', awaitsRoster: true },
    ],
  ])("%s", (_name, kind, body, to, expected) => {
    const found = required(kind, THREE, body, to);
    expect(found).toEqual({ problem: undefined, awaitsRoster: false, ...expected });
  });

  test("is the same however many members the wire has later", () => {
    for (const roster of [["a", "b"], THREE]) {
      expect(required("outbox", roster, {}, ["b"]).parties).toEqual(["b"]);
      expect(required("outbox", roster, {}, ["*"]).parties).toEqual([]);
    }
  });
});

test("what a proposal touches is bounded: names of 128 characters, 64 of them, 256 paths", () => {
  const domains = new Map([["web", { owner: "c", paths: ["web/**"] }]]);
  const touched = (body: object) => touchedDomains(fromPlain(body), domains).names;
  expect(touched({ domains: ["x".repeat(128), "y".repeat(129)] })).toEqual(["x".repeat(128)]);
  const many = Array.from({ length: 65 }, (_, n) => `domain ${n}`);
  expect(touched({ domains: many })).toEqual(many.slice(0, 64));
  const paths = Array.from({ length: 256 }, (_, n) => `docs/${n}`);
  expect(touched({ paths: [...paths.slice(1), "web/a"] })).toEqual(["web"]);
  expect(touched({ paths: [...paths, "web/a"] })).toEqual([]);
});

test("a proposal needs the owners of what it touches", () => {
  const domains = new Map([
    ["training", { owner: "a", paths: ["models/**"] }],
    ["prose", { owner: "b", paths: ["docs/**", "*.md"] }],
    ["web", { owner: "c", paths: ["web/**"] }],
  ]);
  const needed = (body: unknown) => ownersNeeded(fromPlain(body), domains, "a");
  expect(needed({ domains: ["prose", "training"] })).toEqual(["b"]);
  expect(needed({ paths: ["README.md", "web/index.html"] })).toEqual(["b", "c"]);
  expect(needed({ paths: ["models/x"] })).toEqual([]);
  expect(needed("docs/a.md")).toEqual([]);
});
