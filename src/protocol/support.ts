import type { Layout } from "../wire/layout.ts";
import { answerLog } from "../wire/layout.ts";
import { firstBeatCovering, type LogsState } from "./logs.ts";
import type { Proposal } from "./proposal.ts";
import { findLine, inSameThread, linesOf, type Topic, type TopicLine } from "./topic.ts";

/** What one party has said of a proposal, among lines that count. Spec 3.4, "Answering". */
export interface Voice {
  /** The proposal that it supports, by the last of its approving acks and own proposals. */
  readonly support: string | undefined;
  /** The ack that supports this very proposal. */
  readonly ack: string | undefined;
  /** Its last word on this very proposal is a rejection. */
  readonly rejection: string | undefined;
}

/** The log in which a required party answers that proposal. */
export function answerLogName(layout: Layout, proposal: Proposal, party: string): string {
  const log = layout.logs.get(proposal.log);
  const answer = log === undefined ? undefined : answerLog(layout, log, party);
  if (answer === undefined) throw new Error(`${party} has no log that answers ${proposal.log}`);
  return answer.name;
}

/**
 * The voice of a party, from those of its lines that count, in the order of its log. An ack of what
 * is known to be no proposal says nothing; `isKnownOther` must depend on the logs alone.
 */
export function voiceOf(
  topic: Topic,
  proposal: Proposal,
  lines: readonly TopicLine[],
  means: (ack: TopicLine) => boolean,
  isKnownOther: (id: string) => boolean,
): Voice {
  const own = findLine(topic, proposal.id);
  let support: string | undefined;
  let ack: string | undefined;
  let rejection: string | undefined;
  for (const line of lines) {
    if (own === undefined || !inSameThread(topic, line, own)) continue;
    if (line.says === "proposal") {
      support = line.id;
      ack = undefined;
    }
    if (line.says !== "ack") continue;
    const target = line.bare ? (means(line) ? proposal.id : undefined) : line.target;
    if (target === undefined || isKnownOther(target)) continue;
    if (line.approves) {
      support = target;
      ack = target === proposal.id ? line.id : undefined;
    }
    if (target === proposal.id) rejection = line.approves ? undefined : line.id;
  }
  return { support, ack, rejection };
}

/** The proposer's proposals in the thread, in the order of its log. */
export function siblingsOf(topic: Topic, proposal: Proposal): TopicLine[] {
  const own = findLine(topic, proposal.id);
  return linesOf(topic, proposal.log).filter(
    (line) => line.says === "proposal" && own !== undefined && inSameThread(topic, line, own),
  );
}

/**
 * Whether a bare ack means that chained proposal: if it was the proposer's only one in the thread
 * before the proposer's first beat that covers the ack. Spec 3.4.
 */
export function bareAckMeans(
  logs: LogsState,
  topic: Topic,
  proposal: Proposal,
  ack: TopicLine,
): boolean {
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
export function bareAckMeansByTime(topic: Topic, proposal: Proposal, ack: TopicLine): boolean {
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
