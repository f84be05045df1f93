import { answerLog, type Log } from "../../wire/layout.ts";
import { readersAddressed } from "../addressing.ts";
import type { Env } from "../env.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import { asContinued } from "../logs/continued.ts";
import { claimLine, type ClaimLine } from "./claim-line.ts";
import {
  addClaim,
  allClaims,
  keepAhead,
  takeAhead,
  type Claim,
  type ClaimAnswer,
  type ClaimsState,
} from "./claims-state.ts";

type Said<Is extends ClaimLine["is"]> = Extract<ClaimLine, { readonly is: Is }>;

/**
 * Folds an event after the logs have. Returns the claims about which the line says something. A claim
 * that we refuse binds nobody here; a release and an answer count whether or not we refuse them.
 * Spec 3.7.
 */
export function applyClaims(state: ClaimsState, event: CoreEvent, env: Env): readonly Claim[] {
  if (event.kind !== "line" || !isFolded(event)) return [];
  const says = claimLine(event.message);
  if (says === undefined) return [];
  // What was claimed in a closed log is released and answered in an outbox.
  const continued = says.is === "claim" ? [] : asContinued(event, env.layout);
  return [event, ...continued].flatMap((each) => takeLine(state, each, says, env));
}

function takeLine(
  state: ClaimsState,
  event: LineEvent,
  says: ClaimLine,
  env: Env,
): readonly Claim[] {
  const log = env.layout.logs.get(event.log);
  if (log === undefined) return [];
  switch (says.is) {
    case "claim":
      return event.refused === undefined ? takeClaim(state, event, says, log, env) : [];
    case "release":
      return takeRelease(state, event);
    case "answer":
      return takeAnswer(state, event, says, log, env);
  }
}

function takeClaim(
  state: ClaimsState,
  event: LineEvent,
  { paths, mode, ttlMs, reason }: Said<"claim">,
  log: Log,
  env: Env,
): Claim[] {
  const { message, line, at, live } = event;
  const { id, correlationId, timestampMs } = message;
  const to = readersAddressed(message, log, env);
  const claim: Claim = {
    id,
    log: log.name,
    line,
    from: log.owner,
    to,
    correlationId,
    paths,
    mode,
    reason,
    ttlMs,
    at,
    live,
    timestampMs,
    isReleased: false,
    answers: new Map(),
  };
  if (!addClaim(state, claim, at)) return [];
  for (const handle of to) {
    const answers = answerLog(env.layout, log, handle);
    const answer = answers === undefined ? undefined : takeAhead(state, answers.name, id);
    if (answer !== undefined) claim.answers.set(handle, answer);
  }
  return [claim];
}

function takeRelease(state: ClaimsState, { log, message }: LineEvent): Claim[] {
  const ended = (state.byLog.get(log) ?? []).filter(
    ({ correlationId, isReleased }) => correlationId === message.correlationId && !isReleased,
  );
  for (const claim of ended) claim.isReleased = true;
  return ended;
}

/** The last of its log counts, in whatever order logs are read. */
function takeAnswer(
  state: ClaimsState,
  { message, line }: LineEvent,
  { claim: id, grants, reason }: Said<"answer">,
  log: Log,
  env: Env,
): Claim[] {
  const answer: ClaimAnswer = { id: message.id, line, grants, reason };
  const claim = allClaims(state).find((each) => each.id === id);
  if (claim === undefined) {
    keepAhead(state, log.name, id, answer);
    return [];
  }
  const of = env.layout.logs.get(claim.log);
  const isAddressed = of !== undefined && claim.to.includes(log.owner);
  if (!isAddressed || answerLog(env.layout, of, log.owner)?.name !== log.name) return [];
  claim.answers.set(log.owner, answer);
  return [claim];
}
