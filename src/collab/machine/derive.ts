import type { MachineEvent, Phase } from "./event.ts";
import { refusals } from "./refusals.ts";
import type { RoundRules } from "./round-rules.ts";
import { after, BEFORE_ALL, type RoundState } from "./round-state.ts";

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

/**
 * The state of a round after these events, or the first event that is not allowed and why. It looks
 * at no document. Spec 6.1, 6.3.
 */
export function deriveCollabState(rules: RoundRules, events: readonly MachineEvent[]): Derived {
  const walked = walk(rules, events);
  if (!walked.ok) return { ok: false, seq: walked.seq, reason: walked.reasons.join("; ") };
  const { state } = walked;
  if (state === BEFORE_ALL) return { ok: false, seq: 1, reason: "there is no event yet" };
  return { ok: true, state: publicState(state) };
}

export type Walked =
  | { readonly ok: true; readonly state: RoundState }
  | {
      readonly ok: false;
      readonly seq: number;
      readonly reasons: readonly string[];
      /** Before the event that is refused. */
      readonly state: RoundState;
    };

/** The same with all that the machine remembers. */
export function walk(rules: RoundRules, events: readonly MachineEvent[]): Walked {
  let state = BEFORE_ALL;
  for (const [index, event] of events.entries()) {
    const reasons = refusals(rules, state, event, index + 1);
    if (reasons.length > 0) return { ok: false, seq: index + 1, reasons, state };
    state = after(rules, state, event);
  }
  return { ok: true, state };
}

/** The phase before the first event, and after each. */
export function phasesOf(rules: RoundRules, events: readonly MachineEvent[]): Phase[] {
  const phases: Phase[] = [BEFORE_ALL.phase];
  let state = BEFORE_ALL;
  for (const event of events) {
    state = after(rules, state, event);
    phases.push(state.phase);
  }
  return phases;
}

export function publicState({ phase, owner, waitingFor }: RoundState): CollabState {
  return { currentPhase: phase, proposalOwner: owner, waitingFor };
}
