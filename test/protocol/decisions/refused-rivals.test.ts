import { describe, expect, test } from "vitest";
import { OutcomeScript, outcomesInAnyOrder } from "../../support/scripts/outcome-script.ts";

/** The same talk with other ids, so that either of the two proposals has the lower one. */
const NAMES = ["1", "2", "3", "4", "5", "6", "7", "8"];

/** For each name: whether P has the lower id, and the outcomes, which every order of reading gives. */
function played(stepsOf: (own: string, theirs: string) => string[]) {
  return NAMES.map((name) => {
    const steps = stepsOf(`P${name}`, `Q${name}`);
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const found = outcomesInAnyOrder(steps).map((all) => all.map((each) => each.replace(name, "")));
    expect(new Set(found.map((all) => all.join())).size).toBe(1);
    return { isLower: script.idOf(`P${name}`) < script.idOf(`Q${name}`), outcomes: found[0] };
  });
}

function expectBoth(
  talks: ReturnType<typeof played>,
  expected: { readonly lower: string[]; readonly higher: string[] },
): void {
  expect(new Set(talks.map(({ isLower }) => isLower)).size).toBe(2);
  for (const { isLower, outcomes } of talks) {
    expect(outcomes).toEqual(isLower ? expected.lower : expected.higher);
  }
}

/** Spec 3.4, docs/decisions/023: a refusal takes no effect from what its author says itself. */
describe("proposals that cross, with the other's named as refused", () => {
  test("named before the ack: the ack withdraws its author's own, so one is ratified", () => {
    const talks = played((own, theirs) => [
      `a proposes ${own}`,
      `b proposes ${theirs}`,
      "a beats refuses=b:1",
      `a agrees ${theirs}`,
      `b agrees ${own}`,
      "a beats",
      "b beats",
    ]);
    expectBoth(talks, {
      lower: ["P ratified by a:4", "Q withdrawn by b:2"],
      higher: ["P withdrawn by a:3", "Q ratified by b:3"],
    });
  });

  test("named by the beat after it, the same", () => {
    const talks = played((own, theirs) => [
      `a proposes ${own}`,
      `b proposes ${theirs}`,
      `a agrees ${theirs}`,
      `b agrees ${own}`,
      "a beats refuses=b:1",
      "b beats",
    ]);
    expectBoth(talks, {
      lower: ["P ratified by a:3", "Q withdrawn by b:2"],
      higher: ["P withdrawn by a:2", "Q ratified by b:3"],
    });
  });

  test("one of them unchained: its ack ratifies it and withdraws the other", () => {
    const talks = played((own, theirs) => [
      `a proposes ${own}`,
      `b proposes ${theirs} plain`,
      "a beats refuses=b:1",
      `a agrees ${theirs}`,
      `b acks ${own} plain`,
      "a beats",
    ]);
    const either = ["P withdrawn by a:3", "Q ratified by a:3"];
    expectBoth(talks, { lower: either, higher: either });
  });

  test("or the beat that ratifies its author's own withdraws it", () => {
    const talks = played((own, theirs) => [
      `a proposes ${own}`,
      `b proposes ${theirs} plain`,
      `b acks ${own} plain`,
      "a beats refuses=b:1",
      `a agrees ${theirs}`,
      "a beats",
    ]);
    const either = ["P ratified by a:2", "Q withdrawn by a:2"];
    expectBoth(talks, { lower: either, higher: either });
  });

  test("a counter that its author acks moves the other's support, though it is named", () => {
    const talks = played((own, theirs) => [
      `a proposes ${own}`,
      `b agrees ${own}`,
      `b proposes ${theirs}`,
      `a agrees ${theirs}`,
      "a beats refuses=b:2",
      "b beats",
      "a beats",
    ]);
    expectBoth(talks, {
      lower: ["P open", "Q ratified by b:3"],
      higher: ["P withdrawn by a:2", "Q ratified by b:3"],
    });
  });

  test("one that it rejects, or acks only later, moves nothing", () => {
    const rejected = played((own, theirs) => [
      `a proposes ${own}`,
      `b agrees ${own}`,
      `b proposes ${theirs}`,
      `a rejects ${theirs}`,
      "a beats refuses=b:2",
      "b beats",
    ]);
    const both = ["P ratified by a:3", "Q rejected by b:3"];
    expectBoth(rejected, { lower: both, higher: both });
    const later = played((own, theirs) => [
      `a proposes ${own}`,
      `b agrees ${own}`,
      `b proposes ${theirs}`,
      "a beats refuses=b:2",
      `a agrees ${theirs}`,
    ]);
    const first = ["P ratified by a:2", "Q open"];
    expectBoth(later, { lower: first, higher: first });
  });
});
