import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// A test that is slow is not wrong. What a machine does in a time is printed or measured in bench/;
// a test counts work, or waits for a condition under the limits of test/support/hang-guard.ts.

interface Habit {
  readonly what: string;
  readonly found: RegExp;
}

const HABITS: readonly Habit[] = [
  { what: "a limit of its own for one test", found: /^\s*\}, [0-9][0-9_]*\);$/m },
  { what: "a limit of its own for one test", found: /^\s*\},\n\s*[0-9][0-9_]{3,},\n\s*\);$/m },
  { what: "a limit of its own for one test", found: /\{ timeout: [0-9]/ },
  {
    what: "an assertion about elapsed time",
    found: /expect\([^;]*(?:performance\.now|Date\.now)\(\) -/,
  },
  {
    what: "an assertion about elapsed time",
    found: /expect\(\w*(?:took|elapsed)\w*\)\s*\.to(?:Be)?(?:Less|Greater)/i,
  },
  { what: "an assertion about milliseconds", found: /expect\(\w*(?:worst|most|latency)\w*Ms\)/ },
  {
    what: "a condition with a limit of its own",
    found: /await until\((?:[^;]*?), [0-9][0-9_]*\);/,
  },
];

const files = readdirSync("test", { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".test.ts") && !name.includes("machine-speed"),
);

test("no test measures the machine", () => {
  const found = files.flatMap((name) => {
    const text = readFileSync(join("test", name), "utf8");
    return HABITS.filter((habit) => habit.found.test(text)).map(({ what }) => `${name}: ${what}`);
  });
  expect(found).toEqual([]);
  expect(files.length).toBeGreaterThan(200);
});

test.each([
  ["}, 60_000);"],
  ["  },\n  60_000,\n);"],
  ["}, { timeout: 5_000 }, () => 1);".replace("}, ", "")],
  ["expect(performance.now() - began).toBeLessThan(1_000);"],
  ["expect(Math.abs(Date.now() - at)).toBeLessThan(1_000);"],
  ["expect(tookMs).toBeLessThan(1_000);"],
  ["expect(worstMs).toBeLessThan(50);"],
  ['await until("it runs", () => true, 5_000);'],
])("such a one is found: %s", (line) => {
  expect(HABITS.some(({ found }) => found.test(line))).toBe(true);
});
