import { describe, expect, test } from "vitest";
import { matchesPath, patternsOverlap } from "../../src/protocol/path-match.ts";
import { ownersNeeded } from "../../src/protocol/required.ts";
import { fromPlain } from "../../src/wire/json.ts";
import { OutcomeScript } from "../support/outcome-script.ts";

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
    ["docs/a", "docs/*", false],
    ["**", "", false],
  ])("%s and %s: %s", (pattern, path, matches) => {
    expect(matchesPath(pattern, path)).toBe(matches);
  });

  test.each([
    ["src/api/**", "src/**/user.ts", true],
    ["src/api/**", "src/db/*", false],
    ["src/*/a.ts", "src/x*/?.ts", true],
    ["a*", "*b", true],
    ["**", "anything/at/all", true],
    ["a/**/c", "a/c", true],
  ])("%s and %s overlap: %s", (a, b, overlap) => {
    expect(patternsOverlap(a, b)).toBe(overlap);
    expect(patternsOverlap(b, a)).toBe(overlap);
  });

  test("nothing to blow up", () => {
    const pattern = "a*".repeat(500);
    const started = performance.now();
    expect(matchesPath(pattern, `${"a".repeat(1_000)}b/c`)).toBe(false);
    expect(patternsOverlap("**/a/".repeat(12), "**/b/".repeat(12))).toBe(true);
    expect(matchesPath("x".repeat(2_000), "x".repeat(2_000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe("body.required", () => {
  test.each([
    ["needs=a,b", "body.required names the proposer"],
    ["needs=", "body.required is empty"],
    ["needs=x", "body.required names an agent outside the roster"],
    ["", "body.required is missing; among more than two agents a proposal names whom it needs"],
    ["needs=b plain", "an unchained proposal can be ratified in a pair only"],
  ])("%s among three: %s", (needs, problem) => {
    const script = new OutcomeScript("outbox", ["a", "b", "c"], [`a proposes P ${needs}`.trim()]);
    const [proposal] = script.fold("a").proposals.proposals.values();
    expect(proposal?.problem).toBe(problem);
  });

  test.each([
    ["needs=b,c", "body.required names several agents; that needs layout outbox"],
    ["needs=c", "body.required names an agent that does not read this log"],
  ])("%s in pairs: %s", (needs, problem) => {
    const script = new OutcomeScript("pairwise", ["a", "b", "c"], [`a proposes P ${needs}`]);
    const [proposal] = script.fold("a").proposals.proposals.values();
    expect(proposal?.problem).toBe(problem);
  });
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
