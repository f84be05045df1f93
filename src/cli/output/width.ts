import { eastAsianWidth } from "get-east-asian-width";

/** Marks that combine with the character before them, and joiners. */
const ZERO_WIDTH = /[\p{M}\u200c\u200d]/u;
/** What some terminals draw wide, whatever Unicode says of it: symbols, emoji, what is not assigned yet. */
const MAYBE_WIDE = /[\p{So}\p{Extended_Pictographic}\p{Cn}\p{Co}\u2e3a]/u;
/** Symbols too, but drawn in one column, as the bar of our own rows is. */
const BOX_DRAWING = /[\u2500-\u259f]/u;
const THREE_EM_DASH = "\u2e3b";
const ASCII = /^[ -~]*$/;

/** Columns that text usually takes: wide characters two, combining ones none. For aligning. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) {
    if (!ZERO_WIDTH.test(character)) width += eastAsianWidth(character.codePointAt(0) ?? 0);
  }
  return width;
}

/**
 * Columns that one character takes on whatever terminal, at most. Terminals differ in combining
 * marks, emoji and their sequences, and new characters: what counts too much is broken too early,
 * what counts too little would pass the edge. `isCjk`: the locale draws ambiguous ones wide.
 */
export function columnsAtMost(character: string, isCjk: boolean): number {
  if (character >= " " && character <= "~") return 1;
  if (character === "\t") return 8;
  if (character === THREE_EM_DASH) return 3;
  if (MAYBE_WIDE.test(character) && !BOX_DRAWING.test(character)) return 2;
  return eastAsianWidth(character.codePointAt(0) ?? 0, { ambiguousAsWide: isCjk });
}

/** Whether the locale is one whose terminals draw characters of ambiguous width wide. */
export function isCjkLocale(env: NodeJS.ProcessEnv): boolean {
  return /^(?:ja|ko|zh)/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "");
}

/** At most `room` columns, with an ellipsis where something was left out. */
export function cut(text: string, room: number): string {
  if (displayWidth(text) <= room) return text;
  let shown = "";
  let used = 1;
  for (const character of text) {
    used += displayWidth(character);
    if (used > room) break;
    shown += character;
  }
  return `${shown}…`;
}
