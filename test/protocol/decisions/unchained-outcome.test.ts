import { describe, expect, test } from "vitest";
import { noMarks } from "../../../src/protocol/logs/chain-marks.ts";
import type { BeatMark, LogsState, LogState } from "../../../src/protocol/logs/logs-state.ts";
import { learnDeciding, noKnownLines } from "../../../src/protocol/logs/known-lines.ts";
import type { Outcome, Proposal } from "../../../src/protocol/decisions/proposal.ts";
import {
  linesOf,
  newTopic,
  type Topic,
  type TopicLine,
} from "../../../src/protocol/decisions/proposal-thread.ts";
import { judgeUnchained } from "../../../src/protocol/decisions/unchained-outcome.ts";
import { makeLayout } from "../../../src/wire/layout.ts";

const LAYOUT = makeLayout("pairwise", ["a", "b"]);
const SAYS = { proposes: "proposal", acks: "ack", rejects: "ack", reverts: "revert" } as const;

interface Line {
  /** `a:2 reverts p @4`: agent and line, what it says of what, and its date. */
  readonly text: string;
  readonly change?: Partial<TopicLine>;
}

/** Lines by their texts; one that proposes has the name of its proposal as its id. */
function lineOf({ text, change = {} }: Line): TopicLine {
  const [place = "", verb = "", about = "", date = "@0"] = text.split(" ");
  const [from = "", line = ""] = place.split(":");
  const says = SAYS[verb as keyof typeof SAYS];
  return {
    id: verb === "proposes" ? about : place,
    log: from === "a" ? "a_to_b" : "b_to_a",
    line: Number(line),
    from,
    target: verb === "proposes" || about === "-" ? undefined : about,
    says,
    approves: verb === "acks",
    explicit: false,
    namesOwn: undefined,
    bare: about === "-",
    chained: false,
    timestamp: date,
    timestampMs: Number(date.slice(1)),
    refusedByUs: false,
    ...change,
  };
}

function topicOf(lines: readonly (string | Line)[]): Topic {
  const topic = newTopic("key", "X", 1);
  for (const each of lines) {
    const line = lineOf(typeof each === "string" ? { text: each } : each);
    topic.lines.set(line.log, [...(topic.lines.get(line.log) ?? []), line]);
  }
  return topic;
}

const PROPOSAL: Proposal = {
  key: "p a_to_b",
  topic: "key",
  id: "p",
  correlationId: "X",
  log: "a_to_b",
  line: 1,
  from: "a",
  subject: "",
  required: ["b"],
  problem: undefined,
  awaitsRoster: false,
  chained: false,
  timestampMs: 0,
  at: 0,
  live: true,
  own: false,
  dueMs: undefined,
  action: undefined,
  digest: "",
  content: undefined,
  outcome: undefined,
  settled: false,
  elsewhere: new Set(),
  named: false,
  readings: new Map(),
  judgedTo: 1,
};

const beatAt = (line: number): BeatMark => ({
  line,
  id: `beat ${line}`,
  timestamp: "",
  timestampMs: 0,
  at: 0,
  live: false,
  cadenceMs: undefined,
  heads: new Map(),
  state: undefined,
  refusedByUs: false,
});

/** b's log, with one beat that covers so many lines of a's. */
function beating(line: number, covers: number, change: { refused?: number; waits?: number } = {}) {
  const coverage = {
    steps: [{ beat: line, lines: covers }],
    reads: [],
    fromStart: 0,
    waiting:
      change.waits === undefined ? [] : [{ beat: change.waits, head: { lines: 99, readLines: 0 } }],
    next: 0,
    refused:
      change.refused === undefined
        ? []
        : [{ first: change.refused, last: change.refused, beat: line }],
  };
  const log: LogState = {
    lines: 9,
    foreign: 0,
    marks: noMarks(),
    beats: [beatAt(line)],
    firstBeat: line,
    headsFrom: line,
    covers: new Map([["a_to_b", coverage]]),
    mismatches: [],
  };
  return new Map([["b_to_a", log]]);
}

