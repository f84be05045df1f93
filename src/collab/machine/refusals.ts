import type { RoundRules } from "./round-rules.ts";
import {
  CONCLUSION,
  isDeliverableEvent,
  type EventName,
  type MachineEvent,
  type Phase,
} from "./event.ts";
import type { RoundState } from "./round-state.ts";

/** In which phases an event may come. One that is not named here may always come. Spec 6.1. */
const PHASES_OF: Readonly<Partial<Record<EventName, readonly Phase[]>>> = {
  proposal_submitted: ["drafting", "revising"],
  review_submitted: ["reviewing"],
  proposal_revised: ["revising"],
  decision_proposed: ["revising", "decision_review"],
  question_classified: ["decision_review"],
  decision_accepted: ["decision_review"],
  readiness_passed: ["readiness_check"],
  completed: ["readiness_check"],
};

const PHASES_OF_PRIMARY: Readonly<Partial<Record<EventName, readonly Phase[]>>> = {
  deliverable_drafted: ["drafting", "revising", "decision_review"],
  deliverable_revised: ["revising", "decision_review"],
  deliverable_frozen: ["readiness_check"],
};

/** Who may say it: the proposal's owner, or one of those that the round waits for. */
const SPEAKERS: Readonly<Partial<Record<EventName, "owner" | "waited_for">>> = {
  proposal_submitted: "owner",
  review_submitted: "waited_for",
  proposal_revised: "owner",
  decision_proposed: "owner",
  question_classified: "owner",
  decision_accepted: "waited_for",
  readiness_passed: "owner",
  completed: "owner",
};

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
  return [...reasons, ...refusalsOfLater(rules, state, event)];
}

function refusalsOfLater(rules: RoundRules, state: RoundState, event: MachineEvent): string[] {
  if (event.event === "blocked") return [];
  if (isDeliverableEvent(event.event)) return refusalsOfDeliverable(rules, state, event);
  if (event.event === "initialized") return [notAllowed(event, state)];
  return [
    ...refusalsOfTurn(state, event, PHASES_OF, SPEAKERS[event.event]),
    ...refusalsOfOrder(rules, state, event),
  ];
}

function refusalsOfDeliverable(
  rules: RoundRules,
  state: RoundState,
  event: MachineEvent,
): string[] {
  if (rules.schema === 1) return [`${event.event} is an event of schema 2`];
  if (event.role !== "primary" && event.role !== "supporting") {
    return ["deliverable events require role primary or supporting"];
  }
  if (event.role === "supporting") return [];
  const reasons = refusalsOfTurn(state, event, PHASES_OF_PRIMARY, "owner");
  if (event.doc !== rules.primary) {
    reasons.push(
      `doc must reference the primary deliverable, ${rules.primary ?? "of which there is none"}`,
    );
  }
  if (state.isPrimaryFrozen) reasons.push("the primary deliverable is frozen already");
  return reasons;
}

function refusalsOfTurn(
  state: RoundState,
  event: MachineEvent,
  phases: typeof PHASES_OF,
  speaker: "owner" | "waited_for" | undefined,
): string[] {
  if (phases[event.event]?.includes(state.phase) !== true) return [notAllowed(event, state)];
  if (speaker === "owner" && event.from !== state.owner) {
    return [`${event.event} is said by the proposal's owner, '${state.owner}'`];
  }
  if (speaker === "waited_for" && !state.waitingFor.includes(event.from)) {
    return [`it is not the turn of '${event.from}': waiting for ${state.waitingFor.join(", ")}`];
  }
  return [];
}

/** What has to come before an event, in the phases in which it may come. */
function refusalsOfOrder(rules: RoundRules, state: RoundState, event: MachineEvent): string[] {
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

function notAllowed({ event }: MachineEvent, { phase }: RoundState): string {
  return `${event} is not allowed from phase ${phase}`;
}
