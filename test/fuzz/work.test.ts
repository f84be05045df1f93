import { Buffer } from "node:buffer";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginWorkCount } from "../support/work-count.ts";

// Spec 2.4 and our promise 11: what a peer writes costs us no more than its length. Counted in blocks
// of code that ran, and not in milliseconds, so that every machine says the same.

const SEED = Number(process.env["DEADDROP_FUZZ_SEED"] ?? 20261121);
const LINES = 400;
/** What any line costs, and what each of its bytes does. */
const BLOCKS_A_LINE = 10_000;
const BLOCKS_A_BYTE = 40;

type Counter = Awaited<ReturnType<typeof beginWorkCount>>;
let counter: Counter;
let admit: (line: Uint8Array, at?: number) => unknown;
let lineOf: (number: number) => { readonly line: Uint8Array; readonly origin: string };

beforeAll(async () => {
  counter = await beginWorkCount((url) => url.includes("/src/"));
  const { mutant } = await import("./mutants.ts");
  const { productJudge } = await import("./hunt.ts");
  const { SITUATIONS } = await import("./situations.ts");
  const [situation] = SITUATIONS;
  if (situation === undefined) throw new Error("no situation");
  admit = (line, at) =>
    productJudge(line, at === undefined ? situation : mutant(SEED, at).situation);
  lineOf = (number) => mutant(SEED, number);
});
afterAll(() => counter.end());

const allowed = (line: Uint8Array): number => BLOCKS_A_LINE + BLOCKS_A_BYTE * line.length;

test(`${LINES} mutated lines cost no more than their length`, async () => {
  let most = 0;
  for (let number = 0; number < LINES; number += 1) {
    const { line, origin } = lineOf(number);
    const blocks = await counter.during(() => admit(line, number));
    most = Math.max(most, blocks / allowed(line));
    expect(blocks, `line ${number}, from ${origin}`).toBeLessThan(allowed(line));
  }
  console.log(`the costliest line took ${(100 * most).toFixed(0)} % of what is allowed`);
  expect(most).toBeGreaterThan(0);
});

const MANY = 60_000;
const worst: readonly (readonly [what: string, text: string])[] = [
  ["deep nesting", "[".repeat(MANY)],
  ["many keys", `{${Array.from({ length: MANY }, (_, at) => `"k${at}":0`).join(",")}}`],
  ["the same key again", `{${'"k":0,'.repeat(MANY)}"k":0}`],
  ["a long number", `{"n":${"9".repeat(MANY * 10)}}`],
  ["escapes", `{"s":"${"\\ud83d\\ude00".repeat(MANY)}"}`],
  ["a string that never ends", `{"s":"${"x".repeat(MANY * 10)}`],
  ["many refs", `{"refs":[${'"x",'.repeat(MANY)}"x"]}`],
];

test.each(worst)("%s: no more than its length", async (_what, text) => {
  const line = Buffer.from(text);
  const blocks = await counter.during(() => admit(line));
  expect(blocks).toBeLessThan(allowed(line));
});

test("twice the work is seen as twice the work", async () => {
  const line = Buffer.from(`{"s":"${"x".repeat(10_000)}"}`);
  const once = await counter.during(() => admit(line));
  const twice = await counter.during(() => {
    admit(line);
    admit(line);
  });
  expect(once).toBeGreaterThan(1_000);
  expect(twice / once).toBeGreaterThan(1.5);
});
