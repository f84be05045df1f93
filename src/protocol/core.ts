import { writtenTo } from "../wire/layout.ts";
import { applyAgentNotices, decideAgentNotices } from "./agent-notices/agent-notices.ts";
import { contestedBy, isContested } from "./claims/claim-conflicts.ts";
import { applyClaims } from "./claims/claims.ts";
import { applyAnnouncements, decideAnnouncements } from "./keys/announcements.ts";
import { decideBeats } from "./heartbeats/beats.ts";
import type { BeatTimers } from "./heartbeats/beat-timers.ts";
import { decideClosing } from "./logs/closing.ts";
import { pruneBeats, wantsPruning } from "./logs/coverage.ts";
import { decideProposals } from "./decisions/proposal-deadlines.ts";
import { applyDecisions, decideDecisions } from "./decisions/decisions.ts";
import type { Effect } from "./effects.ts";
import { applyHeartbeats } from "./heartbeats/heartbeats.ts";
import { decideIncidents } from "./incidents/incident-deadlines.ts";
import { applyIncidents } from "./incidents/incidents.ts";
import { applyKeyChanges, decideKeyChanges } from "./keys/key-changes.ts";
import { decideMembers } from "./members/decide-members.ts";
import { decideLayout } from "./logs/layout-change.ts";
import { decideLiveness } from "./heartbeats/liveness.ts";
import { applyLogs } from "./logs/logs.ts";
import { applyMembers } from "./members/member-changes.ts";
import { applyNotices, decideNotices } from "./notices.ts";
import { beatsNeeded, isConflictOpen, makeFinalBefore } from "./decisions/proposals-state.ts";
import { applyProposals } from "./decisions/proposals.ts";
import { applyReceipts } from "./receipts/receipts.ts";
import { unreadCount } from "./receipts/receipts-state.ts";
import { applySendKeys } from "./receipts/send-keys.ts";
import { decideParking } from "./requests/parking.ts";
import { decideRequests } from "./requests/request-deadlines.ts";
import { beatsNeededByRequests } from "./requests/requests-state.ts";
import { applyRequests } from "./requests/requests.ts";
import { applyReciprocations } from "./keys/reciprocations.ts";
import type { CoreEvent } from "./events.ts";
import type { Env, Now } from "./env.ts";
import { safeMode } from "./incidents/safe-mode.ts";
import { setBack } from "./set-back.ts";
import { isEarly } from "./startup.ts";
import type { State } from "./state.ts";
import { applyTally } from "./tally.ts";
import { applyThreads } from "./threads/threads.ts";

/**
 * Folds one event into the state, in place. Folding is not acting: it runs on replay too and causes
 * nothing. Events of one log come in its order; how logs interleave changes no outcome. Spec 3.
 */
export function apply(state: State, event: CoreEvent, env: Env): void {
  const { logs, proposals, receipts, requests } = state;
  if (isKnown(state, event)) return;
  if (event.kind === "set_back") setBack(state, event.at);
  const touched = applyLogs(logs, event, env);
  applyThreads(state.threads, event, env);
  const changed = applyProposals(proposals, event, env, logs, touched);
  applyDecisions(state.decisions, event, env, proposals, logs, changed);
  const answered = applyRequests(requests, event, env, logs, touched);
  const claimed = applyClaims(state.claims, event, env);
  const facts = { claims: state.claims, logs, env, nowMs: event.at };
  const refusals = applyReceipts(receipts, event, env, logs, touched);
  applyHeartbeats(state.heartbeats, event, env, {
    hasUnread: (peer) => unreadCount(receipts, env, peer) > 0,
    contested: contestedBy(facts, event, claimed),
    isConflictOpen: (correlationId) =>
      isConflictOpen(proposals, env, correlationId) || isContested(facts, correlationId),
  });
  applyIncidents(state.incidents, event, env, logs, touched);
  applySendKeys(state.sendKeys, event);
  applyNotices(state.notices, event);
  applyKeyChanges(state.keyChanges, event);
  applyMembers(state.members, event);
  applyReciprocations(state.reciprocations, changed);
  applyAnnouncements(state.announcements, event, env);
  applyTally(state.tally, event);
  applyAgentNotices(state, event, env, {
    proposals: changed,
    requests: answered,
    claims: claimed,
    refusals,
  });
  for (const log of touched) {
    if (!wantsPruning(logs, log)) continue;
    const needed = Math.min(beatsNeeded(proposals, log), beatsNeededByRequests(requests, log));
    makeFinalBefore(proposals, log, pruneBeats(logs, log, needed));
  }
}

/** A line that is folded already changes nothing, e.g. one of the journal that the checkpoint holds. */
function isKnown(state: State, event: CoreEvent): boolean {
  if (event.kind !== "line" && event.kind !== "refused" && event.kind !== "skipped") return false;
  return event.line <= (state.logs.get(event.log)?.lines ?? 0);
}

/**
 * What to do now. It changes nothing: an effect comes again until the event that says it was done
 * is folded.
 */
export function decide(state: State, env: Env, now: Now, timers: BeatTimers): Effect[] {
  const { logs, proposals } = state;
  const effects = [
    ...decideBeats(state, env, now, timers),
    ...decideProposals(proposals, logs, env, now),
    ...decideRequests(state.requests, logs, env, now),
    ...decideParking(state.heartbeats.parking),
    ...decideLayout(proposals, logs, env),
    ...decideDecisions(state.decisions, proposals, logs, env, now),
    ...decideIncidents(state, env, now),
    ...decideLiveness(state.heartbeats, env, now.wallMs),
    ...decideTrust(state, env, now),
    ...decideMembers(state, env),
    ...decideAgentNotices(state, env, now),
  ].filter((effect) => !isEarly(effect, state.heartbeats));
  return told(state, saidNow(state, effects, env), now);
}

/**
 * What is said while our agent moves to its outbox is its closing lines alone; after that what belongs
 * to a closed log is said in the outbox. Spec 1.6.
 */
function saidNow({ logs }: State, effects: readonly Effect[], { layout, self }: Env): Effect[] {
  const closing = decideClosing(logs, { layout, self });
  if (closing.length > 0) {
    return [...closing, ...effects.filter(({ do: what }) => what !== "send" && what !== "beat")];
  }
  return effects.map((effect) => {
    const log = effect.do === "send" ? layout.logs.get(effect.log) : undefined;
    return effect.do === "send" && log !== undefined ? { ...effect, log: writtenTo(log) } : effect;
  });
}

/** The same, without what our operator has been told already. */
function told({ notices }: State, effects: readonly Effect[], { wallMs }: Now): Effect[] {
  const tells = effects.flatMap((effect) => (effect.do === "tell" ? effect.incident : []));
  return [
    ...effects.filter((effect) => effect.do !== "tell"),
    ...decideNotices(notices, tells, wallMs).map((incident): Effect => ({ do: "tell", incident })),
  ];
}

/** What a daemon says of keys and tiers by itself; in safe mode nothing. Spec 3.5. */
function decideTrust(state: State, env: Env, now: Now): Effect[] {
  if (safeMode(state.incidents, env) !== undefined) return [];
  return [
    ...decideAnnouncements(state.announcements, env),
    ...decideKeyChanges(state.keyChanges, env, now),
  ];
}