function judged(
  lines: readonly (string | Line)[],
  logs: LogsState = new Map(),
  proposal: Partial<Proposal> = {},
) {
  const topic = topicOf(lines);
  const names = noKnownLines();
  for (const { log, id, line, says } of [...topic.lines.values()].flat()) {
    learnDeciding(names, log, id, {
      line,
      proposalIn: says === "proposal" ? topic.key : undefined,
    });
  }
  const judging = { ...PROPOSAL, ...proposal };
  const isHeld = linesOf(topic, judging.log).some(({ id }) => id === judging.id);
  const proposals = () => (isHeld ? [judging] : []);
  const of = { logs, layout: LAYOUT, names, topic, proposals, byAcker: new Map() };
  return judgeUnchained(of, judging);
}

function outcome(status: Outcome["status"], by: string, at: string, id = by): Outcome {
  const [who, line] = by.split(":");
  const log = who === "a" ? "a_to_b" : "b_to_a";
  return { status, by: id, log, line: Number(line), at, ackIds: status === "ratified" ? [id] : [] };
}

const P = "a:1 proposes p @0";
const OPEN = { outcome: undefined, settled: false };

test("who asks nobody waits forever", () => {
  expect(judged([P, "b:1 acks p @5"], new Map(), { required: [] })).toStrictEqual(OPEN);
});

describe("between two without heads", () => {
  test.each<[string, (string | Line)[], Outcome | undefined]>([
    ["nothing said", [P], undefined],
    ["an ack", [P, "b:1 acks p @5"], outcome("ratified", "b:1", "@5")],
    ["a rejection", [P, "b:1 rejects p @5"], outcome("rejected", "b:1", "@5")],
    [
      "the first of both",
      [P, "b:1 acks p @5", "b:2 rejects p @4"],
      outcome("ratified", "b:1", "@5"),
    ],
    ["an ack of another", [P, "b:1 acks x @5"], undefined],
    ["a bare ack", [P, "b:1 acks - @5"], outcome("ratified", "b:1", "@5")],
    [
      "a counter that names it is no answer",
      [P, { text: "b:1 proposes q @1", change: { target: "p" } }, "b:2 acks p @5"],
      outcome("ratified", "b:2", "@5"),
    ],
    [
      "a revert that is dated earlier",
      [P, "a:2 reverts p @4", "b:1 acks p @5"],
      outcome("reverted", "a:2", "@4"),
    ],
    [
      "at the same time",
      [P, "a:2 reverts p @5", "b:1 acks p @5"],
      outcome("ratified", "b:1", "@5"),
    ],
    ["a revert without an answer", [P, "a:2 reverts p @9"], outcome("reverted", "a:2", "@9")],
    [
      "a revert of another",
      [P, "a:2 reverts x @4", "b:1 acks p @5"],
      outcome("ratified", "b:1", "@5"),
    ],
    [
      "a newer proposal",
      [P, "a:2 proposes q @4", "b:1 acks p @5"],
      outcome("superseded", "a:2", "@4", "q"),
    ],
    [
      "the earliest of two",
      [P, "a:2 reverts p @4", "a:3 proposes q @3", "b:1 acks p @5"],
      outcome("superseded", "a:3", "@3", "q"),
    ],
    [
      "the first of two of one time",
      [P, "b:1 proposes o @1", "a:2 acks o @3", "a:3 reverts p @3", "b:2 acks p @5"],
      outcome("withdrawn", "a:2", "@3"),
    ],
  ])("%s", (_name, lines, expected) => {
    expect(judged(lines)).toStrictEqual({ outcome: expected, settled: false });
  });

  const WITHDRAWN = outcome("withdrawn", "a:2", "@3");
  const ACKED = outcome("ratified", "b:9", "@5");

  test.each<[string, (string | Line)[], Outcome]>([
    ["acks a lower one of the other", ["b:1 proposes o @1", "a:2 acks o @3"], WITHDRAWN],
    ["a higher one", ["b:1 proposes q @1", "a:2 acks q @3"], ACKED],
    ["rejects a lower one", ["b:1 proposes o @1", "a:2 rejects o @3"], ACKED],
    ["one that is not held", ["a:2 acks o @3"], ACKED],
    ["too late", ["b:1 proposes o @1", "a:2 acks o @5"], ACKED],
    ["before it proposed", ["b:1 proposes o @1", "a:0 acks o @3"], ACKED],
    ["names nothing, and there is one", ["b:1 proposes o @1", "a:2 acks - @3"], WITHDRAWN],
    ["of the same time", ["b:1 proposes o @3", "a:2 acks - @3"], WITHDRAWN],
    ["of a later time", ["b:1 proposes o @4", "a:2 acks - @3"], ACKED],
    ["there is none", ["a:2 acks - @3"], ACKED],
    ["there are two", ["b:1 proposes o @1", "b:2 proposes n @1", "a:2 acks - @3"], ACKED],
    [
      "the other has said more",
      ["b:1 proposes o @1", "b:2 acks x @2", "b:3 reverts x @2", "a:2 acks - @3"],
      WITHDRAWN,
    ],
  ])("the proposer withdraws: %s", (_name, lines, expected) => {
    const { outcome: found } = judged([P, ...lines, "b:9 acks p @5"]);
    expect(found).toEqual(expected);
  });
});

