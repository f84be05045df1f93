import {
  CONCLUSION,
  isDeliverableEvent,
  type EventName,
  type MachineEvent,
  type Phase,
  type RoundRules,
} from "./event.ts";

/** What the state machine remembers of a round. Spec 6.1. */
export interface RoundState {
  /** How many events led here. */
  readonly seq: number;
  readonly phase: Phase;
  readonly owner: string;
  /** Whose turn it is, sorted by code point. */
  readonly waitingFor: readonly string[];
  /** The owner has said which questions are open since the proposal changed last. */
  readonly isClassified: boolean;
  readonly isPrimaryDrafted: boolean;
  readonly isPrimaryFrozen: boolean;
  readonly isReady: boolean;
}

/** Where a round is: what `protocol.json` says of it, too. */
export interface CollabState {
  readonly currentPhase: Phase;
  readonly proposalOwner: string;
  /** Sorted by code point. */
  readonly waitingFor: readonly string[];
}

export type Derived =
  | { readonly ok: true; readonly state: CollabState }
  | { readonly ok: false; readonly seq: number; readonly reason: string };

const INITIAL: RoundState = {
  seq: 0,
  phase: "drafting",
  owner: "",
  waitingFor: [],
  isClassified: false,
  isPrimaryDrafted: false,
  isPrimaryFrozen: false,
  isReady: false,
};

/** In which phases an event may come, and who may say it: the proposal's owner, or one who is waited for. */
type Turn = readonly [speaker: "owner" | "waited_for", ...phases: Phase[]];

const TURNS: Readonly<Partial<Record<EventName, Turn>>> = {
  proposal_submitted: ["owner", "drafting", "revising"],
  review_submitted: ["waited_for", "reviewing"],
  proposal_revised: ["owner", "revising"],
  decision_proposed: ["owner", "revising", "decision_review"],
  question_classified: ["owner", "decision_review"],
  decision_accepted: ["waited_for", "decision_review"],
  readiness_passed: ["owner", "readiness_check"],
  completed: ["owner", "readiness_check"],
  // Of the primary deliverable; supporting ones have no turn.
  deliverable_drafted: ["owner", "drafting", "revising", "decision_review"],
  deliverable_revised: ["owner", "revising", "decision_review"],
  deliverable_frozen: ["owner", "readiness_check"],
};

/**
 * The state of a round after these events, or the first event that is not allowed and why. It looks
 * at no document. Spec 6.1, 6.3.
 */
export function deriveCollabState(rules: RoundRules, events: readonly MachineEvent[]): Derived {
  const replayed = replayEvents(rules, events);
  if (!replayed.ok) return { ok: false, seq: replayed.seq, reason: replayed.reasons.join("; ") };
  if (events.length === 0) return { ok: false, seq: 1, reason: "there is no event yet" };
  return { ok: true, state: publicState(replayed.state) };
}

export type Replayed =
  | { readonly ok: true; readonly state: RoundState }
  | {
      readonly ok: false;
      readonly seq: number;
      readonly reasons: readonly string[];
      /** Before the event that is refused. */
      readonly state: RoundState;
    };

/** The same with all that the machine remembers. */
export function replayEvents(rules: RoundRules, events: readonly MachineEvent[]): Replayed {
  let state = INITIAL;
  for (const [index, event] of events.entries()) {
    const reasons = refusals(rules, state, event, index + 1);
    if (reasons.length > 0) return { ok: false, seq: index + 1, reasons, state };
    state = applyEvent(rules, state, event);
  }
  return { ok: true, state };
}

/** The phase before the first event, and after each. */
export function phasesOf(rules: RoundRules, events: readonly MachineEvent[]): Phase[] {
  let state = INITIAL;
  const later = events.map((event) => (state = applyEvent(rules, state, event)).phase);
  return [INITIAL.phase, ...later];
}

export function publicState({ phase, owner, waitingFor }: RoundState): CollabState {
  return { currentPhase: phase, proposalOwner: owner, waitingFor };
}

/** The state after an event that is allowed. */
export function applyEvent(rules: RoundRules, before: RoundState, event: MachineEvent): RoundState {
  return { ...before, ...changes(rules, before, event), seq: before.seq + 1 };
}

