import { fromPlain } from "../../wire/json/json.ts";
import { quote } from "../../wire/quote.ts";
import { holdsAllOf } from "../addressing.ts";
import type { Effect } from "../effects.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { Proposal } from "./proposal.ts";
import { proposalsIn, type ProposalsState } from "./proposals-state.ts";
import type { Env, Now } from "../env.ts";
import { caseOf } from "./proposals.ts";
import { lastCallMs, partyTime, type PartyTime } from "./answer-times.ts";
import { answerLogName, positionSoFar } from "./party-position.ts";
import { hasRoom, linesOf, type Topic } from "./proposal-thread.ts";

/** Our proposals that end by time or by a sibling, and threads that do not converge. Spec 3.4. */
export function decideProposals(
  state: ProposalsState,
  logs: LogsState,
  env: Env,
  now: Now,
): Effect[] {
  const effects: Effect[] = [];
  for (const key of state.running) {
    const proposal = state.proposals.get(key);
    const topic = proposal === undefined ? undefined : state.topics.get(proposal.topic);
    if (proposal === undefined || topic === undefined || isReverted(proposal, topic)) continue;
    // Nobody would read the revert: nothing that can come ends such a proposal, and views say so.
    if (!hasRoom(topic, proposal.log)) continue;
    const sibling = replacing(state, proposal, topic);
    if (sibling !== undefined) {
      effects.push(replacedBy(proposal, sibling));
      continue;
    }
    const asked = partiesAsked(state, proposal, topic, logs, env);
    const late = overdueParty(proposal, asked, env, now);
    if (late !== undefined) effects.push(...revert(proposal, late, asked));
  }
  for (const key of state.diverging) {
    const topic = state.topics.get(key);
    if (topic !== undefined) effects.push(notConverging(topic));
  }
  return effects;
}

/** A required party of an open proposal of ours. */
interface Asked {
  readonly party: string;
  readonly log: string;
  readonly time: PartyTime;
  /** It has agreed or rejected, by all that we hold. */
  readonly hasAnswered: boolean;
  /** It has left, and we hold all that it wrote before: nothing is waited for any more. Spec 3.4. */
  readonly hasLeft: boolean;
}

/** A counter stops nothing. An ack that we have read is not late, even if no beat of ours covers it. */
function partiesAsked(
  state: ProposalsState,
  proposal: Proposal,
  topic: Topic,
  logs: LogsState,
  env: Env,
): Asked[] {
  const of = caseOf(state, topic, env, logs);
  return proposal.required.map((party) => {
    const { ack, rejection } = positionSoFar(of, proposal, party);
    return {
      party,
      log: answerLogName(env.layout, proposal, party),
      time: partyTime(proposal, party, logs, env),
      hasAnswered: ack !== undefined || rejection !== undefined,
      hasLeft: holdsAllOf(party, answerLogName(env.layout, proposal, party), logs, env),
    };
  });
}

/** The first required party whose time is over while the logs concerned are read to their end. */
function overdueParty(
  proposal: Proposal,
  asked: readonly Asked[],
  env: Env,
  now: Now,
): Asked | undefined {
  const left = asked.find(({ hasAnswered, hasLeft }) => !hasAnswered && hasLeft);
  if (left !== undefined) return left;
  const overdue = asked.find(({ hasAnswered, time }) => !hasAnswered && now.wallMs >= time.endsMs);
  if (overdue === undefined) return undefined;
  const isLastCall = now.wallMs >= lastCallMs(proposal, env);
  // Spec 2.4, 3.4: what we hold back ourselves is waited for, but not longer than that.
  const isRead = asked.every(({ log }) =>
    env.reading.holdsBack(log) ? isLastCall : env.reading.caughtUp(log, overdue.time.endsMs),
  );
  return isRead ? overdue : undefined;
}

function isReverted(proposal: Proposal, topic: Topic): boolean {
  return linesOf(topic, proposal.log).some(
    (line) => line.says === "revert" && line.target === proposal.id,
  );
}

/**
 * A ratified sibling to which we have agreed after this proposal, and not rejected since. One that
 * we have not agreed to replaces nothing. Spec 3.4, `replaced`.
 */
function replacing(
  state: ProposalsState,
  { id, log, line, from }: Proposal,
  topic: Topic,
): Proposal | undefined {
  const acks = linesOf(topic, log).filter((each) => each.says === "ack" && each.line > line);
  return proposalsIn(state, topic).find((sibling) => {
    if (sibling.id === id || sibling.from === from) return false;
    if (sibling.outcome?.status !== "ratified") return false;
    return acks.findLast(({ target }) => target === sibling.id)?.approves === true;
  });
}

function replacedBy(proposal: Proposal, sibling: Proposal): Effect {
  const reason = `replaced by ${sibling.from}'s ${quote(sibling.subject)}, which is ratified`;
  return withdrawal(proposal, { reason, replaced_by: sibling.id });
}

function revert(proposal: Proposal, late: Asked, asked: readonly Asked[]): Effect[] {
  const reason = [blame(late), ...whoHasRead(asked)].join("; ");
  return [
    withdrawal(proposal, { reason }),
    {
      do: "tell",
      incident: {
        key: `proposal_silent:${proposal.key}`,
        cause: "proposal_silent",
        peer: late.party,
        subject: `no answer to: ${proposal.subject}`,
        detail: `${reason}; the proposal is reverted. Ask again in a new thread`,
        concernsWire: false,
      },
    },
  ];
}

function withdrawal(proposal: Proposal, said: { reason: string; replaced_by?: string }): Effect {
  return {
    do: "send",
    log: proposal.log,
    draft: {
      to: proposal.required,
      type: "correction",
      subject: `reverted: ${proposal.subject}`,
      body: fromPlain({ corrects: proposal.id, reverts: proposal.id, ...said }),
      correlationId: proposal.correlationId,
    },
  };
}

/** Spec 3.4: only of an agent that has read it do we say that it did not answer. */
function blame({ party, hasLeft, time: { stage, readAt } }: Asked): string {
  if (hasLeft) return `${party} has left this wire`;
  switch (stage) {
    case "read":
      return `${party} read it at ${new Date(readAt ?? 0).toISOString()} and did not answer in time`;
    case "busy":
      return `${party} had read it and was busy or paused until its time was over`;
    case "unread":
      return `it reached ${party}, whose agent had not read it when its time was over`;
    case "undelivered":
      return `it had not reached ${party} when its time was over`;
  }
}

/** Of several parties, which had read it and which had not. */
function whoHasRead(asked: readonly Asked[]): string[] {
  if (asked.length < 2) return [];
  const hasRead = ({ hasAnswered, time: { stage } }: Asked): boolean =>
    hasAnswered || stage === "read" || stage === "busy";
  const names = (parties: readonly Asked[]) => parties.map(({ party }) => party).join(", ");
  const readers = names(asked.filter(hasRead));
  const others = names(asked.filter((each) => !hasRead(each)));
  return [
    ...(readers === "" ? [] : [`read by ${readers}`]),
    ...(others === "" ? [] : [`not read by ${others}`]),
  ];
}

function notConverging(topic: Topic): Effect {
  return {
    do: "tell",
    incident: {
      key: `not_converging:${topic.key}`,
      cause: "not_converging",
      subject: "proposals go back and forth",
      detail: `thread ${quote(topic.correlationId)}: three round trips of counters and no agreement; the operators should talk`,
      concernsWire: false,
    },
  };
}
