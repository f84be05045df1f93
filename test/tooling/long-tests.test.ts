import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { SAMPLED_FILES } from "../../vitest.long.config.ts";

const AMOUNTS = "test/support/amounts.ts";

const reaching = new Map<string, boolean>();

/** Whether a module of the tests asks how much it has to try, itself or through what it imports. */
function asksForAmounts(path: string): boolean {
  if (path === AMOUNTS) return true;
  const known = reaching.get(path);
  if (known !== undefined) return known;
  reaching.set(path, false);
  const imports = readFileSync(path, "utf8").matchAll(/ from "(\.[^"]+)"/g);
  const paths = [...imports].map(([, target = ""]) => join(dirname(path), target));
  const asks = paths
    .filter((each) => each.startsWith("test/") && existsSync(each))
    .some((each) => asksForAmounts(each));
  reaching.set(path, asks);
  return asks;
}

const files = readdirSync("test", { recursive: true, encoding: "utf8" })
  .map((name) => join("test", name))
  .filter((path) => path.endsWith(".test.ts") && !path.endsWith(".long.test.ts"));

/** The files that a pattern of the configuration names; it knows no more than one star. */
function named(pattern: string): string[] {
  const [before = "", after = ""] = pattern.split("*");
  return pattern.includes("*")
    ? files.filter((path) => path.startsWith(before) && path.endsWith(after))
    : files.filter((path) => path === pattern);
}

test("what npm test tries a sample of is tried whole by npm run test:long", () => {
  const sampled = files.filter((path) => asksForAmounts(path));
  const whole = new Set(SAMPLED_FILES.flatMap((pattern) => named(pattern)));
  expect(sampled.filter((path) => !whole.has(path))).toEqual([]);
  expect(sampled.length).toBeGreaterThan(10);
});

test.each(SAMPLED_FILES)("%s is there", (pattern) => {
  expect(named(pattern)).not.toEqual([]);
});
