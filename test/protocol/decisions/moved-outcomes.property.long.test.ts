import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { amount } from "../../support/amounts.ts";
import { ACTS, HonestPair, type Act } from "../../support/scripts/honest-pair.ts";
import { arbitraryTalk, interleave, scriptOf } from "../../support/scripts/outcome-arbitraries.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    agent: fc.constantFrom("a" as const, "b" as const),
    act: fc.constantFrom(...ACTS, "read", "agree", "agree", "propose", "move"),
  }),
  { minLength: 8, maxLength: 30 },
);
const picks = fc.array(fc.nat(5), { minLength: 4, maxLength: 40 });
const ROSTER = ["a", "b"];

function played(all: readonly Act[]): HonestPair {
  const pair = new HonestPair({ a: true, b: true }, "moving");
  for (const act of all) pair.take(act);
  for (const agent of ["a", "b"] as const) pair.take({ agent, act: "move" });
  pair.end();
  return pair;
}

/** The same steps, with each agent moving before the step at its place. */
function withMoves(steps: readonly string[], places: readonly number[]): string[] {
  const moves = (at: number) => ROSTER.filter((_, index) => places[index] === at);
  const before = (at: number): string[] => moves(at).map((agent) => `${agent} moves`);
  // In an outbox a proposal to all has to name whom it needs.
  const named = (step: string): string =>
    step.replace(/^([ab]) proposes \S+/u, (all, who) => `${all} needs=${who === "a" ? "b" : "a"}`);
  return [...steps.flatMap((step, at) => [...before(at), named(step)]), ...before(steps.length)];
}

describe("two honest agents who move to their outboxes at any time", () => {
  test("never agree to two proposals of one thread that cross", () => {
    const talks = amount(80, 1_000);
    let ratified = 0;
    fc.assert(
      fc.property(acts, (all) => {
        const { script } = played(all);
        const decided = script.outcomes(script.fold("a")).filter((each) => / ratified/u.test(each));
        ratified += decided.length;
        expect(decided.length).toBeLessThan(2);
      }),
      { numRuns: talks },
    );
    // Of 80 talks about twelve decide something.
    expect(ratified).toBeGreaterThan(0);
  });

  test("tell the same outcomes, in whatever order the logs came, each outbox after its closed log", () => {
    fc.assert(
      fc.property(acts, picks, (all, mix) => {
        const { script } = played(all);
        const expected = script.outcomes(script.fold("a"));
        for (const viewer of ROSTER) {
          const mixed = interleave(script.events(viewer), mix, script.script.layout);
          expect(script.outcomes(script.fold(viewer, mixed))).toEqual(expected);
        }
      }),
      { numRuns: amount(60, 500) },
    );
  });

  test("leave no proposal open that does not say what it waits for", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const { script } = played(all);
        const state = script.fold("a");
        for (const view of proposalsView(state.proposals, state.logs, script.env("a"))) {
          if (view.status === "open") expect(view.waits_for).toMatch(/^an answer of /u);
        }
      }),
      { numRuns: amount(40, 300) },
    );
  });
});

describe("any talk of a pair that moves", () => {
  const talk = fc.record({ of: arbitraryTalk(ROSTER), places: fc.tuple(fc.nat(24), fc.nat(24)) });

  test("has outcomes that are a function of the logs, not of arrival or of the viewer", () => {
    fc.assert(
      fc.property(talk, ({ of: { steps, picks: mix, viewer }, places }) => {
        const said = withMoves(scriptOf(steps, ROSTER, false), places);
        const script = new OutcomeScript("moving", ROSTER, said);
        const expected = script.outcomes(script.fold("a"));
        const mixed = interleave(script.events(viewer), mix, script.script.layout);
        expect(script.outcomes(script.fold(viewer, mixed))).toEqual(expected);
      }),
      { numRuns: amount(80, 1_000) },
    );
  });

  test("keeps a proposal open whose party has named an older one in the closed log since", () => {
    const script = new OutcomeScript("moving", ROSTER, [
      "a proposes aP needs=b",
      "a moves",
      "b moves",
      "a proposes aR needs=b",
      "b acks aR",
      "b acks aP",
      "a beats",
    ]);
    const ends = script.outcomes(script.fold("a"));
    expect(ends.map((end) => end.split(" ").slice(0, 2).join(" "))).toEqual([
      "aP superseded",
      "aR open",
    ]);
  });

  test("does not take a line that its proposer adds to the outbox later for an older one", () => {
    const id = "ab".repeat(32);
    const script = new OutcomeScript("moving", ROSTER, [
      "a moves",
      "b moves",
      "a proposes aP needs=b",
      "b acks aP",
      `b agrees ${id}`,
      "a beats",
      "a asks aR",
      "a beats",
    ]);
    const own = script.events("a", ({ message }) =>
      message.subject === "asks aR" ? { message: { ...message, id } } : {},
    );
    const isOurs = ({ log }: { log: string }): boolean => log.startsWith("a");
    const orders = [
      own,
      [...own.filter((each) => isOurs(each)), ...own.filter((each) => !isOurs(each))],
      [...own.filter((each) => !isOurs(each)), ...own.filter((each) => isOurs(each))],
    ];
    for (const order of orders) {
      expect(script.outcomes(script.fold("a", order))).toEqual(["aP open"]);
    }
  });

  test("ends as it would have ended without the move, where one of them proposes", () => {
    let moved = 0;
    fc.assert(
      fc.property(talk, ({ of: { steps }, places }) => {
        const one = steps.map((step) =>
          step.verb === "proposes" || step.verb === "reverts" ? { ...step, agent: "a" } : step,
        );
        // A wire with agents that do not chain does not move, and only they ack without a name. Heads that
        // leave lines out would leave out others where the move adds its own lines.
        const all = one.map((step) => ({
          ...step,
          behind: 0,
          wrong: false,
          refuses: null,
          bare: false,
        }));
        const said = scriptOf(all, ROSTER, true).map((step) => withAllHeads(step));
        const ends = (kind: "pairwise" | "moving", lines: readonly string[]): string[] => {
          const script = new OutcomeScript(kind, ROSTER, lines);
          return script
            .outcomes(script.fold("a"))
            .map((end) => end.split(" ").slice(0, 2).join(" "));
        };
        const plain = ends("pairwise", said);
        // Who has not moved does not see the outbox of the other: both move at one place.
        const at = Math.min(...places, said.length);
        expect(ends("moving", withMoves(said, [at, at]))).toEqual(plain);
        if (plain.some((end) => end.endsWith("ratified"))) moved += 1;
      }),
      { numRuns: amount(80, 1_000) },
    );
    // Of 80 talks about twelve.
    expect(moved).toBeGreaterThan(0);
  });
});

function withAllHeads(step: string): string {
  return step.includes(" beats ") ? step.replace(/ [ab]=\d+/gu, "") : step;
}
