import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideProposals } from "../../../src/protocol/decisions/proposal-deadlines.ts";
import { proposalsView } from "../../../src/protocol/decisions/proposals-view.ts";
import { readSnapshot, writeSnapshot } from "../../../src/protocol/snapshot.ts";
import type { State } from "../../../src/protocol/state.ts";
import { toPlain } from "../../../src/wire/json/json.ts";
import {
  AGENTS,
  arbitraryTalk,
  interleave,
  scriptOf,
} from "../../support/scripts/outcome-arbitraries.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { amount } from "../../support/amounts.ts";
import { hours, minutes, NOON } from "../../support/scripts/wire-script.ts";
import { slowEndMs, type Times } from "./slow-deadlines.ts";

const TIMES: readonly Times[] = [
  { answerMinutes: 30, proposalHours: 24 },
  { answerMinutes: 0, proposalHours: 1 },
  { answerMinutes: 0, proposalHours: 24 },
  { answerMinutes: 1_440, proposalHours: 1 },
];

/** The proposals of that agent that its daemon takes back at that time, by their ids. */
function reverted(script: OutcomeScript, state: State, self: string, nowMs: number, times: Times) {
  const env = script.env(self, { answerTimes: times });
  const now = { wallMs: nowMs, monoMs: 0 };
  return decideProposals(state.proposals, state.logs, env, now)
    .flatMap((effect) => (effect.do === "send" ? [toPlain(effect.draft.body)] : []))
    .map((body) => body as { reverts: string; replaced_by?: string })
    .filter((body) => body.replaced_by === undefined)
    .map((body) => body.reverts)
    .sort();
}

interface Answer {
  acks?: string;
  approve?: boolean;
}

/** The same by the slow reading of the rules: an open one of which a party's time is over. */
function expected(script: OutcomeScript, state: State, self: string, nowMs: number, times: Times) {
  const lines = script.script.lines.get(script.logOf(self)) ?? [];
  const isReverted = (id: string): boolean =>
    lines.some(({ message }) => (toPlain(message.body) as { reverts?: string }).reverts === id);
  const views = proposalsView(state.proposals, state.logs, script.env(self));
  return views
    .filter(({ proposer, status }) => proposer === self && status === "open")
    .filter(({ proposal_id: id, problem }) => problem === null && !isReverted(id))
    .filter(({ proposal_id: id, required, support }) => {
      const proposal = lines.find(({ message }) => message.id === id);
      if (proposal === undefined) return false;
      // A ratified sibling of another that it has agreed to, and not rejected since, ends it in another way.
      const said = lines.slice(proposal.line).map(({ message }) => toPlain(message.body) as Answer);
      const agreed = views.some(({ proposal_id: sibling, proposer: author, status: end }) => {
        const last = said.findLast(({ acks }) => acks === sibling);
        return (
          author !== self && end === "ratified" && last !== undefined && last.approve !== false
        );
      });
      const isLate = (party: string): boolean =>
        support[party] !== id &&
        support[party] !== "rejected" &&
        slowEndMs(script, proposal, party, times) <= nowMs;
      return !agreed && required.some(isLate);
    })
    .map(({ proposal_id: id }) => id)
    .sort();
}

describe.each([
  { agents: AGENTS.slice(0, 2), kind: "pairwise" as const },
  { agents: AGENTS, kind: "outbox" as const },
])("deadlines of proposals, $kind", ({ agents, kind }) => {
  const after = fc.constantFrom(
    minutes(1),
    minutes(4),
    minutes(29),
    minutes(31),
    hours(2),
    hours(30),
  );

  test("are what the rules say, read from the whole logs at once, however the logs came", () => {
    fc.assert(
      fc.property(
        arbitraryTalk(agents),
        after,
        fc.constantFrom(...TIMES),
        ({ steps, picks, viewer }, afterMs, times) => {
          const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
          const state = script.fold(viewer, interleave(script.events(viewer), picks));
          const found = reverted(script, state, viewer, NOON + afterMs, times);
          expect(found).toEqual(expected(script, state, viewer, NOON + afterMs, times));
        },
      ),
      { numRuns: amount(150, 4_000) },
    );
  });

  test("end proposals in the talks that are tried, soon and late", () => {
    const ends = { soon: 0, late: 0 };
    const tried = fc.sample(fc.tuple(arbitraryTalk(agents), after, fc.constantFrom(...TIMES)), {
      seed: 11,
      numRuns: 400,
    });
    for (const [{ steps, picks, viewer }, afterMs, times] of tried) {
      const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
      const state = script.fold(viewer, interleave(script.events(viewer), picks));
      const { length } = reverted(script, state, viewer, NOON + afterMs, times);
      ends[afterMs < hours(1) ? "soon" : "late"] += length;
    }
    expect([ends.soon > 0, ends.late > 10]).toEqual([true, true]);
  });

  test("are the same after a replay, and from a snapshot", () => {
    fc.assert(
      fc.property(arbitraryTalk(agents), after, ({ steps, picks, viewer }, afterMs) => {
        const script = new OutcomeScript(kind, agents, scriptOf(steps, agents, true));
        const live = script.fold(viewer, interleave(script.events(viewer), picks));
        const replayed = script.fold(viewer);
        const restored = readSnapshot(writeSnapshot(live));
        const [times] = TIMES as [Times];
        const at = NOON + afterMs;
        const all = [live, replayed, restored].map(
          (state) => state && reverted(script, state, viewer, at, times),
        );
        expect(all).toEqual([all[0], all[0], all[0]]);
      }),
      { numRuns: amount(60, 1_000) },
    );
  });
});
