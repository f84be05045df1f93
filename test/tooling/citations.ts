import { lineAt } from "./repository-files.ts";

/** A number of a section ("1.5") or of a chapter ("3") that a text cites. */
export interface Citation {
  readonly line: number;
  readonly number: string;
}

// A comment goes on in the next line behind its own mark.
const SPACE = String.raw`(?:[ \t]|\r?\n[ \t]*(?:\*(?!/)|//|#)?)+`;
const SECTION = String.raw`[1-9]\d?\.\d+(?:\.\d+)*`;
const FIRST = new RegExp(
  String.raw`\bspec(?:ification)?s?${SPACE}(?:sections?${SPACE}|§${SPACE}?)?(${SECTION}|[1-9]\d?(?!\d))`,
  "gi",
);
const JOINT = String.raw`(?:,${SPACE}?(?:(?:and|or)${SPACE})?|${SPACE}(?:and|or|to)${SPACE}|[-–])`;
// A chapter alone goes on a list only where the list goes on or ends: "Spec 1.2, 3 times" names none.
const NEXT = new RegExp(String.raw`${JOINT}(${SECTION}|[1-9](?=[,.:;)]))`, "gy");

/** What a text cites as `Spec 1.5`, `Spec 1.5, 2.3`, `spec 2.1 to 2.3` or `Spec 3`. */
export function citationsIn(text: string): Citation[] {
  const citations: Citation[] = [];
  for (const first of text.matchAll(FIRST)) {
    citations.push(citation(text, first));
    NEXT.lastIndex = first.index + first[0].length;
    for (let next = NEXT.exec(text); next !== null; next = NEXT.exec(text)) {
      citations.push(citation(text, next));
    }
  }
  return citations;
}

const WITHIN = new RegExp(
  String.raw`\((${SECTION})(?=[),;])|(?<=\([^()\n]*[,;] )(${SECTION})(?=[),;])`,
  "g",
);

/** What a chapter of the specification cites as `(3.4)` or `(1.2, 1.4)`. */
export function referencesIn(chapter: string): Citation[] {
  return [...chapter.matchAll(WITHIN)].map((match) => citation(chapter, match));
}

/** The numbers that the headings of a chapter give: `# 1. The wire`, `## 1.5 Signing`. */
export function numbersIn(chapter: string): string[] {
  const headings = chapter.matchAll(/^#{1,6}[ \t]+(\d+(?:\.\d+)*)\.?[ \t]/gm);
  return [...headings].map(([, number = ""]) => number);
}

/** The citations that no heading answers, each with its file and line. */
export function unresolved(
  path: string,
  citations: readonly Citation[],
  known: ReadonlySet<string>,
): string[] {
  return citations.flatMap(({ line, number }) =>
    known.has(number) ? [] : [`${path}:${line} cites ${number}, and docs/spec has no such heading`],
  );
}

function citation(text: string, match: RegExpExecArray): Citation {
  const number = match.slice(1).find((group) => group !== undefined) ?? "";
  return { line: lineAt(text, match.index + match[0].lastIndexOf(number)), number };
}
