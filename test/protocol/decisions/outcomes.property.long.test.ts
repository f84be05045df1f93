import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apply } from "../../../src/protocol/core.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import {
  AGENTS,
  arbitraryTalk,
  interleave,
  scriptOf,
} from "../../support/scripts/outcome-arbitraries.ts";
import { amount } from "../../support/amounts.ts";
import { foldedTwice } from "../../support/scripts/folded-twice.ts";
import { OutcomeScript, outcomesOf } from "../../support/scripts/outcome-script.ts";
import { slowOutcomes } from "./slow-outcomes.ts";

const decided = (script: OutcomeScript, state: State) =>
  script.outcomes(state).filter((outcome) => !/ (?:open|void)$/u.test(outcome));

describe.each([
  { agents: AGENTS.slice(0, 2), kind: "pairwise" as const },
  { agents: AGENTS, kind: "outbox" as const },
])("$kind", ({ agents, kind }) => {
  test("every way to end comes up among such talks", () => {
    const seen = new Set<string>();
    for (const { steps } of fc.sample(arbitraryTalk(agents), {
      numRuns: amount(150, 500),
      seed: 5,
    })) {
      const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
      for (const outcome of script.outcomes(script.fold("a")))
        seen.add(outcome.split(" ")[1] ?? "");
    }
    const ends = ["open", "ratified", "rejected", "reverted", "superseded", "withdrawn"];
    expect(ends.filter((end) => !seen.has(end))).toEqual([]);
  });

  test("outcomes are a function of the logs, not of arrival or of the viewer", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, false));
        const expected = script.outcomes(script.fold("a"));
        const mixed = interleave(script.events(viewer), picks);
        expect(script.outcomes(script.fold(viewer, mixed))).toEqual(expected);
      }),
      { numRuns: amount(120, 400) },
    );
  });

  test("outcomes are what the rules say, read from the whole logs at once", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
        const mixed = interleave(script.events(viewer), picks);
        expect(script.outcomes(script.fold(viewer, mixed))).toEqual(slowOutcomes(script));
      }),
      { numRuns: amount(150, 500) },
    );
  });

  test("the first line that decides, decides for good: no two readers ever differ", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps, picks, viewer }) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
        const final = script.outcomes(script.fold("a"));
        const state = emptyState();
        for (const event of interleave(script.events(viewer), picks)) {
          apply(state, event, script.env(viewer));
          for (const outcome of decided(script, state)) expect(final).toContain(outcome);
        }
      }),
      { numRuns: amount(60, 200) },
    );
  });

  test("whether a party has answered is what the proposer's next beat would count", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), ({ steps }) => {
        const said = scriptOf(steps, agents, true);
        const script = new OutcomeScript(kind, agents, said);
        const state = script.fold("a");
        for (const view of proposalsView(state.proposals, state.logs, script.env("a"))) {
          if (view.status !== "open") continue;
          const [name = ""] = [...script.names].find(([, id]) => id === view.proposal_id) ?? [];
          const answered = view.required.filter(
            (party) =>
              view.support[party] === view.proposal_id || view.support[party] === "rejected",
          );
          const next = outcomesOf([...said, `${view.proposer} beats`], kind, agents);
          const end = next.find((outcome) => outcome.startsWith(`${name} `))?.split(" ")[1];
          const isDecided = answered.length === view.required.length;
          const rejects = Object.values(view.support).includes("rejected");
          const expected = rejects ? "rejected" : isDecided ? "ratified" : "open";
          if (end !== "withdrawn") expect([name, end]).toEqual([name, expected]);
        }
      }),
      { numRuns: amount(90, 300) },
    );
  });

  test("duplicates change nothing, and a snapshot is the state", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), fc.nat(30), ({ steps, picks, viewer }, cut) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, false));
        const events = interleave(script.events(viewer), picks);
        expect(foldedTwice(script, viewer, events, cut)).toEqual(script.fold(viewer, events));
      }),
      { numRuns: amount(60, 200) },
    );
  });
});

test("an ack of what has not come yet leaves open what later acks decide", () => {
  const script = new OutcomeScript("pairwise", AGENTS.slice(0, 2), [
    "a proposes aP plain",
    "b beats a=1",
    "a proposes aR plain",
    "b proposes bP",
    "b acks aR plain",
    "b acks aP plain",
  ]);
  const events = script.events("a");
  const last = events.filter(({ log, line }) => log === "a_to_b" && line === 2);
  const late = [...events.filter((event) => !last.includes(event)), ...last];
  expect(last).toHaveLength(1);
  expect(script.outcomes(script.fold("a", late))).toEqual(script.outcomes(script.fold("a")));
});
