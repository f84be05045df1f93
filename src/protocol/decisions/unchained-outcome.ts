import {
  beatsFrom,
  coveredAt,
  firstBeatCovering,
  hasHeadsBefore,
  namedRefused,
} from "../logs/covering-beats.ts";
import { knownLine } from "../logs/known-lines.ts";
import { outcomeBy, type Judgement, type Outcome, type Proposal } from "./proposal.ts";
import {
  ackTarget,
  answerLogName,
  firstAnswer,
  type ByAcker,
  type Case,
  type Decided,
} from "./party-position.ts";
import { linesOf, type TopicLine } from "./proposal-thread.ts";

/**
 * A proposer without heads: the acker's log decides. Where the acker has no heads either, and has
 * proposed nothing on a chained line, timestamps do. Spec 3.4.
 */
export function judgeUnchained(of: Case, proposal: Proposal): Judgement {
  const [party] = proposal.required;
  if (party === undefined) return { outcome: undefined, settled: false };
  const answers = answerLogName(of.layout, proposal, party);
  const answer = firstAnswer(of, proposal, answers);
  const before = answer?.line ?? Infinity;
  const decidesByLog =
    answer?.chained === true ||
    hasHeadsBefore(of.logs, answers, before) ||
    isMixed(of, answers, proposal.log, before);
  if (!decidesByLog) return byTimestamps(of, proposal, answers, answer);
  const judged = byAcker(of, answers, proposal.log).judged.get(proposal.key);
  if (judged === undefined) return { outcome: undefined, settled: false };
  // What a bare ack means depends on timestamps of lines that may still come.
  const isBareBefore = linesOf(of.topic, answers).some(
    ({ bare, line }) => bare && line <= judged.place,
  );
  return { outcome: judged.outcome, settled: judged.settled && !isBareBefore };
}

/** Whether that ack in a chained proposer's log ratifies an unchained proposal of the other party. */
export function ratifiesUnchained(of: Case, proposal: Proposal, ack: TopicLine): boolean {
  const [party, ...more] = proposal.required;
  if (party === undefined || more.length > 0) return false;
  const proposerLog = answerLogName(of.layout, proposal, party);
  return byAcker(of, proposal.log, proposerLog).ratifying.has(ack.id);
}

/** Read once for all proposals and acks: their authors may write as many as a thread holds. */
function byAcker(of: Case, answers: string, proposerLog: string): ByAcker {
  const key = `${answers} ${proposerLog}`;
  const known = of.byAcker.get(key);
  if (known !== undefined) return known;
  const judged = readAckersLog(of, answers, proposerLog);
  const outcomes = [...judged.values()].map(({ outcome }) => outcome);
  const ratified = outcomes.filter(({ status }) => status === "ratified");
  const read = { judged, ratifying: new Set(ratified.map(({ by }) => by)) };
  of.byAcker.set(key, read);
  return read;
}

type Decisions = readonly (readonly [key: string, judged: Decided])[];

/** A line of the acker's log that may decide. For one line, what takes a proposal back comes first. */
interface Step {
  readonly line: number;
  readonly order: number;
  /** It may come to decide more: what later lines decide is not settled before that is known. */
  readonly isUnsure?: boolean;
  /** What it decides of those that are open; `undefined`: we lack lines that would tell. */
  take(open: ReadonlyMap<string, Proposal>): Decisions | undefined;
}

/**
 * The unchained proposals of one party, by the log of the party that answers them: its first answer
 * to each, unless its heads before that cover what takes the proposal back. When it has proposed on
 * chained lines itself the thread is *mixed*: the first proposal that this log ratifies, of
 * whichever side, withdraws the others that are open. Spec 3.4.
 */
