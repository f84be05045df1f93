import type { RoundRules } from "./round-rules.ts";
import type { MachineEvent, Phase } from "./event.ts";

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

export const BEFORE_ALL: RoundState = {
  seq: 0,
  phase: "drafting",
  owner: "",
  waitingFor: [],
  isClassified: false,
  isPrimaryDrafted: false,
  isPrimaryFrozen: false,
  isReady: false,
};

/** The state after an event that is allowed. */
export function after(rules: RoundRules, before: RoundState, event: MachineEvent): RoundState {
  return { ...before, ...changes(rules, before, event), seq: before.seq + 1 };
}

function changes(
  { participants }: RoundRules,
  { owner, waitingFor }: RoundState,
  { event, from, role }: MachineEvent,
): Partial<RoundState> {
  switch (event) {
    case "initialized": {
      // Any participant may say it; the first one owns the proposal.
      const [first = from] = participants;
      return { phase: "drafting", owner: first, waitingFor: [first] };
    }
    case "proposal_submitted":
      return {
        phase: "reviewing",
        waitingFor: sorted(participants).filter((name) => name !== owner),
        isClassified: false,
      };
    case "review_submitted": {
      const left = waitingFor.filter((name) => name !== from);
      return left.length > 0 ? { waitingFor: left } : { phase: "revising", waitingFor: [owner] };
    }
    case "proposal_revised":
    case "decision_proposed":
      return { phase: "decision_review", waitingFor: [owner], isClassified: false };
    case "deliverable_revised":
      return {};
    case "question_classified":
      return { waitingFor: sorted(participants), isClassified: true };
    case "decision_accepted": {
      const left = waitingFor.filter((name) => name !== from);
      return left.length > 0
        ? { waitingFor: left }
        : { phase: "readiness_check", waitingFor: [owner] };
    }
    case "readiness_passed":
      return { isReady: true };
    case "deliverable_drafted":
      return role === "primary" ? { isPrimaryDrafted: true } : {};
    case "deliverable_frozen":
      return role === "primary" ? { isPrimaryFrozen: true } : {};
    case "completed":
      return { phase: "completed", waitingFor: [] };
    case "blocked":
      return { phase: "blocked", waitingFor: [] };
  }
}

/** By code point, as Python sorts; each name once. */
function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted(byCodePoint);
}

function byCodePoint(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (const [index, char] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (char !== other) return (char.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
  }
  return left.length - right.length;
}
