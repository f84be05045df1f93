import { describe, expect, test } from "vitest";
import {
  contentDigest,
  decisionContent,
} from "../../../src/protocol/decisions/record/decision-record.ts";
import { emptyLogs } from "../../../src/protocol/logs/logs-state.ts";
import { emptyProposals } from "../../../src/protocol/decisions/proposals-state.ts";
import { applyProposals, nameProposal } from "../../../src/protocol/decisions/proposals.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import type { State } from "../../../src/protocol/state.ts";
import { answerLogName } from "../../../src/protocol/decisions/party-position.ts";
import { OutcomeScript } from "../../support/scripts/outcome-script.ts";
import { lineEvent, NOON, WireScript } from "../../support/scripts/wire-script.ts";

const NONE: ReadonlySet<string> = new Set();

function scene(self: string, steps: string[], change: Partial<LineEvent> = {}) {
  const three = steps.some((step) => step.includes("needs="));
  const roster = three ? ["a", "b", "c"] : ["a", "b"];
  const script = new OutcomeScript(three ? "outbox" : "pairwise", roster, steps);
  const { proposals: state } = script.fold(
    self,
    script.events(self, () => change),
  );
  return { script, state, held: (name: string) => state.proposals.get(script.idOf(name)) };
}

const kept = ({ state, script }: ReturnType<typeof scene>, name = "P") => {
  const [proposal] = [...state.proposals.values()].filter(({ id }) => id === script.idOf(name));
  const key = proposal?.key ?? "";
  return {
    text: proposal?.content !== undefined,
    counted: state.contents.has(key),
    running: state.running.has(key),
    watched: [...state.watched].flatMap(([log, keys]) => (keys.has(key) ? log : [])).join(" "),
  };
};

test("a proposal is remembered with all that outcomes ask, the subject cut at 200", () => {
  const wire = new WireScript("pairwise", ["a", "b"]);
  const line = wire.say("a_to_b", NOON, { type: "proposal", subject: "s".repeat(201) });
  const script = new OutcomeScript("pairwise", ["a", "b"], []);
  const env = script.env("b");
  const state = emptyProposals();
  const event = lineEvent(line, "b", { at: NOON + 7 });
  const changed = applyProposals(state, event, env, emptyLogs(), NONE);
  const { id, correlationId } = line.message;
  const content = decisionContent(line.message, env.policy.domains);
  const proposal = {
    key: id,
    topic: `a_to_b b_to_a ${correlationId}`,
    id,
    correlationId,
    log: "a_to_b",
    line: 1,
    from: "a",
    subject: "s".repeat(200),
    required: ["b"],
    problem: undefined,
    awaitsRoster: false,
    chained: true,
    timestampMs: NOON,
    at: NOON + 7,
    live: true,
    own: false,
    dueMs: undefined,
    digest: contentDigest(content),
    content,
    outcome: undefined,
    settled: false,
    elsewhere: new Set<string>(),
    named: false,
    readings: new Map(),
    judgedTo: 1,
  };
  expect([...state.proposals.values()]).toEqual([proposal]);
  expect([...changed]).toEqual([proposal]);
});

describe("of a proposal", () => {
  const OURS = { text: true, counted: false, running: true, watched: "" };
  const THEIRS = { text: true, counted: true, running: false, watched: "" };
  const NOTHING = { text: false, counted: false, running: false, watched: "" };

  test.each<[string, string, string[], Partial<LineEvent>, object]>([
    ["our own", "a", ["a proposes P"], {}, OURS],
    ["a peer's", "b", ["a proposes P"], {}, THEIRS],
    ["our own, from history", "a", ["a proposes P"], { live: false }, { ...OURS, running: false }],
    ["our own that is void", "a", ["a proposes P needs=a"], {}, NOTHING],
    ["a void one that an auditor sees", "", ["a proposes P needs=a"], {}, NOTHING],
    ["one between others", "c", ["a proposes P needs=b"], {}, NOTHING],
    ["one that an auditor sees", "", ["a proposes P needs=b"], {}, THEIRS],
    ["ours with an answer", "a", ["a proposes P", "b acks x"], {}, { ...OURS, watched: "a_to_b" }],
    [
      "unchained, with an answer",
      "b",
      ["a proposes P plain", "b acks x"],
      {},
      { ...THEIRS, watched: "b_to_a" },
    ],
    [
      "that is ratified",
      "b",
      ["a proposes P", "b acks P", "a beats"],
      {},
      { ...THEIRS, counted: false },
    ],
    ["that is rejected", "a", ["a proposes P", "b rejects P", "a beats"], {}, NOTHING],
    ["that is reverted", "b", ["a proposes P", "a reverts P"], {}, NOTHING],
    [
      "unchained and ratified, but not for good",
      "a",
      ["a proposes P plain", "b acks bare"],
      {},
      { ...OURS, running: false, watched: "b_to_a" },
    ],
    [
      "unchained and rejected, but not for good",
      "b",
      ["a proposes P plain", "b rejects P plain"],
      {},
      { ...THEIRS, watched: "b_to_a" },
    ],
  ])("%s, this is kept", (_name, self, steps, change, expected) => {
    expect(kept(scene(self, steps, change))).toEqual(expected);
  });

  test("no more than 4,096 of a log are watched", () => {
    const script = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P", "b acks x"]);
    const { proposals: state } = script.fold("a", script.events("a").slice(0, 1));
    const watched = new Set(Array.from({ length: 4_095 }, (_, n) => `key ${n}`));
    state.watched.set("a_to_b", watched);
    const [, asked] = script.events("a");
    if (asked === undefined) throw new Error("two lines");
    applyProposals(state, asked, script.env("a"), emptyLogs(), NONE);
    expect([watched.size, watched.has("key 0"), watched.has(script.idOf("P"))]).toEqual([
      4_096,
      true,
      true,
    ]);
    watched.delete(script.idOf("P"));
    watched.add("one more");
    applyProposals(state, { ...asked, line: 2 }, script.env("a"), emptyLogs(), NONE);
    expect([watched.size, watched.has("key 0"), watched.has(script.idOf("P"))]).toEqual([
      4_096,
      false,
      true,
    ]);
  });

  test("one that is named by an entry is watched although it is alone, and judged once", () => {
    const { script, state, held } = scene("a", ["a proposes P", "a beats"]);
    const proposal = held("P");
    if (proposal === undefined) throw new Error("one proposal");
    expect(state.watched.size).toBe(0);
    nameProposal(state, proposal, script.env("a"), emptyLogs());
    expect([proposal.named, [...state.watched]]).toEqual([
      true,
      [["a_to_b", new Set([proposal.key])]],
    ]);
    state.watched.clear();
    nameProposal(state, proposal, script.env("a"), emptyLogs());
    expect(state.watched.size).toBe(0);
  });
});

