/**
 * Everything that can move the cursor, change colours, write the clipboard, reorder what is read
 * or hide text: C0 and C1 controls, DEL, bidi controls, zero-width and tag characters, line
 * separators, lone surrogates. Spec 8.2.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** Joiners only shape letters and emoji; taking them apart would garble many scripts. */
const JOINERS = new Set(["\u200c", "\u200d"]);

/** Peer text for one line of a terminal: unsafe characters are shown by their code. */
export function sanitise(text: string): string {
  return text.replace(UNSAFE, escapeForPeople);
}

/** Peer text of several lines: what was one line stays one, and none can pose as ours. */
export function sanitiseLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => sanitise(line.replaceAll("\t", "    ")));
}

function escapeForPeople(character: string): string {
  if (JOINERS.has(character)) return character;
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (character === "\t") return "\\t";
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
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
