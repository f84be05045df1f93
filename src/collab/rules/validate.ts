import { deliverableProblems } from "../documents/deliverable.ts";
import { declaredFiles, ROUND_FILES } from "../documents/protocol-file.ts";
import { unknownMarks } from "../documents/readiness.ts";
import { headingProblems, missingParts, scopeProblems } from "../documents/review.ts";
import { publicState, replayEvents } from "../machine/machine.ts";
import {
  completionReasons,
  decisionProblems,
  isFrozen,
  readiness,
  snapshots,
  unresolved,
} from "./document-reasons.ts";
import { brokenLog, documentText, stateOf, type Round } from "./round.ts";

/** What `deaddrop collab validate` says of a round, a line each. Spec 6.3. */
export interface RoundFinding {
  readonly level: "error" | "warning";
  readonly text: string;
}

export const errors = (texts: readonly string[]): RoundFinding[] =>
  texts.map((text) => ({ level: "error", text }));

export const warnings = (texts: readonly string[]): RoundFinding[] =>
  texts.map((text) => ({ level: "warning", text }));

/** Everything that is wrong with a round, and all that is odd. Spec 6.2, 6.3. */
export function findingsOf(round: Round): RoundFinding[] {
  const { events, documents, obsolete } = round;
  const missing = ROUND_FILES.flatMap((name) => {
    const file = documents.get(name);
    return file?.ok === false ? [`${name} ${file.problem}`] : [];
  });
  return [
    ...errors(missing),
    ...errors(obsolete.map((name) => `${name} is not part of the protocol`)),
    ...errors([...brokenLog(round), ...round.placeProblems]),
    ...documentFindings(round),
    ...warnings(events.warnings),
    ...recordedFindings(round),
  ];
}

function documentFindings(round: Round): RoundFinding[] {
  const review = documentText(round, "review.md");
  const submitted = new Map(
    round.events.events
      .filter(({ event }) => event === "review_submitted")
      .map(({ seq, from }) => [seq, from]),
  );
  return [
    ...errors(headingProblems(review, submitted)),
    ...errors(submitted.size === 0 ? [] : scopeProblems(review, round.rules)),
    ...warnings(missingParts(review)),
    ...warnings(unknownMarks(documentText(round, "readiness.md"))),
    ...errors([...new Set([...requirements(round), ...decisionProblems(round)])]),
    ...errors(deliverableFindings(round)),
  ];
}

/** What the state that the round has reached requires of its documents. */
function requirements(round: Round): string[] {
  const { phase, isReady, isClassified, waitingFor } = round.replayed.state;
  if (phase === "completed") return completionReasons(round);
  if (phase === "blocked") return snapshots(round);
  const all = round.protocol.participants.length;
  const isAccepted =
    phase === "readiness_check" ||
    (phase === "decision_review" && isClassified && waitingFor.length < all);
  return [
    ...(isAccepted ? unresolved(round) : []),
    ...(isReady ? readiness(round, "readiness_passed") : []),
    ...snapshots(round),
  ];
}

function deliverableFindings(round: Round): string[] {
  const { isPrimaryDrafted, isPrimaryFrozen } = round.replayed.state;
  return declaredFiles(round.protocol).flatMap((declared) => {
    const { reference, role, frozen } = declared;
    if (role === "supporting") {
      return !frozen && isFrozen(round, declared)
        ? [`${reference} has a deliverable_frozen event and is not declared frozen`]
        : [];
    }
    if (!isPrimaryDrafted) return [];
    const file = round.deliverables.get(reference);
    return file?.ok === true
      ? deliverableProblems(file.text, declared, isPrimaryFrozen)
      : [`${reference} ${file?.problem ?? "is missing"}`];
  });
}

/** What `protocol.json` says of the state must be what the events say. */
function recordedFindings(round: Round): RoundFinding[] {
  const { recorded } = round.protocol;
  const derived = stateOf(round);
  if (derived === undefined) return [];
  const wrong = (["currentPhase", "proposalOwner", "waitingFor"] as const).filter(
    (name) => JSON.stringify(recorded[name]) !== JSON.stringify(derived[name]),
  );
  if (wrong.length > 0 && isOneBehind(round)) {
    const { seq } = round.replayed.state;
    return warnings([
      `protocol.json does not know event ${seq} yet: append, next and status complete it`,
    ]);
  }
  return errors(
    wrong.map(
      (name) =>
        `protocol.json ${name} is ${JSON.stringify(recorded[name])}; the events say ${JSON.stringify(derived[name])}`,
    ),
  );
}

/** A crash, or a script that is writing, left the last event without its `protocol.json`. */
export function isOneBehind({ protocol, rules, events }: Round): boolean {
  const before = replayEvents(rules, events.events.slice(0, -1));
  if (!before.ok || before.state.seq === 0) return false;
  return JSON.stringify(publicState(before.state)) === JSON.stringify(protocol.recorded);
}
