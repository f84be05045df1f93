import { answerLog, logsBefore, type Layout } from "../../wire/layout.ts";
import { lineAfter } from "../logs/continued.ts";
import { firstBeatCovering, isBeatOf, namedRefused } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { kindOf, knownLine, type KnownLines } from "../logs/known-lines.ts";
import type { Outcome, Proposal } from "./proposal.ts";
import { linesOf, type Topic, type TopicLine } from "./proposal-thread.ts";

/** What a proposal is judged by: the lines of its thread, and all logs' beats. Spec 3.4. */
export interface Case {
  readonly logs: LogsState;
  readonly layout: Layout;
  readonly names: KnownLines;
  readonly topic: Topic;
  /** Those of the thread. */
  proposals(): readonly Proposal[];
  /** What logs of ackers were found to decide of unchained proposals, by acker's and proposer's log. */
  readonly byAcker: Map<string, ByAcker>;
}

/** What one log decides of the unchained proposals that it answers. */
export interface ByAcker {
  readonly judged: ReadonlyMap<string, Decided>;
  /** Its acks that ratify one of them. */
  readonly ratifying: ReadonlySet<string>;
}

export interface Decided {
  readonly outcome: Outcome;
  /** The line of the acker's log that decided. */
  readonly place: number;
  readonly settled: boolean;
}

/** What a party thinks of a proposal, by those of its lines that count. Spec 3.4, "Answering". */
export interface Position {
  /** The proposal that it supports, by the last of its approving acks and own proposals. */
  readonly support: string | undefined;
  /** The ack that supports this very proposal. */
  readonly ack: string | undefined;
  /** Its last answer to this very proposal, if that is a rejection. */
  readonly rejection: string | undefined;
  /** Acks that name what is in neither log. That is final once a beat has been judged by it. */
  readonly elsewhere: readonly string[];
}

/** The log in which a required party answers that proposal. */
export function answerLogName(layout: Layout, proposal: Proposal, party: string): string {
  const log = layout.logs.get(proposal.log);
  const answer = log === undefined ? undefined : answerLog(layout, log, party);
  if (answer === undefined) throw new Error(`${party} has no log that answers ${proposal.log}`);
  return answer.name;
}

/**
 * The position of a party. Outcome, deadline and view all ask this function, so they never differ.
 *
 * @param lines those lines of the party that count, in the order of its log
 * @param before the line of the beat that is judged: an ack can name only those lines of the
 *   proposer's log that come before it. What is elsewhere by then stays elsewhere. Otherwise the
 *   proposer could add that line later and change what its beat has decided.
 */
export function positionOf(
  of: Case,
  proposal: Proposal,
  lines: readonly TopicLine[],
  before: number,
): Position {
  let support: string | undefined;
  let ack: string | undefined;
  let rejection: string | undefined;
  const elsewhere: string[] = [];
  for (const line of lines) {
    if (line.says === "proposal") {
      support = line.id;
      ack = undefined;
    }
    const target = line.says === "ack" ? ackTarget(of, proposal, line) : undefined;
    if (target === undefined) continue;
    if (target === proposal.id) {
      rejection = line.approves ? undefined : line.id;
      if (line.approves) [support, ack] = [target, line.id];
    } else if (line.approves) {
      const place = placeOf(of, proposal, line, target, before);
      if (place === "elsewhere") elsewhere.push(line.id);
      if (place === "other" || (place === "elsewhere" && !line.explicit)) continue;
      [support, ack] = [target, undefined];
    }
  }
  return { support, ack, rejection, elsewhere };
}

/** What an ack names; of a bare one the proposal that it means. */
export function ackTarget(of: Case, proposal: Proposal, ack: TopicLine): string | undefined {
  if (!ack.bare) return ack.target;
  return bareAckMeans(of, proposal, ack) ? proposal.id : undefined;
}

/**
 * What an ack names, as far as the log that it is in and the proposer's log tell: every reader who
 * judges the beat holds both. Spec 3.4: what is elsewhere supports only when the ack says so.
 */
function placeOf(
  { logs, names, layout }: Case,
  proposal: Proposal,
  ack: TopicLine,
  target: string,
  before: number,
): "proposal" | "other" | "elsewhere" {
  if (ack.namesOwn !== undefined) return ack.namesOwn;
  if (proposal.elsewhere.has(ack.id)) return "elsewhere";
  const named = knownLine(names, proposal.log, target);
  if (named !== undefined && named.line < before) return kindOf(named);
  if (isBeatOf(logs, proposal.log, target, before)) return "other";
  // All of a closed log comes before the outbox that goes on with it, whose lines are not asked here.
  for (const closed of closedBefore(layout, proposal)) {
    const earlier = knownLine(names, closed, target);
    if (earlier !== undefined && earlier.line < lineAfter(0)) {
      return kindOf(earlier);
    }
    if (isBeatOf(logs, closed, target, lineAfter(0))) return "other";
  }
  return "elsewhere";
}

