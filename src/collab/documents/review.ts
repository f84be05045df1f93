import type { RoundRules } from "../machine/event.ts";
import { linesOf } from "./text.ts";

/** What a review says about itself in its heading. */
export interface ReviewHeading {
  readonly participant: string;
  readonly seq: number;
}

/** Parts of a review; `init` writes them down, and `validate` warns where one is missing. Spec 6.2. */
export const REVIEW_PARTS = [
  "Context",
  "Position",
  "Concerns",
  "Required Changes",
  "Questions",
] as const;

const SCOPE = "Primary deliverable completeness";

/** Longer ones are no headings of ours. */
const MAX_HEADING_CHARS = 512;

interface Review extends ReviewHeading {
  readonly lines: readonly string[];
}

/** The reviews in `review.md`: `## <time> - <participant> - seq <n>` begins each. */
function reviewsIn(text: string): Review[] {
  const reviews: (ReviewHeading & { lines: string[] })[] = [];
  for (const line of linesOf(text)) {
    const heading = headingOf(line);
    if (heading !== undefined) reviews.push({ ...heading, lines: [] });
    else reviews.at(-1)?.lines.push(line);
  }
  return reviews;
}

function headingOf(line: string): ReviewHeading | undefined {
  if (!line.startsWith("##") || line.length > MAX_HEADING_CHARS) return undefined;
  // The pattern of spec 6.2 in two steps: at once it takes time by the cube of a line's length.
  const end = /\s-\s+seq\s+(\d+)$/u.exec(line.trimEnd());
  const title = /^##\s+(\S.*)$/u.exec(line.slice(0, end?.index).trimEnd())?.[1] ?? "";
  const begin = /\s-\s+/u.exec(title);
  if (end === null || begin === null) return undefined;
  const participant = title.slice(begin.index + begin[0].length);
  return participant === "" ? undefined : { participant, seq: Number(end[1]) };
}

/**
 * Where headings and reviews of the log differ. `submitted`: who said `review_submitted`, by seq.
 */
export function headingProblems(text: string, submitted: ReadonlyMap<number, string>): string[] {
  const reviews = reviewsIn(text);
  const problems = reviews.flatMap(({ participant, seq }) => {
    const from = submitted.get(seq);
    if (from === undefined) {
      return [`review.md heading seq ${seq} of '${participant}' has no review_submitted event`];
    }
    if (from === participant) return [];
    return [
      `review.md heading seq ${seq} participant '${participant}' does not match event from '${from}'`,
    ];
  });
  const headed = new Set(reviews.map(({ seq }) => seq));
  for (const [seq, from] of submitted) {
    if (headed.has(seq)) continue;
    problems.push(
      `review.md heading seq ${seq} is missing: ## <time> - ${from} - seq ${seq} must begin the review`,
    );
  }
  return problems;
}

/** What every review of schema 2 says, with the reference of the primary deliverable. */
export function scopeProblems(text: string, { schema, primary }: RoundRules): string[] {
  if (schema === 1 || primary === undefined) return [];
  const needed = [
    ["Reviewed primary deliverable:", "Reviewed primary deliverable:"],
    [primary, `the primary deliverable's path, ${primary}`],
    ["Review Scope:", "Review Scope:"],
    [SCOPE, `${SCOPE} in its Review Scope`],
  ] as const;
  return needed
    .filter(([phrase]) => !text.includes(phrase))
    .map(([, name]) => `review.md must say ${name}`);
}

/** Parts that a review lacks, as a heading or as words before a colon. */
export function missingParts(text: string): string[] {
  return reviewsIn(text).flatMap(({ seq, lines }) => {
    const missing = REVIEW_PARTS.filter((part) => !lines.some((line) => isPart(line, part)));
    return missing.length === 0
      ? []
      : [`review.md: the review of seq ${seq} has no ${missing.join(", no ")}`];
  });
}

function isPart(line: string, part: string): boolean {
  const words = line.replace(/^[\s#*\->]+/u, "").toLowerCase();
  return words.startsWith(part.toLowerCase());
}
