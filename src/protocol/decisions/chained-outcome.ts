import { logsBefore } from "../../wire/layout.ts";
import { authorHolds } from "../logs/author-holds.ts";
import { coveringLogs } from "../logs/coverage.ts";
import { beatsFrom, coveredAt, hasLostBeats } from "../logs/covering-beats.ts";
import type { BeatMark } from "../logs/logs-state.ts";
import { knownLine } from "../logs/known-lines.ts";
import { lastAtOrBelow } from "../logs/line-ranges.ts";
import { outcomeBy, type Judgement, type Proposal } from "./proposal.ts";
import {
  answerLogName,
  linesCounted,
  positionOf,
  type Case,
  type Position,
} from "./party-position.ts";
import { linesOf, topicKey, type TopicLine } from "./proposal-thread.ts";
import { ratifiesUnchained } from "./unchained-outcome.ts";

/** A judgement that has to wait for lines that we do not hold yet. */
const WAITS = "waits";
type Verdict = Judgement | typeof WAITS | undefined;

const OPEN: Judgement = { outcome: undefined, settled: false };

/**
 * Reads the proposer's log on from where it was judged last. The first line that decides, decides
 * for good: Spec 3.4, "One log decides: the proposer's". `judgedTo` moves over lines that do not.
 */
export function judgeChained(of: Case, proposal: Proposal): Judgement {
  if (isPastJudging(of, proposal)) return OPEN;
  // Acks of the proposer whose next beat will tell whether it had read what they name.
  let pending: TopicLine[] = [];
  for (const step of stepsAfter(of, proposal)) {
    let verdict: Verdict;
    if ("says" in step) {
      verdict = ownWord(of, proposal, step);
      if (mayWithdraw(of, proposal, step)) pending.push(step);
    } else {
      verdict = withdrawnBy(of, proposal, pending, step.line) ?? judgeBeat(of, proposal, step);
      pending = [];
    }
    if (verdict === WAITS) return OPEN;
    if (verdict !== undefined) return verdict;
    if (pending.length === 0) proposal.judgedTo = step.line;
  }
  const ratifies = pending.find((ack) => ratifiesUnchained(of, proposal, ack));
  return ratifies === undefined ? OPEN : { ...withdrawn(ratifies), settled: false };
}

/** Whether beats are forgotten by which the proposal was to be judged. */
export function isPastJudging({ logs }: Case, { log, judgedTo }: Proposal): boolean {
  return hasLostBeats(logs, log, judgedTo);
}

/**
 * The lines of the thread and the beats in the proposer's log, from where it was judged last. One by
 * one: a proposal that has to wait looks at few of them.
 */
function* stepsAfter(
  { logs, topic }: Case,
  { log, judgedTo, problem }: Proposal,
): Generator<TopicLine | BeatMark> {
  const own = linesOf(topic, log);
  const beats = problem === undefined ? beatsFrom(logs, log, judgedTo + 1) : [];
  let at = lastAtOrBelow(own, judgedTo, ({ line }) => line) + 1;
  for (const beat of beats) {
    for (let line = own[at]; line !== undefined && line.line < beat.line; line = own[at]) {
      yield line;
      at += 1;
    }
    yield beat;
  }
  yield* own.slice(at);
}

/** What a line of the proposer's own decides. */
function ownWord(of: Case, proposal: Proposal, line: TopicLine): Verdict {
  switch (line.says) {
    case "revert":
      if (line.target !== proposal.id) return undefined;
      return { outcome: outcomeBy("reverted", line, []), settled: true };
    case "proposal":
      return { outcome: outcomeBy("superseded", line, []), settled: true };
    case "ack":
      return withdrawnBy(of, proposal, mayWithdraw(of, proposal, line) ? [line] : [], line.line);
    case "nothing":
      return undefined;
  }
}

function mayWithdraw(of: Case, proposal: Proposal, ack: TopicLine): boolean {
  return rivalLogs(of, proposal, ack).length > 0;
}

/**
 * The logs in which an ack may name a proposal that withdraws this one. Any log can have one with a
 * lower id; one with a higher id has to be ratified by the ack, so only the log of the one agent that
 * is asked can have it. No other log is waited for.
 */