function readAckersLog(
  of: Case,
  answers: string,
  proposerLog: string,
): ReadonlyMap<string, Decided> {
  const proposals = of
    .proposals()
    .filter((each) => !each.chained && each.problem === undefined && each.log === proposerLog);
  const open = new Map(proposals.map((each) => [each.key, each]));
  const judged = new Map<string, Decided>();
  const steps = [
    ...proposals.flatMap((each) => takenBack(of, each, answers)),
    ...rivalsIn(of, answers, proposerLog).flatMap((rival) => rivalRatified(of, rival, proposerLog)),
    ...acksIn(of, answers).map((ack) => answered(of, ack, proposerLog)),
  ];
  let isSure = true;
  for (const step of steps.sort((a, b) => a.line - b.line || a.order - b.order)) {
    if (coveredAt(of.logs, answers, step.line - 1, proposerLog) === undefined) break;
    const decided = step.take(open);
    if (decided === undefined) break;
    if (step.isUnsure === true) isSure = false;
    for (const [key, each] of decided) {
      judged.set(key, isSure ? each : { ...each, settled: false });
      open.delete(key);
    }
  }
  return judged;
}

function acksIn({ topic }: Case, log: string): TopicLine[] {
  return linesOf(topic, log).filter(({ says }) => says === "ack");
}

/** The chained proposals of the acker that ask the other party alone. */
function rivalsIn(of: Case, answers: string, proposerLog: string): Proposal[] {
  return of.proposals().filter((each) => {
    const [party, ...more] = each.required;
    if (!each.chained || each.log !== answers || party === undefined || more.length > 0)
      return false;
    return answerLogName(of.layout, each, party) === proposerLog;
  });
}

function isMixed(of: Case, answers: string, proposerLog: string, before: number): boolean {
  return rivalsIn(of, answers, proposerLog).some(({ line }) => line < before);
}

/** The proposer's first revert or newer proposal that the acker's heads cover. */
function takenBack(of: Case, proposal: Proposal, answers: string): Step[] {
  for (const stop of stopsOf(of, proposal)) {
    const question = { liveOnly: false };
    const beat = firstBeatCovering(of.logs, answers, proposal.log, stop.line, question);
    if (beat === undefined) break;
    if (namedRefused(of.logs, answers, beat.line, proposal.log, stop.line)) continue;
    const outcome = outcomeBy(STOPPED[stop.says], stop, []);
    const judged = { outcome, place: beat.line, settled: true };
    const take: Step["take"] = (open) => (open.has(proposal.key) ? [[proposal.key, judged]] : []);
    return [{ line: beat.line, order: 0, take }];
  }
  return [];
}

/** The acker's beat that ratifies a proposal of its own withdraws those that its heads cover. */
function rivalRatified(of: Case, { outcome, log }: Proposal, proposerLog: string): Step[] {
  if (outcome?.status !== "ratified") return [];
  const { by: id, line, at: timestamp } = outcome;
  const isCovered = coveredAt(of.logs, log, line, proposerLog);
  const withdrawn = outcomeBy("withdrawn", { id, log, line, timestamp }, []);
  const judged = { outcome: withdrawn, place: line, settled: true };
  const take: Step["take"] = (open) =>
    [...open.values()].filter((each) => isCovered?.(each.line)).map(({ key }) => [key, judged]);
  return [{ line, order: 1, take }];
}

function answered(of: Case, ack: TopicLine, proposerLog: string): Step {
  const take: Step["take"] = (open) => {
    const all = [...open.values()];
    const proposal = all.find((each) => ackTarget(of, each, ack) === each.id);
    if (proposal === undefined) return [];
    const { log, line } = ack;
    const decided = (outcome: Outcome, settled = true): Decided => ({
      outcome,
      place: line,
      settled,
    });
    if (!ack.approves) return [[proposal.key, decided(outcomeBy("rejected", ack, []))]];
    const ratified = outcomeBy("ratified", ack, [ack.id]);
    if (!isMixed(of, log, proposerLog, line)) return [[proposal.key, decided(ratified)]];
    const read = wasRead(of, ack, proposal);
    if (read === undefined) return undefined;
    if (read === false) return [];
    const isSettled = read === true;
    const isCovered = coveredAt(of.logs, log, line, proposerLog);
    const others = all.filter((each) => each !== proposal && isCovered?.(each.line));
    const withdrawn = decided(outcomeBy("withdrawn", ack, []), isSettled);
    return [
      [proposal.key, decided(ratified, isSettled)],
      ...others.map(({ key }) => [key, withdrawn] as const),
    ];
  };
  return { line: ack.line, order: 2, take, isUnsure: namesUnknown(of, ack, proposerLog) };
}

