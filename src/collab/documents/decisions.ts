import { linesOf, sectionsOf } from "./text.ts";

/** What is wrong with `decisions.md` in schema 2. `references`: of the declared deliverables. Spec 6.2. */
export function decisionProblems(decisions: string, references: readonly string[]): string[] {
  const entries = sectionsOf(linesOf(decisions), 3);
  return entries.flatMap(({ heading, lines }, index) => {
    const given = /^D(\d+)\.\s+\S/u.exec(heading)?.[1];
    const number = given ?? String(index + 1);
    const problems: string[] = [];
    if (given === undefined) {
      problems.push(`accepted decision headings must use D<number>: ### ${heading.slice(0, 80)}`);
    } else if (Number(given) !== index + 1) {
      problems.push(
        `accepted decision D${given} is number ${index + 1}: they are numbered 1, 2, 3 …`,
      );
    }
    if (!valueOf(lines, "Decision"))
      problems.push(`accepted decision D${number} requires Decision`);
    const reflected = valueOf(lines, "Reflected in");
    if (!reflected) problems.push(`accepted decision D${number} requires Reflected in`);
    else if (!references.some((reference) => reflected.includes(reference))) {
      problems.push(
        `accepted decision D${number} Reflected in must name a declared deliverable: ${references.join(", ")}`,
      );
    }
    return problems;
  });
}

function valueOf(lines: readonly string[], name: string): string | undefined {
  const start = `- ${name}:`.toLowerCase();
  const line = lines.find((each) => each.trim().toLowerCase().startsWith(start));
  const value = line?.trim().slice(start.length).trim();
  return value === "" ? undefined : value;
}
