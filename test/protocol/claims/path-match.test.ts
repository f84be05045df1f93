import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isProjectPattern,
  pathMatcher,
  patternCovers,
  patternIncludes,
  patternsOverlap,
} from "../../../src/protocol/claims/path-match.ts";

const name = fc.stringMatching(/^[ab]{1,3}$/u);
const namePattern = fc.stringMatching(/^[ab*?]{1,4}$/u);
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
const pattern = fc
  .array(fc.oneof(namePattern, fc.constant("**")), { minLength: 1, maxLength: 4 })
  .map((names) => names.join("/"));

/** By the engine of regular expressions. */
function slowly(of: string): RegExp {
  const names = of.split("/").map((each) => {
    if (each === "**") return "(?:[^/]+/)*";
    const text = each.replaceAll("**", "*").replaceAll("*", "[^/]*").replaceAll("?", "[^/]");
    return `${text}/`;
  });
  const below = /[*?]/u.test(of.split("/").at(-1) ?? "") ? "" : ".*";
  return new RegExp(`^${names.join("")}${below}$`, "u");
}

describe("which paths a pattern matches", () => {
  test.each([
    ["src/**", "src/a/b.ts", true],
    ["src/**", "src", true],
    ["src/", "src/a.ts", true],
    ["src/*", "src/a/b.ts", false],
    ["src/*.ts", "src/a.ts", true],
    ["**/x.ts", "x.ts", true],
    ["src/?.ts", "src/ab.ts", false],
    ["src/a.ts", "src/a.tsx", false],
    ["src/web", "src/web/a/b.ts", true],
    ["src/*/web", "src/x/web/a.ts", true],
    ["src/web", "src/website", false],
    ["src/web/a.ts", "src/web", false],
  ])("%s and %s: %s", (one, other, is) => {
    expect(patternCovers(one, other)).toBe(is);
  });

  test("as an independent matcher says, one by one and many at once", () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 3 }), path, (patterns, each) => {
        const is = patterns.some((one) => slowly(one).test(`${each}/`));
        expect(patterns.some((one) => patternCovers(one, each))).toBe(is);
        expect(pathMatcher(patterns)(each)).toBe(is);
      }),
    );
  });

  test.each([
    ["*", "**", false],
    ["src/*", "src/**", false],
    ["**", "*", true],
    ["src/**", "src/a/**", true],
    ["**", "**", true],
    ["src/*", "src/web", false],
    ["src/web", "src/web", true],
    ["*", "a/*", false],
  ])("%s includes the pattern %s: %s", (one, other, is) => {
    expect(patternIncludes(one, other)).toBe(is);
  });

  test("a pattern that includes another one matches whatever that one does", () => {
    fc.assert(
      fc.property(pattern, pattern, path, (one, other, each) => {
        if (patternIncludes(one, other) && patternCovers(other, each)) {
          expect(patternCovers(one, each)).toBe(true);
        }
        // A plain name at the end may be a file: nothing is below it then.
        const areFolders = [one, other].every((pattern) => /[*?][^/]*$/u.test(pattern));
        if (areFolders && patternCovers(one, each) && patternCovers(other, each)) {
          expect(patternsOverlap(one, other)).toBe(true);
        }
      }),
    );
  });
});

test.each(["/etc/passwd", "../x", "a/../../b", "", "/", "a/../b"])(
  "%s is of no project",
  (each) => {
    expect(isProjectPattern(each)).toBe(false);
  },
);

test.each(["src/**", "a.b/c..d", "**", "./x"])("%s is of the project", (each) => {
  expect(isProjectPattern(each)).toBe(true);
});