function changes(
  { participants }: RoundRules,
  { owner, waitingFor }: RoundState,
  { event, from, role }: MachineEvent,
): Partial<RoundState> {
  const left = waitingFor.filter((name) => name !== from);
  switch (event) {
    case "initialized": {
      // Any participant may say it; the first one owns the proposal.
      const [first = from] = participants;
      return { phase: "drafting", owner: first, waitingFor: [first] };
    }
    case "proposal_submitted":
      return {
        phase: "reviewing",
        waitingFor: sortNames(participants).filter((name) => name !== owner),
        isClassified: false,
      };
    case "review_submitted":
      return left.length > 0 ? { waitingFor: left } : { phase: "revising", waitingFor: [owner] };
    case "proposal_revised":
    case "decision_proposed":
      return { phase: "decision_review", waitingFor: [owner], isClassified: false };
    case "deliverable_revised":
      return {};
    case "question_classified":
      return { waitingFor: sortNames(participants), isClassified: true };
    case "decision_accepted":
      return left.length > 0
        ? { waitingFor: left }
        : { phase: "readiness_check", waitingFor: [owner] };
    case "readiness_passed":
      return { isReady: true };
    case "deliverable_drafted":
      return role === "primary" ? { isPrimaryDrafted: true } : {};
    case "deliverable_frozen":
      return role === "primary" ? { isPrimaryFrozen: true } : {};
    case "completed":
    case "blocked":
      return { phase: event, waitingFor: [] };
  }
}

/** By code point, as Python sorts, which is the order of the UTF-8 bytes; each name once. */
function sortNames(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** All that keeps an event from being the next one; none when it is allowed. Spec 6.1. */
export function refusals(
  rules: RoundRules,
  state: RoundState,
  event: MachineEvent,
  expectedSeq: number,
): string[] {
  const reasons: string[] = [];
  if (event.seq !== expectedSeq) reasons.push(`seq must be ${expectedSeq}, not ${event.seq}`);
  if (!rules.participants.includes(event.from)) {
    reasons.push(`'${event.from}' is not a participant`);
  }
  if (expectedSeq === 1) {
    if (event.event !== "initialized") reasons.push("the first event must be initialized");
    return reasons;
  }
  if (event.event === "blocked") return reasons;
  if (isDeliverableEvent(event.event)) {
    return [...reasons, ...deliverableRefusals(rules, state, event)];
  }
  return [...reasons, ...turnRefusals(state, event), ...orderRefusals(rules, state, event)];
}

function deliverableRefusals(rules: RoundRules, state: RoundState, event: MachineEvent): string[] {
  if (rules.schema === 1) return [`${event.event} is an event of schema 2`];
  if (event.role === "supporting") return [];
  if (event.role !== "primary") return ["deliverable events require role primary or supporting"];
  const reasons = turnRefusals(state, event);
  if (event.doc !== rules.primary) {
    reasons.push(
      `doc must reference the primary deliverable, ${rules.primary ?? "of which there is none"}`,
    );
  }
  if (state.isPrimaryFrozen) reasons.push("the primary deliverable is frozen already");
  return reasons;
}

function turnRefusals(state: RoundState, { event, from }: MachineEvent): string[] {
  const [speaker, ...phases] = TURNS[event] ?? ["owner"];
  if (!phases.includes(state.phase)) return [`${event} is not allowed from phase ${state.phase}`];
  if (speaker === "owner" && from !== state.owner) {
    return [`${event} is said by the proposal's owner, '${state.owner}'`];
  }
  if (speaker === "waited_for" && !state.waitingFor.includes(from)) {
    return [`it is not the turn of '${from}': waiting for ${state.waitingFor.join(", ")}`];
  }
  return [];
}

/** What has to come before an event, in the phases in which it may come. */
function orderRefusals(rules: RoundRules, state: RoundState, event: MachineEvent): string[] {
  const isSecond = rules.schema === 2;
  const reasons: string[] = [];
  switch (event.event) {
    case "proposal_submitted":
      if (rules.participants.length < 2) {
        reasons.push("proposal_submitted requires another participant who reviews it");
      }
      if (isSecond && !state.isPrimaryDrafted) {
        reasons.push("proposal_submitted requires prior primary deliverable_drafted");
      }
      break;
    case "decision_accepted":
      if (!state.isClassified && state.phase === "decision_review") {
        reasons.push("decision_accepted requires question_classified after the last revision");
      }
      break;
    case "readiness_passed":
      if (isSecond && !state.isPrimaryFrozen) {
        reasons.push("readiness_passed requires primary deliverable_frozen");
      }
      break;
    case "completed":
      if (!state.isReady) reasons.push("completed requires readiness_passed");
      if (event.doc !== CONCLUSION) reasons.push(`completed must reference ${CONCLUSION}`);
      break;
    default:
  }
  return reasons;
}
