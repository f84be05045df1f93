import type { RoundRules, Schema } from "../machine/event.ts";
import { linesOf, listItems, missingSections } from "./text.ts";

const OUTCOMES = ["proceed", "do_not_proceed", "defer", "blocked"] as const;
export type Outcome = (typeof OUTCOMES)[number];

const BEFORE = ["Decision Outcome", "Rationale"];
const AFTER = ["Assumptions", "Deferred Follow-ups", "Implementation Blockers", "Next Action"];

const SECTIONS: Readonly<Record<Schema, readonly string[]>> = {
  1: [...BEFORE, "Accepted Decisions", "Implementation Approach", ...AFTER],
  2: [...BEFORE, "Deliverable Receipt", "Accepted Decisions Summary", "Readiness Result", ...AFTER],
};

/** A placeholder, as a whole word. */
const PLACEHOLDER = /(?<![\p{L}\p{N}_])(TBD|TODO|unresolved|待定)(?![\p{L}\p{N}_])/iu;

/** The headings of `conclusion.md`, in the order in which they are written. Spec 6.2. */
export function conclusionSections(schema: Schema): readonly string[] {
  return SECTIONS[schema];
}

/** What a conclusion says is to be done; undefined unless it says exactly one thing. */
export function outcomeOf(conclusion: string): Outcome | undefined {
  const outcomes = outcomesIn(conclusion);
  return outcomes.length === 1 ? outcomes[0] : undefined;
}

function outcomesIn(conclusion: string): Outcome[] {
  return listItems(linesOf(conclusion)).flatMap(({ mark }) => {
    const outcome = OUTCOMES.find((known) => known === mark);
    return outcome === undefined ? [] : [outcome];
  });
}

/** What a conclusion lacks. In schema 2 it must name the primary deliverable. */
export function conclusionProblems(conclusion: string, { schema, primary }: RoundRules): string[] {
  const lines = linesOf(conclusion);
  const problems = missingSections(lines, SECTIONS[schema]).map(
    (heading) => `conclusion.md requires the section ## ${heading}`,
  );
  const outcomes = outcomesIn(conclusion);
  if (outcomes.length !== 1) {
    problems.push(
      `conclusion.md requires exactly one outcome, - [proceed|do_not_proceed|defer] …; it has ${outcomes.length}`,
    );
  } else if (outcomes[0] === "blocked") {
    problems.push("conclusion.md says [blocked]: a blocked round is not completed");
  }
  const placeholder = lines.map((line) => PLACEHOLDER.exec(line)?.[1]).find(Boolean);
  if (placeholder !== undefined) {
    problems.push(`conclusion.md still holds a placeholder: ${placeholder}`);
  }
  if (schema === 2 && primary !== undefined && !conclusion.includes(primary)) {
    problems.push(`conclusion.md must name the primary deliverable, ${primary}`);
  }
  return problems;
}