describe("where the acker chains, or has heads before its answer", () => {
  const ACK = { text: "b:2 acks p @5", change: { chained: true } };
  const acked = outcome("ratified", "b:2", "@5");

  test("its answer is for good, whatever is dated earlier and not covered", () => {
    const settled = { outcome: acked, settled: true };
    expect(judged([P, "a:2 reverts p @4", ACK])).toEqual(settled);
    expect(judged([P, "a:2 reverts p @4", ACK], beating(1, 1))).toEqual(settled);
    expect(judged([P, "a:2 reverts p @4", ACK], beating(3, 2))).toEqual(settled);
    const plain = "b:2 acks p @5";
    expect(judged([P, "a:2 reverts p @4", plain], beating(1, 1))).toEqual(settled);
    const rejected = { text: "b:2 rejects p @5", change: { chained: true } };
    expect(judged([P, rejected])).toEqual({
      outcome: outcome("rejected", "b:2", "@5"),
      settled: true,
    });
  });

  test("heads that come only after a plain answer do not count", () => {
    expect(judged([P, "a:2 reverts p @4", "b:2 acks p @5"], beating(3, 2))).toEqual({
      outcome: outcome("reverted", "a:2", "@4"),
      settled: false,
    });
  });

  test.each<[string, (string | Line)[], Outcome]>([
    ["a revert", [P, "a:2 reverts p @9", ACK], outcome("reverted", "a:2", "@9")],
    ["a newer proposal", [P, "a:2 proposes q @9", ACK], outcome("superseded", "a:2", "@9", "q")],
    ["before any answer", [P, "a:2 reverts p @9"], outcome("reverted", "a:2", "@9")],
    [
      "before a plain answer",
      [P, "a:2 reverts p @9", "b:2 acks p @5"],
      outcome("reverted", "a:2", "@9"),
    ],
  ])("what its heads cover before it stops the proposal: %s", (_name, lines, expected) => {
    expect(judged(lines, beating(1, 2))).toEqual({ outcome: expected, settled: true });
  });

  test("what it named as refused stops nothing", () => {
    expect(judged([P, "a:2 reverts p @9", ACK], beating(1, 2, { refused: 2 }))).toEqual({
      outcome: acked,
      settled: true,
    });
    const lines = [P, "a:2 reverts p @9", "a:3 proposes q @9", ACK];
    expect(judged(lines, beating(1, 3, { refused: 2 })).outcome?.status).toBe("superseded");
  });

  test("it waits for lines that heads before the answer count, not for those after", () => {
    expect(judged([P, ACK], beating(1, 1, { waits: 1 }))).toStrictEqual(OPEN);
    expect(judged([P, ACK], beating(1, 1, { waits: 3 })).outcome).toEqual(acked);
    expect(judged([P], beating(1, 1))).toStrictEqual(OPEN);
    expect(judged([P], beating(1, 1, { waits: 1 }))).toStrictEqual(OPEN);
  });

  test("a bare ack up to the answer may yet mean something else", () => {
    const settled = (...lines: (string | Line)[]) => judged([P, ...lines], beating(1, 1)).settled;
    const early = "b:1 acks - @-1";
    expect(settled(early, ACK)).toBe(false);
    expect(settled(ACK, "b:3 acks - @9")).toBe(true);
    expect(settled("b:1 acks x @1", ACK, "b:3 acks - @9")).toBe(true);
    expect(settled("b:2 acks - @5")).toBe(false);
  });
});