function closedBefore(layout: Layout, proposal: Proposal): readonly string[] {
  const log = layout.logs.get(proposal.log);
  return log === undefined ? [] : logsBefore(layout, log).map(({ name }) => name);
}

/**
 * The position of a required party by all that we hold now: what the proposer's next beat would
 * count if it covered all of that. Spec 3.4: silence is judged by nothing else.
 */
export function positionSoFar(of: Case, proposal: Proposal, party: string): Position {
  const answers = answerLogName(of.layout, proposal, party);
  if (!proposal.chained) return positionByAnswer(firstAnswer(of, proposal, answers), proposal);
  return positionOf(of, proposal, linesCounted(of, proposal, answers, Infinity), Infinity);
}

/**
 * The lines of a party that the proposer does not refuse by its beat at `before`; Infinity: by what
 * it has refused so far. A proposal of the party that the proposer has agreed to counts in any
 * case: if a refusal hid the party's change of mind, both proposals could be ratified. See
 * docs/decisions/023.
 */
export function linesCounted(
  { logs, topic }: Case,
  proposal: Proposal,
  answers: string,
  before: number,
): TopicLine[] {
  const acks = linesOf(topic, proposal.log).filter(
    ({ line, approves }) => approves && line < before,
  );
  const agreedTo = new Set(acks.map(({ target }) => target));
  const isRefused = ({ line, refusedByUs }: TopicLine): boolean =>
    namedRefused(logs, proposal.log, before, answers, line) ||
    // The next beat of ours names it.
    (before === Infinity && proposal.own && refusedByUs);
  return linesOf(topic, answers).filter(
    (line) => (line.says === "proposal" && agreedTo.has(line.id)) || !isRefused(line),
  );
}

function positionByAnswer(answer: TopicLine | undefined, { id }: Proposal): Position {
  const none = { support: undefined, ack: undefined, rejection: undefined, elsewhere: [] };
  if (answer === undefined) return none;
  return answer.approves
    ? { ...none, support: id, ack: answer.id }
    : { ...none, rejection: answer.id };
}

/** The first ack or rejection of an unchained proposal in the acker's log decides it. */
export function firstAnswer(of: Case, proposal: Proposal, answers: string): TopicLine | undefined {
  return linesOf(of.topic, answers).find(
    (line) => line.says === "ack" && ackTarget(of, proposal, line) === proposal.id,
  );
}

/** The proposer's proposals in the thread, in the order of its log. */
function siblingsOf(topic: Topic, proposal: Proposal): TopicLine[] {
  return linesOf(topic, proposal.log).filter((line) => line.says === "proposal");
}

/** Whether a bare ack means that proposal. Spec 3.4, "Answering". */
function bareAckMeans(of: Case, proposal: Proposal, ack: TopicLine): boolean {
  return proposal.chained ? meansByBeats(of, proposal, ack) : meansByTime(of, proposal, ack);
}

/** A chained one: if it was the proposer's only one before its first beat that covers the ack. */
function meansByBeats({ logs, topic }: Case, proposal: Proposal, ack: TopicLine): boolean {
  const covering = firstBeatCovering(logs, proposal.log, ack.log, ack.line, { liveOnly: false });
  const before = covering?.line ?? Infinity;
  return isOnly(
    siblingsOf(topic, proposal).filter((line) => line.line < before),
    proposal,
  );
}

/**
 * The same for an unchained proposer, who has no heads: by timestamps. After a chained proposal of
 * the same agent in the thread it means none that is unchained, so that one ack never means two.
 */
function meansByTime({ topic }: Case, proposal: Proposal, ack: TopicLine): boolean {
  const siblings = siblingsOf(topic, proposal);
  if (siblings.some((line) => line.chained && line.line < proposal.line)) return false;
  return isOnly(
    siblings.filter((line) => line.timestampMs <= ack.timestampMs),
    proposal,
  );
}

function isOnly(lines: readonly TopicLine[], proposal: Proposal): boolean {
  return lines.length === 1 && lines[0]?.id === proposal.id;
}