function rivalLogs({ layout }: Case, proposal: Proposal, ack: TopicLine): readonly string[] {
  const { approves, target, namesOwn } = ack;
  if (!approves || target === undefined || namesOwn !== undefined) return [];
  if (target < proposal.id) {
    const log = layout.logs.get(proposal.log);
    const before = log === undefined ? [] : logsBefore(layout, log);
    const logs = [proposal.log, ...before.map(({ name }) => name)];
    return logs.flatMap((name) => coveringLogs(layout, name)).map(({ name }) => name);
  }
  const [party, ...more] = proposal.required;
  return party === undefined || more.length > 0 ? [] : [answerLogName(layout, proposal, party)];
}

function withdrawn(ack: TopicLine): Judgement {
  return { outcome: outcomeBy("withdrawn", ack, []), settled: true };
}

/** The first of these acks that withdraws, by the author's heads up to that line. */
function withdrawnBy(
  of: Case,
  proposal: Proposal,
  acks: readonly TopicLine[],
  upTo: number,
): Verdict {
  for (const ack of acks) {
    const verdict = withdraws(of, proposal, ack, upTo);
    if (verdict !== false) return verdict === undefined ? WAITS : withdrawn(ack);
  }
  return undefined;
}

/**
 * Spec 3.4, *withdrawn*: an approving ack of another party's proposal in the thread with a lower
 * id; of an unchained proposal that the ack ratifies, whatever its id. What it names has to be
 * within what its author's heads cover, at the latest at its next beat: a reader who can judge that
 * beat then holds what the ack names, or knows that it is nowhere. See docs/decisions/022. Whether
 * its author has refused what it names does not matter: see docs/decisions/023.
 */
function withdraws(
  of: Case,
  proposal: Proposal,
  ack: TopicLine,
  upTo: number,
): boolean | undefined {
  const { logs, line } = rivalNamed(of, proposal, ack);
  const covered = logs.map((log) =>
    authorHolds(of.logs, of.layout, { log: proposal.log, line: upTo }, log),
  );
  if (covered.includes(undefined)) return undefined;
  if (line === undefined || covered[0]?.(line) !== true) return false;
  return (ack.target ?? "") < proposal.id || ratifiesUnchained(of, proposal, ack);
}

/** The logs that tell whether an ack withdraws, and the line that it names when we hold it. */
function rivalNamed(
  of: Case,
  proposal: Proposal,
  ack: TopicLine,
): { readonly logs: readonly string[]; readonly line: number | undefined } {
  const logs = rivalLogs(of, proposal, ack);
  for (const log of logs) {
    const named = knownLine(of.names, log, ack.target ?? "");
    if (named === undefined) continue;
    const thread = topicKey(of.layout, log, of.topic.correlationId);
    const isRival = named.proposalIn === thread;
    return isRival ? { logs: [log], line: named.line } : { logs: [], line: undefined };
  }
  return { logs, line: undefined };
}

/**
 * The logs that we must hold as far as the proposer's heads count them, to judge the proposal
 * further.
 */
export function logsAskedFor(of: Case, proposal: Proposal): readonly string[] {
  const answers = proposal.required.map((party) => answerLogName(of.layout, proposal, party));
  const acks = linesOf(of.topic, proposal.log).filter(({ line }) => line > proposal.judgedTo);
  return [...answers, ...acks.flatMap((ack) => rivalNamed(of, proposal, ack).logs)];
}

function judgeBeat(of: Case, proposal: Proposal, beat: BeatMark): Verdict {
  const positions: Position[] = [];
  for (const party of proposal.required) {
    const position = positionAt(of, proposal, answerLogName(of.layout, proposal, party), beat);
    if (position === undefined) return WAITS;
    positions.push(position);
  }
  for (const id of positions.flatMap(({ elsewhere }) => elsewhere)) proposal.elsewhere.add(id);
  const by = { id: beat.id, log: proposal.log, line: beat.line, timestamp: beat.timestamp };
  if (positions.some((position) => position.rejection !== undefined)) {
    return { outcome: outcomeBy("rejected", by, []), settled: true };
  }
  const acks = positions.flatMap((position) => position.ack ?? []);
  if (acks.length < positions.length) return undefined;
  return { outcome: outcomeBy("ratified", by, acks), settled: true };
}

/**
 * A party's position by the lines that the beat's heads cover; `undefined`: we do not hold all of
 * them.
 */
function positionAt(
  of: Case,
  proposal: Proposal,
  answers: string,
  beat: BeatMark,
): Position | undefined {
  const isCovered = coveredAt(of.logs, proposal.log, beat.line, answers);
  if (isCovered === undefined) return undefined;
  const counted = linesCounted(of, proposal, answers, beat.line);
  const lines = counted.filter(({ line }) => isCovered(line));
  return positionOf(of, proposal, lines, beat.line);
}
