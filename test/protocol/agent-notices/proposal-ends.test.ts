import { describe, expect, test } from "vitest";
import { endsOf } from "../../../src/protocol/agent-notices/proposal-ends.ts";
import { apply } from "../../../src/protocol/core.ts";
import type { CoreEvent } from "../../../src/protocol/events.ts";
import { emptyState } from "../../../src/protocol/state.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { NOON, scriptEnv } from "../../support/scripts/wire-script.ts";

const P = "a proposes P needs=b";
const BOTH = "a proposes P needs=b,c";
/** The counter-proposal of b to which a agrees. */
const COUNTERED = [P, "b proposes Q needs=a counters=P", "a agrees Q"];
const TWO = ["a", "b"];
const THREE = ["a", "b", "c"];
/** An event that is no line, by which an end may become known as well. */
const STARTED: CoreEvent = { kind: "started", at: NOON };

function folded(self: string, steps: readonly string[], roster = TWO, isTrusted = true) {
  const script = new OutcomeScript(roster.length > 2 ? "outbox" : "pairwise", roster, steps);
  const tier = isTrusted ? "TRUSTED" : "UNTRUSTED";
  const tiers = Object.fromEntries(roster.map((handle) => [handle, { tier } as const]));
  const env = scriptEnv(script.script.layout, self, tiers);
  const state = emptyState();
  apply(state, { kind: "noticed", at: NOON, notices: [], places: [] }, env);
  for (const event of script.events(self)) apply(state, event, env);
  const proposal = [...state.proposals.proposals.values()].find(
    ({ id }) => id === script.idOf("P"),
  );
  if (proposal === undefined) throw new Error("there is no P");
  const facts = { proposals: state.proposals, logs: state.logs, env };
  const texts = (event = STARTED): string[] =>
    endsOf(facts, new Set([proposal]), event).map(({ text }) => text);
  return { script, state, facts, proposal, texts };
}

/** Of the ends that an agent is told: kind, name, text, and whose limit counts. */
function told(self: string, steps: readonly string[], roster = TWO, isTrusted = true) {
  const { script, state } = folded(self, steps, roster, isTrusted);
  const nameOf = new Map([...script.names].map(([name, id]) => [id, name]));
  const ends = [...state.agentNotices.due.values()];
  return ends.map(({ kind, about, text, peer }) => [kind, nameOf.get(about), text, peer]);
}

describe("the end of a proposal is told", () => {
  test.each<[string, string[], string, string, string[]?]>([
    [
      "ratified",
      [P, "b agrees P", "a beats"],
      "is ratified: every required party agreed",
      "is ratified: every required party agreed",
    ],
    ["rejected", [P, "b rejects P", "a beats"], "is rejected by b", "is rejected by you"],
    [
      "rejected by two",
      [BOTH, "b rejects P", "c rejects P", "a beats"],
      "is rejected by b, c",
      "is rejected by you, c",
      THREE,
    ],
    [
      "rejected by one of two",
      [BOTH, "b agrees P", "c rejects P", "a beats"],
      "is rejected by c",
      "is rejected by c",
      THREE,
    ],
    [
      "superseded",
      [P, "a proposes Q needs=b", "b agrees Q", "a beats"],
      "is superseded by your next one in the same thread",
      "is superseded by another one of a in the same thread",
    ],
    [
      "withdrawn",
      [`${P} plain`, ...COUNTERED.slice(1), "a beats", "b beats", "a beats"],
      "is withdrawn, because you agreed to another one in its thread",
      "is withdrawn: a agreed to another one in its thread",
    ],
    [
      "replaced",
      [...COUNTERED, "b beats", "a reverts P replaced=Q"],
      `is replaced by b's proposal "proposes Q": you agreed to that one, and it is ratified`,
      `is replaced by your proposal "proposes Q": a agreed to that one, and it is ratified`,
    ],
    [
      "replaced by one that we do not hold",
      [P, `a reverts P replaced=${"f".repeat(64)}`],
      "is replaced by another one: you agreed to that one, and it is ratified",
      "is replaced by another one: a agreed to that one, and it is ratified",
    ],
  ])("to its proposer and to whom it requires: %s", (end, steps, ours, theirs, roster) => {
    const ofP = (self: string) => told(self, steps, roster).filter(([, name]) => name === "P");
    const [own, peers] = [`Your proposal "proposes P"`, `a's proposal "proposes P"`];
    const [status = ""] = end.split(" ");
    expect(ofP("a")).toEqual([[status, "P", `${own} ${ours}.`, undefined]]);
    expect(ofP("b")).toEqual([
      [status, "P", `${peers}, which needed your answer, ${theirs}.`, "a"],
    ]);
  });

  test("to whom it requires with where a reason stands, and no word of the proposer", () => {
    const [[, , text] = []] = told("b", [P, "a reverts P"]);
    expect(text).toMatch(
      /^a's proposal "proposes P", which needed your answer, was reverted by a: `deaddrop thread [0-9a-f]{10}` shows why\.$/u,
    );
  });

  test("of a stranger's without its subject", () => {
    const [[, , text] = []] = told("b", [P, "b rejects P", "a beats"], TWO, false);
    expect(text).toBe(
      `a's proposal "(not shown: a is UNTRUSTED)", which needed your answer, is rejected by you.`,
    );
  });

  test("to nobody else", () => {
    expect(told("b", ["a proposes P needs=c", "c rejects P", "a beats"], THREE)).toEqual([]);
  });

  test("only once there is one", () => {
    const { texts } = folded("a", [P]);
    expect(texts()).toEqual([]);
  });
});

describe("a revert of ours", () => {
  const event = (change: object = {}): CoreEvent | undefined => {
    const { script } = folded("a", [P, "a reverts P"]);
    const [, revert] = script.events("a", () => change);
    return revert;
  };

  test.each([
    ["its own line", event(), ": it was taken back"],
    ["another event", STARTED, ""],
    ["a line that is not ours", event({ own: false }), ""],
    ["another line", folded("a", [P]).script.events("a")[0], ""],
  ])("is told with its reason where that is at hand: %s", (_what, by, reason) => {
    const { texts } = folded("a", [P, "a reverts P"]);
    expect(texts(by)).toEqual([`Your proposal "proposes P" is reverted${reason}.`]);
  });
});

describe("who has rejected is not said", () => {
  const REJECTED = [P, "b rejects P", "a beats"];

  test("where the thread is no longer remembered", () => {
    const { state, proposal, texts } = folded("a", REJECTED);
    state.proposals.topics.delete(proposal.topic);
    expect(texts()).toEqual([`Your proposal "proposes P" is rejected by a required party.`]);
  });

  test("where that party agrees by now", () => {
    const { texts } = folded("a", [...REJECTED, "b agrees P"]);
    expect(texts()).toEqual([`Your proposal "proposes P" is rejected by a required party.`]);
  });
});
