import type { Layout } from "../wire/layout.ts";
import { ackWithdraws, outcomeBy } from "./chained-outcome.ts";
import {
  coverageAt,
  firstBeatCovering,
  hasHeadsBefore,
  namedRefused,
  type LogsState,
} from "./logs.ts";
import type { Outcome, Proposal } from "./proposal.ts";
import { answerLogName, bareAckMeansByTime } from "./support.ts";
import { findLine, inSameThread, linesOf, type Topic, type TopicLine } from "./topic.ts";

export interface UnchainedJudgement {
  readonly outcome: Outcome | undefined;
  /** By timestamps, a line that comes later may be dated earlier and decide otherwise. */
  readonly settled: boolean;
}

/**
 * A proposer without heads: the acker's log decides, by its first ack or rejection of the proposal,
 * unless its heads before that line already cover a revert or a newer proposal by the proposer;
 * where the acker has no heads either, timestamps do. Spec 3.4.
 */
export function judgeUnchained(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  layout: Layout,
): UnchainedJudgement {
  const [party] = proposal.required;
  if (party === undefined) return { outcome: undefined, settled: false };
  const answers = answerLogName(layout, proposal, party);
  const lines = linesOf(topic, answers).filter((line) => line.says === "ack");
  const answer = lines.find((line) => speaksOf(topic, proposal, line));
  const usesHeads =
    answer === undefined
      ? hasHeadsBefore(logs, answers, Infinity)
      : answer.chained || hasHeadsBefore(logs, answers, answer.line);
  if (!usesHeads) return byTimestamps(topic, proposal, answer);
  const stop = firstStop(logs, topic, proposal, answers, answer?.line ?? Infinity);
  if (stop === "waits") return { outcome: undefined, settled: false };
  if (stop !== undefined) return { outcome: stop, settled: true };
  const onlyNamed = lines.every((line) => !line.bare || line.line > (answer?.line ?? 0));
  return { outcome: answer && answeredBy(answer), settled: answer !== undefined && onlyNamed };
}

function speaksOf(topic: Topic, proposal: Proposal, ack: TopicLine): boolean {
  return ack.bare ? bareAckMeansByTime(topic, proposal, ack) : ack.target === proposal.id;
}

function answeredBy(answer: TopicLine): Outcome {
  return answer.approves
    ? outcomeBy("ratified", answer, [answer.id])
    : outcomeBy("rejected", answer, []);
}

/** The proposer's first revert or newer proposal that the acker's heads cover before that line. */
function firstStop(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  answers: string,
  before: number,
): Outcome | "waits" | undefined {
  const covered = coverageAt(logs, answers, before - 1, proposal.log);
  for (const stop of stopsOf(topic, proposal)) {
    const beat = firstBeatCovering(logs, answers, proposal.log, stop.line, { liveOnly: false });
    if (beat === undefined || beat.line >= before) break;
    if (namedRefused(logs, answers, beat.line, proposal.log, stop.line)) continue;
    return outcomeBy(stop.says === "revert" ? "reverted" : "superseded", stop, []);
  }
  return covered === undefined && before !== Infinity ? "waits" : undefined;
}

/** The proposer's lines that take the proposal back: its reverts and newer proposals. */
function stopsOf(topic: Topic, proposal: Proposal): TopicLine[] {
  const own = findLine(topic, proposal.id);
  return linesOf(topic, proposal.log).filter((line) => {
    if (line.line <= proposal.line || own === undefined) return false;
    if (line.says === "revert") return line.target === proposal.id;
    return line.says === "proposal" && inSameThread(topic, line, own);
  });
}

/** Two parties without heads: what is dated first decides. They can shift it, and docs say so. */
function byTimestamps(
  topic: Topic,
  proposal: Proposal,
  answer: TopicLine | undefined,
): UnchainedJudgement {
  const until = answer?.timestampMs ?? Infinity;
  const stops = [...stopsOf(topic, proposal), ...withdrawals(topic, proposal)];
  const [first] = stops
    .filter((line) => line.timestampMs < until)
    .sort((a, b) => a.timestampMs - b.timestampMs || a.line - b.line);
  if (first === undefined) return { outcome: answer && answeredBy(answer), settled: false };
  return { outcome: outcomeBy(STOPPED[first.says], first, []), settled: false };
}

const STOPPED = { revert: "reverted", proposal: "superseded", ack: "withdrawn" } as const;

function withdrawals(topic: Topic, proposal: Proposal): TopicLine[] {
  const acks = linesOf(topic, proposal.log).filter(
    (line) => line.says === "ack" && line.line > proposal.line,
  );
  return acks.filter((ack) => {
    const target = ack.bare ? soleRival(topic, proposal, ack) : ack.target;
    return ackWithdraws(topic, proposal, { ...ack, target }) === true;
  });
}

/** The other party's only proposal in the thread by the time of a bare ack. */
function soleRival(topic: Topic, proposal: Proposal, ack: TopicLine): string | undefined {
  const own = findLine(topic, proposal.id);
  const rivals = [...topic.lines.values()]
    .flat()
    .filter(
      (line) =>
        line.says === "proposal" &&
        line.from !== proposal.from &&
        own !== undefined &&
        inSameThread(topic, line, own) &&
        line.timestampMs <= ack.timestampMs,
    );
  return rivals.length === 1 ? rivals[0]?.id : undefined;
}
