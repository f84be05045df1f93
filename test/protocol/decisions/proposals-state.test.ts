import { describe, expect, test } from "vitest";
import type { DecisionContent } from "../../../src/protocol/decisions/record/decision-record.ts";
import type { Outcome, Proposal } from "../../../src/protocol/decisions/proposal.ts";
import { learnPlain, numberThread } from "../../../src/protocol/logs/known-lines.ts";
import { eventId } from "../../support/scripts/event-id.ts";
import {
  beatsNeeded,
  boundLines,
  boundTopics,
  deleteFirst,
  dropContent,
  emptyProposals,
  isConflictOpen,
  keepContent,
  openIn,
  proposalKey,
  proposalsById,
  makeFinalBefore,
  type ProposalsState,
} from "../../../src/protocol/decisions/proposals-state.ts";
import {
  newTopic,
  sizeOf,
  topicKey,
  type Topic,
  type TopicLine,
} from "../../../src/protocol/decisions/proposal-thread.ts";
import { makeLayout } from "../../../src/wire/layout.ts";
import { scriptEnv } from "../../support/scripts/wire-script.ts";

const LAYOUT = makeLayout("pairwise", ["a", "b", "c"]);
const ENV = scriptEnv(LAYOUT, "a");
const CONTENT: DecisionContent = {
  decisionId: "",
  decision: "",
  refs: [],
  affectedDomains: [],
  domainOwners: [],
  supersedes: null,
};

function decidedBy(line: number, status: Outcome["status"] = "rejected"): Outcome {
  return { status, by: "", log: "a_to_b", line, at: "", ackIds: [] };
}

function proposalOf(id: string, change: Partial<Proposal> = {}): Proposal {
  const { log = "a_to_b", chained = true } = change;
  return {
    key: proposalKey(id, log, chained),
    topic: "X",
    id,
    correlationId: "X",
    log,
    line: 1,
    from: log.slice(0, 1),
    subject: "",
    required: ["b"],
    problem: undefined,
    awaitsRoster: false,
    chained,
    timestampMs: 0,
    at: 0,
    live: true,
    own: false,
    dueMs: undefined,
    action: undefined,
    digest: "",
    content: CONTENT,
    outcome: undefined,
    settled: false,
    elsewhere: new Set(),
    named: false,
    readings: new Map(),
    judgedTo: 1,
    ...change,
  };
}

function lineOf({ id, log, from, chained }: Proposal, says: TopicLine["says"]): TopicLine {
  return {
    id,
    log,
    line: 1,
    from,
    target: undefined,
    says,
    approves: false,
    explicit: false,
    namesOwn: undefined,
    bare: false,
    chained,
    timestamp: "",
    timestampMs: 0,
    refusedByUs: false,
  };
}

function add(state: ProposalsState, key: string, ...proposals: Proposal[]): Topic {
  const topic = newTopic(key, "X", numberThread(state.names));
  for (const proposal of proposals) {
    state.proposals.set(proposal.key, proposal);
    const lines = topic.lines.get(proposal.log) ?? [];
    topic.lines.set(proposal.log, [...lines, lineOf(proposal, "proposal")]);
  }
  state.topics.set(key, topic);
  return topic;
}

test("an unchained proposal is one in each log where it is", () => {
  expect(proposalKey("p", "a_to_b", true)).toBe("p");
  expect(proposalKey("p", "a_to_b", false)).toBe("p a_to_b");
  const state = emptyProposals();
  const three = [
    proposalOf("p"),
    proposalOf("p", { chained: false }),
    proposalOf("p", { chained: false, log: "a_to_c" }),
  ];
  add(state, "X", ...three, proposalOf("q"));
  expect(proposalsById(state, "p", ENV)).toEqual(three);
  expect(proposalsById(state, "r", ENV)).toEqual([]);
});

test("open in a thread are its proposals that are held and not settled", () => {
  const state = emptyProposals();
  const open = proposalOf("open", { outcome: decidedBy(1) });
  const topic = add(state, "X", open, proposalOf("done", { settled: true }), proposalOf("gone"));
  state.proposals.delete("gone");
  topic.lines.set("b_to_a", [lineOf(open, "ack")]);
  expect(openIn(state, topic)).toEqual([open]);
});

describe("a conflict", () => {
  const rivals = (...changes: Partial<Proposal>[]) => {
    const state = emptyProposals();
    const proposals = changes.map((change, n) => proposalOf(`p${n}`, change));
    add(state, topicKey(LAYOUT, "a_to_b", "X"), ...proposals);
    return [isConflictOpen(state, ENV, "X"), isConflictOpen(state, ENV, "Y")];
  };

  test.each<[string, Partial<Proposal>[], boolean]>([
    ["two rivals", [{}, { log: "b_to_a" }], true],
    ["two of one proposer", [{}, {}], false],
    ["one alone", [{}], false],
    ["none", [], false],
    ["one of them decided", [{}, { log: "b_to_a", outcome: decidedBy(1) }], false],
    ["one of them settled", [{}, { log: "b_to_a", settled: true }], false],
  ])("is open with %s", (_name, changes, expected) => {
    expect(rivals(...changes)).toEqual([expected, false]);
  });
});

