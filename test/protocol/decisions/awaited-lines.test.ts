import { describe, expect, test } from "vitest";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";

const AGENTS = ["a", "b", "c"];

/** What b says of that proposal while it takes no line from c. */
function withoutC(steps: readonly string[], name = "P") {
  const script = new OutcomeScript("outbox", AGENTS, steps);
  const state = script.fold(
    "b",
    script.events("b").filter(({ log }) => log !== "c"),
  );
  const id = script.idOf(name);
  const views = proposalsView(state.proposals, state.logs, script.env("b"));
  const view = views.find(({ proposal_id: each }) => each === id);
  const complete = script.outcomes(script.fold("b"), "b");
  return { script, view, complete };
}

describe("a reader that takes nothing from an agent that is not asked", () => {
  /** The same talk with other ids: `a` acks a proposal of `c`, and takes its own back. */
  const talks = ["1", "2", "3", "4", "5", "6", "7", "8"].map((name) => {
    const own = `P${name}`;
    const talk = withoutC(
      [
        "c proposes R needs=b",
        `a proposes ${own} needs=b`,
        "a agrees R",
        "a beats",
        `a reverts ${own}`,
      ],
      own,
    );
    return { ...talk, own, isHigher: talk.script.idOf("R") > talk.script.idOf(own) };
  });

  test("does not need it where an ack can only withdraw by ratifying what it names", () => {
    const found = talks.filter(({ isHigher }) => isHigher);
    expect(found.length).toBeGreaterThan(0);
    for (const { own, view, complete } of found) {
      expect(complete).toContain(`${own} reverted by a:4`);
      expect(view).toMatchObject({ status: "reverted", waits_for: null });
    }
  });

  test("waits where the ack may name a proposal with a lower id, and says so", () => {
    const found = talks.filter(({ isHigher }) => !isHigher);
    expect(found.length).toBeGreaterThan(0);
    for (const { own, view, complete } of found) {
      expect(complete).toContain(`${own} withdrawn by a:2`);
      expect(view).toMatchObject({
        status: "open",
        waits_for: "lines of c up to 1, which heads in a count",
      });
    }
  });

  test("does not say that it waits for those lines when nothing depends on them", () => {
    const { view } = withoutC(["c asks X", "a proposes P needs=b", "a beats"]);
    expect(view).toMatchObject({ status: "open", waits_for: "an answer of b" });
    const { view: acked } = withoutC(["a proposes P needs=b", "c asks X", "a beats", "b acks P"]);
    expect(acked).toMatchObject({ status: "open", waits_for: "the next heartbeat of a" });
  });

  test("nor when the ack names what it holds", () => {
    const { view } = withoutC([
      "b proposes Q needs=a",
      "c asks X",
      "b asks S",
      "a proposes P needs=b",
      "a agrees S",
      "a beats",
    ]);
    expect(view).toMatchObject({ status: "open", waits_for: "an answer of b" });
  });
});
