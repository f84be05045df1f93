import type { RoundRules } from "../machine/event.ts";
import type { RoundState } from "../machine/machine.ts";

/** What a participant does now, from whom the round waits for. Spec 6.3. */
export function nextAction(
  state: RoundState,
  participant: string,
  { schema, primary }: RoundRules,
): string {
  const { phase, waitingFor, owner } = state;
  const isSecond = schema === 2;
  if (phase === "completed") return "stop; collaboration is complete";
  if (phase === "blocked") return "stop; the round is blocked";
  if (!waitingFor.includes(participant)) {
    const files = isSecond ? "proposal.md or deliverables" : "proposal.md";
    const whom = phase === "reviewing" ? "the listed reviewer: " : "";
    return `wait for ${whom}${waitingFor.join(", ")}; do not edit ${files}`;
  }
  switch (phase) {
    case "drafting":
      return isSecond && !state.isPrimaryDrafted
        ? `draft the primary deliverable ${primary ?? ""}, then append deliverable_drafted`
        : "update proposal.md, then append proposal_submitted";
    case "reviewing":
      return "write your review in review.md, then append review_submitted";
    case "revising": {
      const also = isSecond ? ` and ${primary ?? "the primary deliverable"}` : "";
      return `read review.md, revise proposal.md${also}, then append proposal_revised`;
    }
    case "decision_review":
      if (!state.isClassified) {
        return "classify the open questions in readiness.md, then append question_classified";
      }
      return participant === owner
        ? "append decision_accepted, or revise and classify again"
        : "read proposal.md and readiness.md, then append decision_accepted";
    case "readiness_check":
      if (isSecond && !state.isPrimaryFrozen) {
        return `set Status: Frozen in ${primary ?? "the primary deliverable"}, then append deliverable_frozen with its sha256`;
      }
      return state.isReady
        ? "write conclusion.md, check the gates, then append completed"
        : "check readiness.md, then append readiness_passed";
  }
}
