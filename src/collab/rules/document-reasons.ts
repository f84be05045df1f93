import { conclusionProblems } from "../documents/conclusion.ts";
import { deliverableProblems } from "../documents/deliverable.ts";
import { isSha256, type CollabEvent } from "../documents/event-lines.ts";
import { declaredFiles } from "../documents/protocol-file.ts";
import { isReadyToImplement, uncheckedGates, unresolvedItems } from "../documents/readiness.ts";
import { headingProblems, scopeProblems } from "../documents/review.ts";
import { linesOf, sectionsOf } from "../documents/text.ts";
import { CONCLUSION } from "../machine/event.ts";
import { documentText, type Round } from "./round.ts";

/** All in the documents that keeps an event from being appended. Spec 6.2. */
export function documentReasons(round: Round, event: CollabEvent): string[] {
  switch (event.event) {
    case "review_submitted":
      return reviewReasons(round, event);
    case "decision_accepted":
      return [...unresolved(round), ...decisionProblems(round)];
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
  const { rules, protocol } = round;
  const unchecked = uncheckedGates(documentText(round, "readiness.md"), protocol.gates);
  const conclusion = round.documents.get(CONCLUSION);
  const problems =
    conclusion?.ok === true
      ? conclusionProblems(conclusion.text, rules)
      : [`${CONCLUSION} ${conclusion?.problem ?? "is missing"}`];
  return [
    ...unresolved(round),
    ...readiness(round, "completed"),
    ...unchecked.map(
      (gate) => `completed requires the completion gates to be checked in readiness.md: ${gate}`,
    ),
    ...problems.map((problem) => `completed requires a whole conclusion: ${problem}`),
    ...decisionProblems(round),
    ...snapshots(round),
    // Supporting deliverables that are declared frozen have a freeze.
    ...declaredFiles(protocol)
      .filter((file) => file.role === "supporting" && file.frozen && !isFrozen(round, file))
      .map(
        ({ reference }) =>
          `${reference} is declared frozen: completed requires its deliverable_frozen`,
      ),
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

/** What is wrong with `decisions.md` in schema 2. Spec 6.2. */
export function decisionProblems(round: Round): string[] {
  if (round.protocol.deliverables === undefined) return [];
  const references = declaredFiles(round.protocol).map(({ reference }) => reference);
  const entries = sectionsOf(linesOf(documentText(round, "decisions.md")), 3);
  return entries.flatMap(({ heading, lines }, index) => {
    const given = /^D(\d+)\.\s+\S/u.exec(heading)?.[1];
    const decision = `accepted decision D${given ?? index + 1}`;
    const problems: string[] = [];
    if (given === undefined) {
      problems.push(`accepted decision headings must use D<number>: ### ${heading.slice(0, 80)}`);
    } else if (Number(given) !== index + 1) {
      problems.push(`${decision} is number ${index + 1}: they are numbered 1, 2, 3 …`);
    }
    if (fieldIn(lines, "Decision") === "") problems.push(`${decision} requires Decision`);
    const reflected = fieldIn(lines, "Reflected in");
    if (reflected === "") problems.push(`${decision} requires Reflected in`);
    else if (!references.some((reference) => reflected.includes(reference))) {
      const declared = references.join(", ");
      problems.push(`${decision} Reflected in must name a declared deliverable: ${declared}`);
    }
    return problems;
  });
}

/** The value of the first item `- <name>: <value>`; "" without one. */
function fieldIn(lines: readonly string[], name: string): string {
  const start = `- ${name}:`.toLowerCase();
  const line = lines
    .map((each) => each.trim())
    .find((each) => each.toLowerCase().startsWith(start));
  return line?.slice(start.length).trim() ?? "";
}

/** Deliverables that differ from their last freeze. Spec 6.2. */
export function snapshots(round: Round): string[] {
  return declaredFiles(round.protocol).flatMap((declared) => {
    const { reference } = declared;
    const frozen = round.events.events.findLast((event) => isFreeze(event, declared))?.sha256;
    if (frozen === undefined) return [];
    const file = round.deliverables.get(reference);
    if (file?.ok !== true) return [`${reference} ${file?.problem ?? "is missing"}, and is frozen`];
    if (file.sha256 === frozen) return [];
    return [
      `deliverable_frozen sha256 does not match current file ${reference}: it has changed since`,
    ];
  });
}

type DeclaredName = { readonly role: string; readonly reference: string };

/** A freeze in another role says nothing of it: anybody may say `supporting` at any time. */
function isFreeze({ event, role, doc }: CollabEvent, declared: DeclaredName): boolean {
  return event === "deliverable_frozen" && role === declared.role && doc === declared.reference;
}

export function isFrozen({ events }: Round, declared: DeclaredName): boolean {
  return events.events.some((event) => isFreeze(event, declared));
}

function reviewReasons(round: Round, { seq, from }: CollabEvent): string[] {
  const text = documentText(round, "review.md");
  // Another reviewer may have begun its own text: its heading counts when it submits.
  const own = headingProblems(text, new Map([[seq, from]])).filter((problem) =>
    problem.includes(`seq ${seq} `),
  );
  return [...own, ...scopeProblems(text, round.rules)];
}

function deliverableReasons(round: Round, event: CollabEvent): string[] {
  const { doc, sha256 } = event;
  const freezes = event.event === "deliverable_frozen";
  const reasons: string[] = [];
  if (freezes && !isSha256(sha256)) {
    reasons.push("deliverable_frozen requires sha256, 64 lower-case hex digits");
  }
  const all = declaredFiles(round.protocol);
  const declared = all.find(({ reference }) => reference === doc);
  if (declared === undefined) {
    const references = all.map(({ reference }) => reference).join(", ");
    return [...reasons, `doc must reference a declared deliverable: ${references}`];
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
