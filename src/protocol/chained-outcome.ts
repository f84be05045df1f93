import type { Layout } from "../wire/layout.ts";
import { beatsFrom, coverageAt, namedRefused, type BeatMark, type LogsState } from "./logs.ts";
import type { Outcome, Proposal } from "./proposal.ts";
import { answerLogName, bareAckMeans, voiceOf, type Voice } from "./support.ts";
import { findLine, inSameThread, linesOf, type Topic, type TopicLine } from "./topic.ts";

/** A judgement that has to wait for lines that we do not hold yet. */
const WAITS = "waits";
type Verdict = Outcome | typeof WAITS | undefined;

/**
 * Reads the proposer's log on from where it was judged last; the first line that decides, decides
 * for good. Spec 3.4, "One log decides: the proposer's". Moves `judgedTo` over what does not.
 */
export function judgeChained(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  layout: Layout,
): Outcome | undefined {
  const own = linesOf(topic, proposal.log).filter((line) => line.line > proposal.judgedTo);
  for (const line of own) {
    const verdict =
      judgeBeats(logs, topic, proposal, layout, line.line) ?? ownWord(topic, proposal, line);
    if (verdict !== undefined) return verdict === WAITS ? undefined : verdict;
    proposal.judgedTo = line.line;
  }
  const verdict = judgeBeats(logs, topic, proposal, layout, Infinity);
  return verdict === WAITS ? undefined : verdict;
}

/** What a line of the proposer's own decides. */
function ownWord(topic: Topic, proposal: Proposal, line: TopicLine): Verdict {
  const decides = (status: Outcome["status"]): Outcome => outcomeBy(status, line, []);
  switch (line.says) {
    case "revert":
      return line.target === proposal.id ? decides("reverted") : undefined;
    case "proposal": {
      const own = findLine(topic, proposal.id);
      return own !== undefined && inSameThread(topic, line, own)
        ? decides("superseded")
        : undefined;
    }
    case "ack": {
      const withdraws = ackWithdraws(topic, proposal, line);
      if (withdraws === undefined) return WAITS;
      return withdraws ? decides("withdrawn") : undefined;
    }
  }
}

/**
 * Spec 3.4: an approving ack of another party's proposal in the thread with a lower event id.
 * `undefined`: we do not hold yet what it names.
 */
export function ackWithdraws(
  topic: Topic,
  proposal: Proposal,
  ack: TopicLine,
): boolean | undefined {
  const { target } = ack;
  if (!ack.approves || target === undefined || target >= proposal.id) return false;
  const own = findLine(topic, proposal.id);
  const named = findLine(topic, target);
  if (named === undefined) return topic.others.has(target) ? false : undefined;
  if (named.says !== "proposal" || named.from === proposal.from) return false;
  return own !== undefined && inSameThread(topic, named, own);
}

/** The beats after `judgedTo` and before a line of the proposer's log. */
function judgeBeats(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  layout: Layout,
  before: number,
): Verdict {
  if (proposal.problem !== undefined) return undefined;
  for (const beat of beatsFrom(logs, proposal.log, proposal.judgedTo + 1)) {
    if (beat.line >= before) break;
    const verdict = judgeBeat(logs, topic, proposal, layout, beat);
    if (verdict !== undefined) return verdict;
    proposal.judgedTo = beat.line;
  }
  return undefined;
}

function judgeBeat(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  layout: Layout,
  beat: BeatMark,
): Verdict {
  const voices: Voice[] = [];
  for (const party of proposal.required) {
    const voice = voiceAt(logs, topic, proposal, answerLogName(layout, proposal, party), beat);
    if (voice === undefined) return WAITS;
    voices.push(voice);
  }
  const by = { id: beat.id, log: proposal.log, line: beat.line, timestamp: beat.timestamp };
  if (voices.some((voice) => voice.rejection !== undefined)) return outcomeBy("rejected", by, []);
  const acks = voices.flatMap((voice) => voice.ack ?? []);
  return acks.length === voices.length ? outcomeBy("ratified", by, acks) : undefined;
}

/** A party's voice among the lines that the beat's heads cover; `undefined`: not all are held. */
function voiceAt(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  answers: string,
  beat: BeatMark,
): Voice | undefined {
  const covered = coverageAt(logs, proposal.log, beat.line, answers);
  if (covered === undefined) return undefined;
  const lines = linesOf(topic, answers).filter(
    (line) =>
      line.line <= covered && !namedRefused(logs, proposal.log, beat.line, answers, line.line),
  );
  return voiceOf(
    topic,
    proposal,
    lines,
    (ack) => bareAckMeans(logs, topic, proposal, ack),
    (id) => standsCovered(topic, id, proposal, beat, answers, covered),
  );
}

/** Whether that id is a message of the thread that is no proposal, in lines that all hold by now. */
function standsCovered(
  topic: Topic,
  id: string,
  proposal: Proposal,
  beat: BeatMark,
  answers: string,
  covered: number,
): boolean {
  const named = topic.others.get(id) ?? findLine(topic, id);
  if (named === undefined || ("says" in named && named.says === "proposal")) return false;
  if (named.log === proposal.log) return named.line < beat.line;
  return named.log === answers && named.line <= covered;
}

export function outcomeBy(
  status: Outcome["status"],
  by: {
    readonly id: string;
    readonly log: string;
    readonly line: number;
    readonly timestamp: string;
  },
  ackIds: readonly string[],
): Outcome {
  return { status, by: by.id, log: by.log, line: by.line, at: by.timestamp, ackIds };
}
