import { linesOf, listItems } from "./text.ts";

const KNOWN_MARKS: readonly string[] = [
  "resolved",
  "deferred_nonblocking",
  "blocking",
  "unresolved",
];
const SHOWN_CHARS = 120;

/** Why nobody may accept yet. Spec 6.2. */
export function unresolvedItems(readiness: string): string[] {
  return listItems(linesOf(readiness)).flatMap(({ mark, text }) => {
    const shown = `[${mark}] ${text.slice(0, SHOWN_CHARS)}`;
    if (mark === "blocking" || mark === "unresolved") {
      return [`unresolved readiness item: ${shown}`];
    }
    if (!KNOWN_MARKS.includes(mark)) return [];
    if (text.includes("TBD")) return [`unresolved readiness item, it says TBD: ${shown}`];
    if (mark === "deferred_nonblocking" && !/reason:/iu.test(text)) {
      return [`unresolved readiness item, it is deferred without Reason: ${shown}`];
    }
    return [];
  });
}

/** Items with a mark that means nothing: a misspelt one would never count. */
export function unknownMarks(readiness: string): string[] {
  return listItems(linesOf(readiness))
    .filter(({ mark }) => !KNOWN_MARKS.includes(mark) && mark.toLowerCase() !== "x")
    .map(
      ({ mark }) =>
        `readiness.md: [${mark.slice(0, SHOWN_CHARS)}] means nothing; use ${KNOWN_MARKS.join(", ")}`,
    );
}

/** The box that the owner checks last. */
export function isReadyToImplement(readiness: string): boolean {
  return linesOf(readiness).some((line) => /^\s*-\s*\[[xX]\]\s*Ready to implement/u.test(line));
}

/** The gates that no line `- [x] <gate>` checks. */
export function uncheckedGates(readiness: string, gates: readonly string[]): string[] {
  const checked = new Set(linesOf(readiness).map((line) => line.trim()));
  return gates.filter((gate) => !checked.has(`- [x] ${gate.trim()}`));
}