/**
 * Whether an ack in a mixed thread names a line that we do not hold and that its author may have read:
 * its next beat tells. If it is a proposal, the ack ratifies it and withdraws others.
 */
function namesUnknown(of: Case, ack: TopicLine, proposerLog: string): boolean {
  if (!ack.approves || ack.target === undefined) return false;
  if (knownLine(of.names, proposerLog, ack.target) !== undefined) return false;
  if (!isMixed(of, ack.log, proposerLog, ack.line)) return false;
  return beatsFrom(of.logs, ack.log, ack.line + 1).length === 0;
}

/**
 * Whether the author of an ack had read that proposal: its heads cover it by then, or at its next
 * beat. `undefined`: we lack lines that would tell.
 */
function wasRead(
  { logs }: Case,
  ack: TopicLine,
  proposal: Proposal,
): boolean | "no beat yet" | undefined {
  const [next] = beatsFrom(logs, ack.log, ack.line + 1);
  const isCovered = (line: number): boolean | undefined =>
    coveredAt(logs, ack.log, line, proposal.log)?.(proposal.line);
  if (isCovered(ack.line) === true) return true;
  return next === undefined ? "no beat yet" : isCovered(next.line);
}

/** The proposer's lines that take the proposal back: its reverts and newer proposals. */
function stopsOf({ topic }: Case, proposal: Proposal): Stop[] {
  return linesOf(topic, proposal.log).filter((line): line is Stop => {
    if (line.line <= proposal.line) return false;
    return line.says === "revert" ? line.target === proposal.id : line.says === "proposal";
  });
}

type Stop = TopicLine & { readonly says: keyof typeof STOPPED };
const STOPPED = { revert: "reverted", proposal: "superseded", ack: "withdrawn" } as const;

/** Two parties without heads: what is dated first decides. They can shift it, and docs say so. */
function byTimestamps(
  of: Case,
  proposal: Proposal,
  answers: string,
  answer: TopicLine | undefined,
): Judgement {
  const until = answer?.timestampMs ?? Infinity;
  const stops = [...stopsOf(of, proposal), ...withdrawals(of, proposal, answers)];
  let first: Stop | undefined;
  for (const line of stops) {
    if (line.timestampMs < until && (first === undefined || isBefore(line, first))) first = line;
  }
  if (first !== undefined) {
    return { outcome: outcomeBy(STOPPED[first.says], first, []), settled: false };
  }
  if (answer === undefined) return { outcome: undefined, settled: false };
  const outcome = answer.approves
    ? outcomeBy("ratified", answer, [answer.id])
    : outcomeBy("rejected", answer, []);
  return { outcome, settled: false };
}

function isBefore(a: TopicLine, b: TopicLine): boolean {
  return a.timestampMs === b.timestampMs ? a.line < b.line : a.timestampMs < b.timestampMs;
}

/** The proposer's approving acks of the other's proposals in the thread with a lower id. */
function withdrawals(of: Case, proposal: Proposal, answers: string): Stop[] {
  return linesOf(of.topic, proposal.log).filter((line): line is Stop => {
    if (line.says !== "ack" || !line.approves || line.line <= proposal.line) return false;
    const target = line.bare ? soleRival(of, answers, line) : line.target;
    if (target === undefined || target >= proposal.id) return false;
    return knownLine(of.names, answers, target)?.proposalIn === of.topic.key;
  });
}

/** The other party's only proposal in the thread by the time of a bare ack. */
function soleRival({ topic }: Case, answers: string, ack: TopicLine): string | undefined {
  const rivals = linesOf(topic, answers).filter(
    (line) => line.says === "proposal" && line.timestampMs <= ack.timestampMs,
  );
  return rivals.length === 1 ? rivals[0]?.id : undefined;
}