describe("beats", () => {
  const watching = (...changes: Partial<Proposal>[]) => {
    const state = emptyProposals();
    const proposals = changes.map((change, n) => proposalOf(`p${n}`, change));
    add(state, "X", ...proposals);
    state.watched.set("a_to_b", new Set(["gone", ...proposals.map(({ key }) => key)]));
    return { state, proposals };
  };

  test("are needed from where the first chained proposal was judged last", () => {
    expect(beatsNeeded(emptyProposals(), "a_to_b")).toBe(Infinity);
    const { state } = watching({ judgedTo: 7 }, { judgedTo: 5 }, { judgedTo: 9 });
    expect(beatsNeeded(state, "a_to_b")).toBe(5);
    expect(beatsNeeded(state, "b_to_a")).toBe(Infinity);
    expect(beatsNeeded(watching({ judgedTo: 5, chained: false }).state, "a_to_b")).toBe(Infinity);
  });

  test.each<[string, Partial<Proposal>, boolean]>([
    ["one decided before them, by time", { chained: false, outcome: decidedBy(4) }, true],
    ["one decided at them", { chained: false, outcome: decidedBy(5) }, false],
    ["an open one", { chained: false }, false],
    ["a chained one", { outcome: decidedBy(4) }, false],
  ])("that are forgotten settle %s: %s", (_name, change, settled) => {
    const { state, proposals } = watching(change);
    makeFinalBefore(state, "a_to_b", 5);
    expect(proposals[0]?.settled).toBe(settled);
    expect(state.watched.get("a_to_b")?.has(proposals[0]?.key ?? "")).toBe(!settled);
    makeFinalBefore(state, "b_to_a", 5);
  });
});

describe("texts", () => {
  test("are kept of the 1,024 newest, and dropped when nobody needs them", () => {
    const state = emptyProposals();
    const proposals = Array.from({ length: 1_025 }, (_, n) => proposalOf(`p${n}`));
    add(state, "X", ...proposals);
    for (const { key } of proposals.slice(0, 1_024)) keepContent(state, key);
    expect(state.contents.size).toBe(1_024);
    expect(proposals[0]?.content).toBe(CONTENT);
    keepContent(state, "p1024");
    expect([state.contents.size, state.contents.has("p0")]).toEqual([1_024, false]);
    expect(proposals.map(({ content }) => content).indexOf(undefined)).toBe(0);
    expect(proposals[1]?.content).toBe(CONTENT);
    const [, second] = proposals;
    if (second !== undefined) dropContent(state, second);
    expect([state.contents.has("p1"), second?.content]).toEqual([false, undefined]);
    state.proposals.delete("p2");
    keepContent(state, "p0");
    keepContent(state, "p1");
    expect(state.contents.has("p2")).toBe(false);
  });

  test("the first of a set goes", () => {
    const set = new Set(["x", "y"]);
    expect([deleteFirst(set), deleteFirst(set), deleteFirst(set)]).toEqual(["x", "y", undefined]);
  });
});

