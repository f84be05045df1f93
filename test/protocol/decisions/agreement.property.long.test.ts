import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { amount } from "../../support/amounts.ts";
import { ACTS, HonestPair, type Act } from "../../support/scripts/honest-pair.ts";
import { interleave } from "../../support/scripts/outcome-arbitraries.ts";

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    agent: fc.constantFrom("a" as const, "b" as const),
    act: fc.constantFrom(...ACTS, "read", "agree", "agree", "propose"),
  }),
  { minLength: 8, maxLength: 30 },
);

function played(chains: { a: boolean; b: boolean }, all: readonly Act[]): HonestPair {
  const pair = new HonestPair(chains);
  for (const act of all) pair.take(act);
  pair.end();
  return pair;
}

describe.each([
  { name: "both chain", chains: { a: true, b: true } },
  { name: "one chains", chains: { a: true, b: false } },
])("two honest agents, $name", ({ chains }) => {
  test("never agree to two proposals of one thread that cross", () => {
    const talks = amount(150, 1_000);
    let ratified = 0;
    fc.assert(
      fc.property(acts, (all) => {
        const { script } = played(chains, all);
        const decided = script.outcomes(script.fold("a")).filter((each) => / ratified/u.test(each));
        ratified += decided.length;
        expect(decided.length).toBeLessThan(2);
      }),
      { numRuns: talks },
    );
    // About one talk in four decides something.
    expect(ratified).toBeGreaterThan(0);
  });

  test("tell the same outcomes, in whatever order the lines came", () => {
    fc.assert(
      fc.property(acts, fc.array(fc.nat(5), { minLength: 4, maxLength: 40 }), (all, picks) => {
        const { script } = played(chains, all);
        const expected = script.outcomes(script.fold("a"));
        for (const viewer of ["a", "b"]) {
          const mixed = interleave(script.events(viewer), picks);
          expect(script.outcomes(script.fold(viewer, mixed))).toEqual(expected);
        }
      }),
      { numRuns: amount(40, 300) },
    );
  });

  test("leave no proposal open that does not say what it waits for", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const { script } = played(chains, all);
        const state = script.fold("a");
        for (const view of proposalsView(state.proposals, state.logs, script.env("a"))) {
          const silent = view.required.filter(
            (party) => ![view.proposal_id, "rejected"].includes(view.support[party] ?? ""),
          );
          if (view.status !== "open") expect(view.waits_for).toBeNull();
          // All has been read and covered: only an answer can be lacking.
          else expect(view.waits_for).toBe(`an answer of ${silent.join(", ")}`);
        }
      }),
      { numRuns: amount(40, 300) },
    );
  });
});