describe("what has changed", () => {
  test("is a proposal of which more is known: not one that was judged as before", () => {
    const steps = ["a proposes P", "b acks x", "a beats", "b asks S", "b acks P", "a beats"];
    const script = new OutcomeScript("pairwise", ["a", "b"], steps);
    const env = script.env("a");
    const state: State = script.fold("a", script.events("a").slice(0, 3));
    const [, , , idle] = script.events("a");
    if (idle === undefined) throw new Error("six lines");
    const changed = (event: LineEvent, touched: string[] = []) =>
      [...applyProposals(state.proposals, event, env, state.logs, new Set(touched))].map(
        ({ id }) => id === script.idOf("P"),
      );
    expect(changed(idle)).toEqual([]);
    expect(changed({ ...idle, line: 9 }, ["a_to_b"])).toEqual([]);
    const proposal = state.proposals.proposals.get(script.idOf("P"));
    if (proposal !== undefined) proposal.judgedTo = 1;
    expect(changed({ ...idle, line: 9 }, ["a_to_b"])).toEqual([true]);
    const fresh = script.fold("a", script.events("a").slice(0, 1));
    expect([...applyProposals(fresh.proposals, idle, env, fresh.logs, NONE)]).toHaveLength(1);
  });

  test("is nothing by heartbeats and lines in logs that the wire does not have", () => {
    const { state, script } = scene("a", ["a beats"]);
    expect(state.topics.size).toBe(0);
    const [event] = new OutcomeScript("pairwise", ["a", "b"], ["a proposes P"]).events("a");
    if (event === undefined) throw new Error("one line");
    const elsewhere = { ...event, log: "nowhere" };
    expect(applyProposals(state, elsewhere, script.env("a"), emptyLogs(), NONE).size).toBe(0);
    expect([state.topics.size, state.proposals.size]).toEqual([0, 0]);
  });
});

describe("threads that do not converge", () => {
  const rounds = (ours: number, theirs: number, needs = "") => {
    const steps: string[] = [];
    for (let n = 0; n < Math.max(ours, theirs); n += 1) {
      if (n < ours) steps.push(`a proposes P${n}${needs && " needs=b"}`);
      if (n < theirs) steps.push(`b proposes Q${n}${needs && " needs=a"}`);
    }
    return steps;
  };
  const diverging = (self: string, steps: string[], change = {}) =>
    scene(self, steps, change).state.diverging.size;

  test.each([
    [3, 3, 0],
    [4, 3, 1],
    [3, 4, 1],
    [7, 2, 0],
    [2, 7, 0],
    [7, 3, 1],
    [3, 7, 1],
  ])("%i proposals against %i: %i", (ours, theirs, expected) => {
    expect(diverging("a", rounds(ours, theirs))).toBe(expected);
  });

  test("are no acks", () => {
    const steps = rounds(3, 3).flatMap((step, n) => [step, `${n % 2 === 0 ? "b" : "a"} acks x`]);
    expect(diverging("a", steps)).toBe(0);
  });

  test("concern those who propose or are needed, and are told once", () => {
    const steps = rounds(4, 3, "needs");
    expect(["a", "b", "c"].map((self) => diverging(self, steps))).toEqual([1, 1, 0]);
    expect(diverging("a", steps, { live: false })).toBe(0);
    const { state, script } = scene("a", steps);
    const told = (key: string, kind: "told" | "mirrored" = "told") => {
      const event = kind === "told" ? { kind, key, at: NOON } : { kind, id: key, key, at: NOON };
      applyProposals(state, event, script.env("a"), emptyLogs(), NONE);
      return state.diverging.size;
    };
    const [key = ""] = state.diverging;
    expect([told(`x not_converging:${key}`), told(`not_converging:${key}`, "mirrored")]).toEqual([
      1, 1,
    ]);
    expect(told(`not_converging:${key}`)).toBe(0);
  });
});

test("a party without a log that answers is our own mistake", () => {
  const { script, held } = scene("a", ["a proposes P"]);
  const proposal = held("P");
  if (proposal === undefined) throw new Error("one proposal");
  expect(answerLogName(script.script.layout, proposal, "b")).toBe("b_to_a");
  for (const [change, party] of [
    [{}, "c"],
    [{ log: "nowhere" }, "b"],
  ] as const) {
    expect(() => answerLogName(script.script.layout, { ...proposal, ...change }, party)).toThrow(
      `${party} has no log that answers ${{ ...proposal, ...change }.log}`,
    );
  }
});
