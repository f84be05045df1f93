import { deliverableProblems } from "../documents/deliverable.ts";
import { errors, warnings, type Finding } from "../documents/finding.ts";
import { ROUND_FILES } from "../documents/obsolete.ts";
import { unknownMarks } from "../documents/readiness.ts";
import { headingProblems, missingParts, scopeProblems } from "../documents/review.ts";
import { publicState, walk } from "../machine/derive.ts";
import type { RoundState } from "../machine/round-state.ts";
import {
  completionReasons,
  decisions,
  isSupportingFrozen,
  readiness,
  snapshots,
  unresolved,
} from "./document-reasons.ts";
import { brokenLog } from "./append-check.ts";
import { rulesOf, stateOf, textOf, walked, type Round } from "./round.ts";

/** Everything that is wrong with a round, and all that is odd. Spec 6.2, 6.3. */
export function findingsOf(round: Round): Finding[] {
  const { events, documents, obsolete } = round;
  const way = walked(round);
  const missing = ROUND_FILES.flatMap((name) => {
    const file = documents.get(name);
    return file?.ok === false ? [`${name} ${file.problem}`] : [];
  });
  return [
    ...errors(missing),
    ...errors(obsolete.map((name) => `${name} is not part of the protocol`)),
    ...errors([...brokenLog(round), ...round.placeProblems]),
    ...documentFindings(round, way.state),
    ...warnings(events.warnings),
    ...(stateOf(round) === undefined ? [] : recordedFindings(round, way.state)),
  ];
}

function documentFindings(round: Round, state: RoundState): Finding[] {
  const { documents, events, protocol } = round;
  const review = textOf(documents.get("review.md"));
  const submitted = new Map(
    events.events
      .filter(({ event }) => event === "review_submitted")
      .map(({ seq, from }) => [seq, from]),
  );
  const primary = protocol.deliverables?.primary?.reference;
  const scope = submitted.size === 0 ? [] : scopeProblems(review, protocol.schema, primary);
  return [
    ...errors(headingProblems(review, submitted)),
    ...errors(scope),
    ...warnings(missingParts(review)),
    ...warnings(unknownMarks(textOf(documents.get("readiness.md")))),
    ...errors([...new Set([...requirements(round, state), ...decisions(round)])]),
    ...errors(deliverableFindings(round, state)),
  ];
}

/** What the state that the round has reached requires of its documents. */
function requirements(round: Round, state: RoundState): string[] {
  const { phase, isReady, isClassified, waitingFor } = state;
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

function deliverableFindings(round: Round, state: RoundState): string[] {
  const { primary, supporting: others = [] } = round.protocol.deliverables ?? {};
  const found: string[] = [];
  if (primary !== undefined && state.isPrimaryDrafted) {
    const file = round.deliverables.get(primary.reference);
    if (file?.ok === true) {
      found.push(...deliverableProblems(file.text, primary, state.isPrimaryFrozen));
    } else found.push(`${primary.reference} ${file?.problem ?? "is missing"}`);
  }
  for (const { reference, frozen } of others) {
    if (!frozen && isSupportingFrozen(round, reference)) {
      found.push(`${reference} has a deliverable_frozen event and is not declared frozen`);
    }
  }
  return found;
}

/** What `protocol.json` says of the state must be what the events say. */
function recordedFindings(round: Round, state: RoundState): Finding[] {
  const { recorded } = round.protocol;
  const derived = publicState(state);
  const wrong = (["currentPhase", "proposalOwner", "waitingFor"] as const).filter(
    (name) => JSON.stringify(recorded[name]) !== JSON.stringify(derived[name]),
  );
  if (wrong.length === 0) return [];
  if (isOneBehind(round)) {
    return warnings([
      `protocol.json does not know event ${state.seq} yet: append, next and status complete it`,
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
export function isOneBehind(round: Round): boolean {
  const { protocol, events } = round;
  const before = walk(rulesOf(protocol), events.events.slice(0, -1));
  if (!before.ok || before.state.seq === 0) return false;
  const derived = publicState(before.state);
  return JSON.stringify(derived) === JSON.stringify(protocol.recorded);
}
