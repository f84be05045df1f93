import { expect, test } from "vitest";
import { runSeed } from "./run-seed.ts";

/** Runs that once broke a promise, and a few more. */
test.each([1, 24, 66])("run %i keeps every promise", async (seed) => {
  expect(await runSeed({ seed, steps: 100 })).toMatchObject({ ok: true });
});
