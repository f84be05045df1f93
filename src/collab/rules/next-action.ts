import type { CollabState } from "../machine/derive.ts";
import type { Schema } from "../machine/event.ts";
import type { RoundState } from "../machine/round-state.ts";
import { publicState } from "../machine/derive.ts";

/** The lines of `deaddrop collab next`. Spec 6.3. */
export function nextLines(
  state: RoundState,
  { last, action }: { readonly last: string; readonly action: string },
): string[] {
  const { currentPhase, proposalOwner, waitingFor }: CollabState = publicState(state);
  return [
    `phase: ${currentPhase}`,
    `proposal owner: ${proposalOwner}`,
    `waiting for: ${waitingFor.length === 0 ? "none" : waitingFor.join(", ")}`,
    `last event: ${last}`,
    `next action: ${action}`,
  ];
}

/** What a participant does now, from whom the round waits for. Spec 6.3. */
export function nextAction(
  state: RoundState,
  participant: string,
  about: { readonly schema: Schema; readonly primary: string | undefined },
): string {
  const { phase, waitingFor, owner } = state;
  if (phase === "completed") return "stop; collaboration is complete";
  if (phase === "blocked") return "stop; the round is blocked";
  if (!waitingFor.includes(participant)) return waitAction(state, participant, about.schema);
  switch (phase) {
    case "drafting":
      return draftAction(state, about);
    case "reviewing":
      return "write your review in review.md, then append review_submitted";
    case "revising":
      return reviseAction(about);
    case "decision_review":
      if (!state.isClassified) {
        return "classify the open questions in readiness.md, then append question_classified";
      }
      return participant === owner
        ? "append decision_accepted, or revise and classify again"
        : "read proposal.md and readiness.md, then append decision_accepted";
    case "readiness_check":
      return readinessAction(state, about);
  }
}

function waitAction(
  { phase, waitingFor }: RoundState,
  participant: string,
  schema: Schema,
): string {
  const files = schema === 1 ? "proposal.md" : "proposal.md or deliverables";
  const names = waitingFor.filter((name) => name !== participant).join(", ");
  const whom =
    phase === "reviewing" ? `wait for the listed reviewer: ${names}` : `wait for ${names}`;
  return `${whom}; do not edit ${files}`;
}

type About = { readonly schema: Schema; readonly primary: string | undefined };

function draftAction({ isPrimaryDrafted }: RoundState, { schema, primary }: About): string {
  if (schema === 2 && !isPrimaryDrafted) {
    return `draft the primary deliverable ${primary ?? ""}, then append deliverable_drafted`;
  }
  return "update proposal.md, then append proposal_submitted";
}

function reviseAction({ schema, primary }: About): string {
  const also = schema === 2 ? ` and ${primary ?? "the primary deliverable"}` : "";
  return `read review.md, revise proposal.md${also}, then append proposal_revised`;
}

function readinessAction(
  { isPrimaryFrozen, isReady }: RoundState,
  { schema, primary }: About,
): string {
  if (schema === 2 && !isPrimaryFrozen) {
    return `set Status: Frozen in ${primary ?? "the primary deliverable"}, then append deliverable_frozen with its sha256`;
  }
  if (!isReady) return "check readiness.md, then append readiness_passed";
  return "write conclusion.md, check the gates, then append completed";
}
