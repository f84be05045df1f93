import { firstCodePoints } from "../../wire/json/code-points.ts";
import { saysClosed, saysContinued } from "../../wire/roster/closing.ts";
import type { Message } from "../../wire/message.ts";
import { addresseesOf } from "../addressing.ts";
import { countField, textField } from "../body.ts";
import {
  newPace,
  restartInterval,
  dropEndedConflicts,
  takeBeat,
  takeConflict,
  takeStateChange,
  takeTraffic,
  type Pace,
} from "./pace.ts";
import { applyParking, emptyParking, type ParkingState } from "../requests/parking.ts";
import { LAST_ACTION_LIMIT, takePeerBeat, type PeerBeat } from "./peer-beats.ts";
import type { NotWoken } from "./not-woken.ts";
import { isFolded, type CoreEvent, type LineEvent } from "../events.ts";
import type { AgentState, Env } from "../env.ts";

/** Threads whose first proposer is remembered, to see a counter appear. */
const MAX_PROPOSAL_THREADS = 512;
/** Spec 3.1: what counts as a posted change of state, besides the ack of a proposal. */
const STATE_CHANGES: ReadonlySet<string> = new Set(["ship", "warning", "decision", "release"]);

/** Our own heartbeats, and the latest of every peer. Spec 3.1. */
export interface HeartbeatsState {
  /** Starts of this agent's daemon so far. */
  wakeups: number;
  /** By peer; only peers for whom something has happened. */
  readonly paces: Map<string, Pace>;
  status: AgentState;
  readonly parking: ParkingState;
  lastAction: string | undefined;
  headsDown: boolean;
  /** For whose mail our agent's wakes are used up, and when that was said. Spec 8.3. */
  notWoken: { readonly by: Readonly<Record<string, NotWoken>>; readonly at: number } | undefined;
  /** When the agent itself, not its daemon, last did something, by our clock. */
  agentLastSeen: number | undefined;
  /** First proposer of a thread, by correlation id, newest last. */
  readonly proposers: Map<string, string>;
  readonly peerBeats: Map<string, PeerBeat>;
}

/** What the tiers follow from besides the events: see `applyHeartbeats`. */
export interface PaceContext {
  /** Whether a message of that peer waits unread. */
  hasUnread(peer: string): boolean;
  /** Whose claim, by which thread, is contested with ours since this event. Spec 3.7. */
  readonly contested: readonly { readonly peer: string; readonly thread: string }[];
  /** Whether rival proposals are still open in the thread of that correlation id, or claims contested. */
  isConflictOpen(correlationId: string): boolean;
}

export function emptyHeartbeats(): HeartbeatsState {
  return {
    wakeups: 0,
    paces: new Map(),
    status: "idle",
    parking: emptyParking(),
    lastAction: undefined,
    headsDown: false,
    notWoken: undefined,
    agentLastSeen: undefined,
    proposers: new Map(),
    peerBeats: new Map(),
  };
}

/**
 * Folds one event. All of the tiers' state comes from events, so replay equals live; `context`
 * must answer for the state after this event, so this comes after receipts and proposals.
 */
export function applyHeartbeats(
  state: HeartbeatsState,
  event: CoreEvent,
  env: Env,
  context: PaceContext,
): void {
  applyParking(state.parking, event);
  switch (event.kind) {
    case "line":
      takeLine(state, event, env, context);
      break;
    case "read":
      state.agentLastSeen = event.at;
      break;
    case "status":
      takeStatus(state, event, env);
      break;
    case "started":
      state.wakeups += 1;
      for (const pace of state.paces.values()) restartInterval(pace);
      break;
    default:
      return;
  }
  for (const { peer, thread } of context.contested) {
    takeConflict(paceOf(state, peer), thread, env);
  }
  for (const pace of state.paces.values()) {
    dropEndedConflicts(pace, state.headsDown, (thread) => context.isConflictOpen(thread));
  }
  const down = [...state.paces.values()].some((pace) => pace.tier === "T0_HEADS_DOWN");
  if (!down) state.headsDown = false;
}

/** @internal */
export function paceOf(state: HeartbeatsState, peer: string): Pace {
  let pace = state.paces.get(peer);
  if (pace === undefined) {
    pace = newPace();
    state.paces.set(peer, pace);
  }
  return pace;
}

