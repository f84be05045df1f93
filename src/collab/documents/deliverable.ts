import { linesOf, missingSections, sectionsOf } from "./text.ts";

const SECTIONS = {
  adr: ["Status", "Context", "Decision", "Alternatives Considered", "Consequences", "Follow-ups"],
  "design-spec": [
    "Problem",
    "Goals",
    "Non-goals",
    "Proposed Design",
    "Interfaces / Contracts",
    "Failure Modes",
    "Validation Plan",
    "Open Questions",
  ],
  "implementation-plan": [
    "Scope",
    "Phases",
    "Tasks",
    "Dependencies",
    "Rollout / Migration",
    "Tests",
    "Risks",
    "Exit Criteria",
  ],
  "decision-memo": [
    "Question",
    "Recommendation",
    "Options",
    "Tradeoffs",
    "Decision",
    "Next Action",
  ],
  "review-report": [
    "Scope",
    "Findings",
    "Risks",
    "Required Changes",
    "Open Questions",
    "Recommendation",
  ],
  "test-plan": ["Scope", "Test Matrix", "Fixtures", "Automation", "Manual Tests", "Exit Criteria"],
  custom: [],
} as const;

export type DeliverableType = keyof typeof SECTIONS;

export const DELIVERABLE_TYPES = Object.keys(SECTIONS) as DeliverableType[];

export function isDeliverableType(name: unknown): name is DeliverableType {
  return DELIVERABLE_TYPES.some((known) => known === name);
}

/** The `##` sections that a deliverable of that type has. Spec 6.2. */
export function deliverableSections(type: DeliverableType): readonly string[] {
  return SECTIONS[type];
}

export type DeliverableStatus = "Draft" | "In Review" | "Frozen";

const STATUS = /^Status:\s*(Draft|In Review|Frozen)\s*$/u;

/** Of the first line `Status: …` that says one. */
function statusOf(text: string): DeliverableStatus | undefined {
  const line = linesOf(text).find((each) => STATUS.test(each));
  return STATUS.exec(line ?? "")?.[1] as DeliverableStatus | undefined;
}

/** A declared file, and what it has to hold. */
export interface Declared {
  readonly type: DeliverableType;
  /** How events and documents name it: `deliverables/<file>` or `external:<file>`. */
  readonly reference: string;
  readonly checklist: readonly string[];
}

/** What a deliverable lacks; once it is frozen its sections are not empty, and its status says so. */
export function deliverableProblems(
  text: string,
  { type, reference, checklist }: Declared,
  isFrozen: boolean,
): string[] {
  const lines = linesOf(text);
  const problems = missingSections(lines, SECTIONS[type]).map(
    (heading) => `${reference} requires the section ## ${heading}`,
  );
  for (const check of checklist) {
    if (!namesCheck(lines, check)) problems.push(`${reference} must answer its check: ${check}`);
  }
  const status = statusOf(text);
  if (status === undefined) {
    problems.push(`${reference} requires a line Status: Draft, In Review or Frozen`);
  }
  if (!isFrozen) return problems;
  if (status !== undefined && status !== "Frozen") {
    problems.push(`${reference} requires Status: Frozen, not ${status}`);
  }
  return [...problems, ...emptySections(lines, SECTIONS[type], reference)];
}

function emptySections(
  lines: readonly string[],
  needed: readonly string[],
  reference: string,
): string[] {
  const wanted = new Set(needed.map((heading) => heading.toLowerCase()));
  return sectionsOf(lines)
    .filter(({ heading }) => wanted.has(heading.toLowerCase()))
    .filter((section) => section.lines.every((line) => line.trim() === ""))
    .map(({ heading }) => `${reference}: the section ## ${heading} is empty`);
}

/** As a heading, or as an item of a list. */
function namesCheck(lines: readonly string[], check: string): boolean {
  return lines.some((line) => /^\s*(#{1,6}|-)\s/u.test(line) && line.includes(check));
}

/** The gates of a round of schema 2 beside those of its objective, in this order. Spec 6.2. */
export function generatedGates(reference: string, type: DeliverableType): string[] {
  return [
    `Primary deliverable exists: \`${reference}\``,
    `Primary deliverable has required \`${type}\` sections`,
    "Every accepted decision has `Reflected in`",
    "Every accepted decision is reflected in the primary deliverable",
    "Primary deliverable status is `Frozen`",
    "Primary deliverable SHA-256 snapshot recorded",
  ];
}
