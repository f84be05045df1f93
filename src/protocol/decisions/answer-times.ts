import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";
import type { Env } from "../env.ts";
import { deadlineCadence } from "../heartbeats/liveness.ts";
import { firstBeatCovering, firstBeatReading, lastBeat, readUpTo } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { answerLogName } from "./party-position.ts";
import type { Proposal } from "./proposal.ts";

const HEARTBEATS_TO_ANSWER = 2;

/** How far a proposal has come with a required party, and when the time of that party ends. */
export interface PartyTime {
  /** `busy`: read, but all beats since said that the agent is busy. */
  readonly stage: "undelivered" | "unread" | "busy" | "read";
  /** When it was read by an agent that was not busy, by our clock. */
  readonly readAt: number | undefined;
  readonly endsMs: number;
  /** How long it has from its reading on, in milliseconds, unless `due` or `endsMs` is later or earlier. */
  readonly fromReadingMs: number;
}

/**
 * Spec 3.4, "Deadlines": the time of a party runs from its first live beat that covers the proposal
 * as read and does not say `busy`; before that only the time of the whole proposal runs.
 */
export function partyTime(proposal: Proposal, party: string, logs: LogsState, env: Env): PartyTime {
  const log = answerLogName(env.layout, proposal, party);
  const readAt = readingOf(proposal, party, logs, env);
  const answerMs = env.policy.answerTimes.answerMinutes * MINUTE_MS;
  const leastMs = HEARTBEATS_TO_ANSWER * deadlineCadence(lastBeat(logs, log)?.cadenceMs, env);
  const fromReadingMs = proposal.dueMs === undefined ? Math.max(leastMs, answerMs) : leastMs;
  if (readAt === undefined) {
    const stage = stageBefore(proposal, log, logs);
    const endsMs = Math.max(lastCallMs(proposal, env), proposal.dueMs ?? 0);
    return { stage, readAt, endsMs, fromReadingMs };
  }
  const endsMs = Math.max(readAt + fromReadingMs, proposal.dueMs ?? 0);
  return { stage: "read", readAt, endsMs, fromReadingMs };
}

/** When the first beat came that begins the time of a party; the fold keeps it for our own. */
export function readingOf(
  proposal: Proposal,
  party: string,
  logs: LogsState,
  env: Env,
): number | undefined {
  const known = proposal.readings.get(party);
  if (known !== undefined) return known.at;
  const { log, line, at } = proposal;
  const answers = answerLogName(env.layout, proposal, party);
  return firstBeatReading(logs, answers, log, line, { liveOnly: true, writtenAt: at })?.at;
}

/** Until when a proposal stays open for those who have not read it, without `body.due`. */
export function lastCallMs({ at }: Proposal, { policy }: Env): number {
  return at + policy.answerTimes.proposalHours * HOUR_MS;
}

function stageBefore(
  { log, line, at }: Proposal,
  answers: string,
  logs: LogsState,
): PartyTime["stage"] {
  const covering = firstBeatCovering(logs, answers, log, line, { liveOnly: false, writtenAt: at });
  if (covering === undefined) return "undelivered";
  const isRead = logs.get(answers)?.headsFrom === undefined || readUpTo(logs, answers, log) >= line;
  return isRead ? "busy" : "unread";
}
