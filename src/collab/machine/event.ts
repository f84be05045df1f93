/** The two versions of the Agent Collaboration Protocol. Spec 6. */
export type Schema = 1 | 2;

const COMMON_EVENTS = [
  "initialized",
  "proposal_submitted",
  "review_submitted",
  "proposal_revised",
  "question_classified",
  "decision_proposed",
  "decision_accepted",
  "readiness_passed",
  "completed",
  "blocked",
] as const;

const DELIVERABLE_EVENTS = [
  "deliverable_drafted",
  "deliverable_revised",
  "deliverable_frozen",
] as const;

export type DeliverableEventName = (typeof DELIVERABLE_EVENTS)[number];
export type EventName = (typeof COMMON_EVENTS)[number] | DeliverableEventName;

export const PHASES = [
  "drafting",
  "reviewing",
  "revising",
  "decision_review",
  "readiness_check",
  "completed",
  "blocked",
] as const;
export type Phase = (typeof PHASES)[number];

/** What the state machine looks at. Spec 6.1. */
export interface MachineEvent {
  /** 1, 2, 3 and so on. */
  readonly seq: number;
  readonly from: string;
  readonly event: EventName;
  /** Of a deliverable event alone. */
  readonly role?: string | undefined;
  readonly doc?: string | undefined;
}

/** The events that a round of that schema knows. */
export function eventNames(schema: Schema): readonly EventName[] {
  return schema === 1 ? COMMON_EVENTS : [...COMMON_EVENTS, ...DELIVERABLE_EVENTS];
}

export function isEventName(schema: Schema, name: unknown): name is EventName {
  return eventNames(schema).some((known) => known === name);
}

export function isDeliverableEvent(name: EventName): name is DeliverableEventName {
  return DELIVERABLE_EVENTS.some((known) => known === name);
}

export function isPhase(name: unknown): name is Phase {
  return PHASES.some((known) => known === name);
}

/** The only document that a round may be completed with. */
export const CONCLUSION = "conclusion.md";

/** What a round is, apart from its events. */
export interface RoundRules {
  readonly schema: Schema;
  /** The first one owns the proposal. */
  readonly participants: readonly string[];
  /** How events name the primary deliverable, like `deliverables/adr.md`. Schema 2. */
  readonly primary?: string | undefined;
}