describe("room for threads", () => {
  /** So many threads with a proposal each. */
  function filled(count: number, change: (n: number) => Partial<Proposal>): ProposalsState {
    const state = emptyProposals();
    for (let n = 0; n < count; n += 1) {
      const proposal = proposalOf(`p${n}`, change(n));
      add(state, `${n}`, proposal);
      state.watched.set("a_to_b", (state.watched.get("a_to_b") ?? new Set()).add(proposal.key));
      state.running.add(proposal.key);
      state.contents.add(proposal.key);
      state.diverging.add(`${n}`);
    }
    boundTopics(state);
    return state;
  }
  const DECIDED = { outcome: decidedBy(1), settled: true };

  test.each<[string, number, (n: number) => Partial<Proposal>, number, string]>([
    ["4,096", 4_096, () => DECIDED, 4_096, "0"],
    ["a few more, before 256 can go at once", 4_351, () => DECIDED, 4_351, "0"],
    ["256 more: then the oldest go", 4_352, () => DECIDED, 4_096, "256"],
    ["open ones are passed over", 4_352, (n) => (n < 9 ? {} : DECIDED), 4_096, "0"],
    ["until 256 of them were met", 4_352, (n) => (n < 256 ? {} : DECIDED), 4_352, "0"],
    ["void ones are not open", 4_352, () => ({ problem: "void" }), 4_096, "256"],
    ["decided, though not for good", 4_352, () => ({ outcome: decidedBy(1) }), 4_096, "256"],
    ["16,384 open ones", 16_384, () => ({}), 16_384, "0"],
    ["and no more", 16_640, () => ({}), 16_384, "256"],
    ["of which some are decided", 16_640, (n) => (n < 100 ? {} : DECIDED), 16_384, "0"],
    ["decided ones and then open ones", 16_640, (n) => (n < 9 ? DECIDED : {}), 16_384, "256"],
  ])("is for %s", (_name, count, change, expected, first) => {
    const state = filled(count, change);
    expect([state.topics.size, state.topics.keys().next().value]).toEqual([expected, first]);
    const sizes = [state.proposals, state.running, state.contents, state.diverging].map(
      ({ size }) => size,
    );
    expect(sizes).toEqual(Array(4).fill(expected));
    expect(state.watched.get("a_to_b")?.size).toBe(expected);
  });

  test("ratified proposals stay for good, settled and with their text", () => {
    const state = filled(4_352, () => ({ outcome: decidedBy(1, "ratified") }));
    expect([state.topics.size, state.proposals.size, state.running.size]).toEqual([
      4_096, 4_352, 4_096,
    ]);
    const kept = state.proposals.get("p0");
    expect([kept?.settled, kept?.content]).toEqual([true, CONTENT]);
    expect(state.proposals.get("p256")?.settled).toBe(false);
  });

  test("what is forgotten is forgotten: its text, and that it is open", () => {
    const gone = proposalOf("gone", { chained: false, outcome: decidedBy(1) });
    const state = filled(4_351, () => DECIDED);
    state.topics.delete("0");
    const topics = [...state.topics];
    state.topics.clear();
    add(state, "X", gone);
    for (const [key, topic] of topics) state.topics.set(key, topic);
    boundTopics(state);
    expect(state.topics.has("X")).toBe(true);
    state.topics.set("one more", newTopic("one more", "one more", 0));
    boundTopics(state);
    expect([state.topics.size, state.topics.has("X")]).toEqual([4_096, false]);
    expect([gone.settled, gone.content, state.proposals.has(gone.key)]).toEqual([
      true,
      undefined,
      false,
    ]);
  });
});

describe("room for lines", () => {
  const EACH = 4_096;
  const ID = eventId("a message");

  /** So many threads of 4,096 lines: a proposal, and what decides nothing. */
  function filled(count: number, change: (n: number) => Partial<Proposal>): ProposalsState {
    const state = emptyProposals();
    for (let n = 0; n < count; n += 1) {
      const proposal = proposalOf(`p${n}`, change(n));
      const topic = add(state, `${n}`, proposal);
      topic.others.set("a_to_b", EACH - 1);
      for (let line = 1; line < EACH; line += 1) {
        learnPlain(state.names, "a_to_b", { id: ID, line, thread: topic.number });
      }
      state.lineCount += sizeOf(topic);
    }
    return state;
  }
  const DECIDED = { outcome: decidedBy(1), settled: true };

  test.each<[string, number, (n: number) => Partial<Proposal>, number, string]>([
    ["131,072", 32, () => DECIDED, 32, "0"],
    ["more: then the oldest go until there is room again", 33, () => DECIDED, 30, "3"],
    ["of which open ones are passed over", 33, (n) => (n < 9 ? {} : DECIDED), 30, "0"],
    ["262,144 of open ones", 64, () => ({}), 64, "0"],
    ["and no more", 65, () => ({}), 30, "35"],
  ])("is for %s", (_name, count, change, expected, first) => {
    const state = filled(count, change);
    const grown = [...state.topics.values()].at(-1) ?? newTopic("", "", 0);
    boundLines(state, grown);
    expect([state.topics.size, state.topics.keys().next().value]).toEqual([expected, first]);
    expect([state.proposals.size, state.lineCount]).toEqual([expected, expected * EACH]);
    const { lines, forgotten } = state.names.plain.get("a_to_b")!;
    expect(lines.length - forgotten).toBe(expected * (EACH - 1));
  });

  test("is made 256 lines after the last time at the soonest", () => {
    const state = filled(33, () => DECIDED);
    const [grown = newTopic("", "", 0)] = state.topics.values();
    state.lineCount += 255;
    boundLines(state, grown);
    expect(state.topics.size).toBe(33);
  });

  test("is not made by the thread that has just grown", () => {
    const state = filled(33, () => DECIDED);
    const [grown = newTopic("", "", 0)] = state.topics.values();
    boundLines(state, grown);
    expect([...state.topics.keys()].slice(0, 3)).toEqual(["0", "4", "5"]);
  });
});
