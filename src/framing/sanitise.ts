import { JOINERS, sanitise, UNSAFE } from "../wire/quote.ts";

export { sanitise } from "../wire/quote.ts";

/** Peer text of several lines: what was one line stays one, and none can pose as ours. */
export function sanitiseLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => sanitise(line.replaceAll("\t", "    ")));
}

/**
 * JSON on one line that is safe on a terminal too: the same characters, written as \u escapes, so
 * that a reader gets the same value.
 */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    JOINERS.has(character)
      ? character
      : Array.from(
          { length: character.length },
          (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`,
        ).join(""),
  );
}
