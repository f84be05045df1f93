/**
 * Text of strangers for use in an error: JSON string syntax, printable ASCII only, cut at
 * `maxLength` characters, so that no detail can carry terminal escapes or bidi controls.
 */
export function quote(text: string, maxLength = 64): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  const escaped = JSON.stringify(cut).replace(/[^ -~…]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return escaped;
}

/**
 * Everything that can move the cursor, change colours, write the clipboard, reorder what is read
 * or hide text: C0 and C1 controls, DEL, bidi controls, zero-width and tag characters, line
 * separators, lone surrogates. Spec 8.2.
 */
export const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** Joiners only shape letters and emoji; taking them apart would garble many scripts. */
export const JOINERS: ReadonlySet<string> = new Set(["\u200c", "\u200d"]);

/** Peer text for one line: unsafe characters are shown by their code. */
export function sanitise(text: string): string {
  return text.replace(UNSAFE, escapeForPeople);
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

/** A word of a shell that means itself, between quotes in any case. */
export function quotedWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The same, without quotes where it needs none. */
export function shellWord(word: string): string {
  return /^[\w./:,@%+=-]+$/u.test(word) ? word : quotedWord(word);
}