/** The members who read that log of ours. */
export function readersOf(logName: string, env: Env): readonly string[] {
  const log = env.layout.logs.get(logName);
  if (log === undefined) return [];
  const readers = log.addressee === undefined ? env.layout.members : [log.addressee];
  return readers.filter((handle) => handle !== log.owner && env.layout.members.includes(handle));
}

function takeLine(state: HeartbeatsState, event: LineEvent, env: Env, context: PaceContext): void {
  const { message } = event;
  const log = env.layout.logs.get(event.log);
  if (log === undefined) return;
  if (message.type === "heartbeat") {
    if (event.own) takeOwnBeat(state, event, env, context);
    else if (isFolded(event)) takePeerBeat(state.peerBeats, event, env.self);
    return;
  }
  if (event.refused !== undefined) return;
  const addressees = addresseesOf(message, log, env);
  const peers = event.own ? addressees : addressees.includes(env.self) ? [log.owner] : [];
  for (const peer of peers) takeTraffic(paceOf(state, peer), env);
  if (event.own) {
    if (isAgentsOwn(message)) state.agentLastSeen = event.at;
    if (isStateChange(state, message)) {
      for (const peer of peers) takeStateChange(paceOf(state, peer), env);
    }
  }
  if (message.type === "proposal") takeProposal(state, message, env);
}

function takeOwnBeat(
  state: HeartbeatsState,
  event: LineEvent,
  env: Env,
  context: PaceContext,
): void {
  const wakeups = countField(event.message.body, "wakeup_count");
  // After the loss of the journal our own log still says how often we started.
  if (wakeups !== undefined) state.wakeups = Math.max(state.wakeups, wakeups);
  for (const peer of readersOf(event.log, env)) {
    takeBeat(paceOf(state, peer), event.at, context.hasUnread(peer), env);
  }
}

function takeStatus(
  state: HeartbeatsState,
  event: Extract<CoreEvent, { kind: "status" }>,
  env: Env,
): void {
  if (event.notWoken !== undefined) state.notWoken = { by: event.notWoken, at: event.at };
  state.agentLastSeen = event.at;
  if (event.state !== undefined) state.status = event.state;
  if (event.lastAction !== undefined) {
    state.lastAction = firstCodePoints(event.lastAction, LAST_ACTION_LIMIT);
  }
  const peers = env.layout.members.filter((handle) => handle !== env.self);
  for (const peer of peers) {
    const pace = paceOf(state, peer);
    if (event.headsDown === true) takeConflict(pace, undefined, env);
    else takeStateChange(pace, env);
  }
  if (event.headsDown !== undefined) state.headsDown = event.headsDown;
}

/** Spec 3.1: a conflict begins when a counter-proposal appears: ours to a peer's, or the reverse. */
function takeProposal(state: HeartbeatsState, message: Message, env: Env): void {
  const thread = message.correlationId;
  const first = state.proposers.get(thread);
  if (first === undefined) {
    state.proposers.set(thread, message.from);
    const oldest = state.proposers.keys().next().value;
    if (state.proposers.size > MAX_PROPOSAL_THREADS && oldest !== undefined) {
      state.proposers.delete(oldest);
    }
    return;
  }
  if (first === message.from) return;
  const peer = first === env.self ? message.from : message.from === env.self ? first : undefined;
  if (peer !== undefined) takeConflict(paceOf(state, peer), thread, env);
}

function isStateChange(state: HeartbeatsState, message: Message): boolean {
  if (STATE_CHANGES.has(message.type)) return true;
  return message.type === "ack" && state.proposers.has(message.correlationId);
}

/** Reverts, escalations, announcements of tiers and closing lines are sent by the daemon by itself. */
function isAgentsOwn(message: Message): boolean {
  if (message.type === "trust_tier_announcement" || message.type === "agent_card") return false;
  if (message.type === "incident") return textField(message.body, "escalates") === undefined;
  if (message.type === "correction") {
    if (saysClosed(message) || saysContinued(message)) return false;
    return ["reverts", "expires"].every((name) => textField(message.body, name) === undefined);
  }
  return true;
}
