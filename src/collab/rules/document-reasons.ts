import { conclusionProblems } from "../documents/conclusion.ts";
import { decisionProblems } from "../documents/decisions.ts";
import { deliverableProblems } from "../documents/deliverable.ts";
import { isSha256, type CollabEvent } from "../documents/event-lines.ts";
import type { DeclaredFile, Protocol } from "../documents/protocol-file.ts";
import { isReadyToImplement, uncheckedGates, unresolvedItems } from "../documents/readiness.ts";
import { headingProblems, scopeProblems } from "../documents/review.ts";
import { CONCLUSION } from "../machine/event.ts";
import { textOf, type Round } from "./round.ts";

/** All in the documents that keeps an event from being appended. Spec 6.2. */
export function documentReasons(round: Round, event: CollabEvent): string[] {
  switch (event.event) {
    case "review_submitted":
      return reviewReasons(round, event);
    case "decision_accepted":
      return [...unresolved(round), ...decisions(round)];
    case "readiness_passed":
      return [...unresolved(round), ...readiness(round, "readiness_passed"), ...snapshots(round)];
    case "completed":
      return completionReasons(round);
    case "deliverable_drafted":
    case "deliverable_revised":
    case "deliverable_frozen":
      return deliverableReasons(round, event);
    default:
      return [];
  }
}

/** What a completed round has, and one that is to be completed lacks. */
export function completionReasons(round: Round): string[] {
  const { schema, gates, deliverables } = round.protocol;
  const unchecked = uncheckedGates(documentText(round, "readiness.md"), gates);
  const conclusion = round.documents.get(CONCLUSION);
  const problems =
    conclusion?.ok === true
      ? conclusionProblems(conclusion.text, schema, deliverables?.primary?.reference)
      : [`${CONCLUSION} ${conclusion?.problem ?? "is missing"}`];
  return [
    ...unresolved(round),
    ...readiness(round, "completed"),
    ...unchecked.map(
      (gate) => `completed requires the completion gates to be checked in readiness.md: ${gate}`,
    ),
    ...problems.map((problem) => `completed requires a whole conclusion: ${problem}`),
    ...decisions(round),
    ...snapshots(round),
    ...supporting(round),
  ];
}

/** Accepting, too, needs all of them resolved or deferred with a reason. */
export function unresolved(round: Round): string[] {
  return unresolvedItems(documentText(round, "readiness.md"));
}

export function readiness(round: Round, event: string): string[] {
  if (isReadyToImplement(documentText(round, "readiness.md"))) return [];
  return [`${event} requires - [x] Ready to implement in readiness.md`];
}

export function decisions({ protocol, documents }: Round): string[] {
  if (protocol.deliverables === undefined) return [];
  const names = declaredFiles(protocol).map(({ reference }) => reference);
  return decisionProblems(textOf(documents.get("decisions.md")), names);
}

/** What was frozen is as it was. Spec 6.2. */
export function snapshots(round: Round): string[] {
  return frozenFiles(round).flatMap(({ reference, sha256 }) => {
    const file = round.deliverables.get(reference);
    if (file?.ok !== true) return [`${reference} ${file?.problem ?? "is missing"}, and is frozen`];
    if (file.sha256 === sha256) return [];
    return [
      `deliverable_frozen sha256 does not match current file ${reference}: it has changed since`,
    ];
  });
}

/** The last freeze of each declared deliverable. */
function frozenFiles({ protocol, events }: Round): { reference: string; sha256: string }[] {
  return declaredFiles(protocol).flatMap(({ role, reference }) => {
    const freeze = events.events.findLast((event) => isFreeze(event, role, reference));
    return freeze?.sha256 === undefined ? [] : [{ reference, sha256: freeze.sha256 }];
  });
}

function declaredFiles({ deliverables }: Protocol): { role: string; reference: string }[] {
  const { primary, supporting: others = [] } = deliverables ?? {};
  return [
    ...(primary === undefined ? [] : [{ role: "primary", reference: primary.reference }]),
    ...others.map(({ reference }) => ({ role: "supporting", reference })),
  ];
}

/** A freeze in another role says nothing of it: anybody may say `supporting` at any time. */
function isFreeze({ event, role, doc }: CollabEvent, wanted: string, reference: string): boolean {
  return event === "deliverable_frozen" && role === wanted && doc === reference;
}

/** Supporting ones that are declared frozen have a freeze, the others none. */
function supporting(round: Round): string[] {
  return (round.protocol.deliverables?.supporting ?? []).flatMap(({ reference, frozen }) =>
    frozen && !isSupportingFrozen(round, reference)
      ? [`${reference} is declared frozen: completed requires its deliverable_frozen`]
      : [],
  );
}

export function isSupportingFrozen({ events }: Round, reference: string): boolean {
  return events.events.some((event) => isFreeze(event, "supporting", reference));
}

function reviewReasons(round: Round, { seq, from }: CollabEvent): string[] {
  const text = documentText(round, "review.md");
  // Another reviewer may have begun its own text: its heading counts when it submits.
  const own = headingProblems(text, new Map([[seq, from]])).filter((problem) =>
    problem.includes(`seq ${seq} `),
  );
  const { schema, deliverables } = round.protocol;
  return [...own, ...scopeProblems(text, schema, deliverables?.primary?.reference)];
}

function deliverableReasons(round: Round, event: CollabEvent): string[] {
  const { doc, sha256 } = event;
  const freezes = event.event === "deliverable_frozen";
  const reasons: string[] = [];
  if (freezes && !isSha256(sha256)) {
    reasons.push("deliverable_frozen requires sha256, 64 lower-case hex digits");
  }
  const declared = declaredAs(round, doc);
  if (declared === undefined) {
    return [...reasons, `doc must reference a declared deliverable: ${references(round)}`];
  }
  const file = round.deliverables.get(declared.reference);
  if (file?.ok !== true) {
    return [...reasons, `${declared.reference} ${file?.problem ?? "is missing"}`];
  }
  if (freezes && isSha256(sha256) && file.sha256 !== sha256) {
    reasons.push(`sha256 does not match ${declared.reference}: it is ${file.sha256}`);
  }
  if (event.role !== "primary") return reasons;
  return [...reasons, ...deliverableProblems(file.text, declared, freezes)];
}

function declaredAs({ protocol }: Round, doc: string | undefined): DeclaredFile | undefined {
  const { primary, supporting: others = [] } = protocol.deliverables ?? {};
  return [primary, ...others].find((each) => each !== undefined && each.reference === doc);
}

function references({ protocol }: Round): string {
  return declaredFiles(protocol)
    .map(({ reference }) => reference)
    .join(", ");
}

function documentText({ documents }: Round, name: string): string {
  return textOf(documents.get(name));
}
