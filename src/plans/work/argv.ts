import { quote } from "../../wire/quote.ts";

/** A command line as words, or why it is none. */
export type Words =
  | { readonly ok: true; readonly words: readonly string[] }
  | { readonly ok: false; readonly detail: string };

const MAX_COMMAND_LENGTH = 8_192;

/**
 * Splits a command line at spaces. Quotes of both kinds keep a word together, and a backslash outside of
 * single quotes takes the next sign as it is. Nothing else has a meaning: no variable, pattern, pipe or
 * second command, since no shell sees it. Spec 7.5.
 */
export function splitWords(line: string): Words {
  if (line.length > MAX_COMMAND_LENGTH) return { ok: false, detail: "the command is too long" };
  const words: string[] = [];
  let word: string | undefined;
  let open: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === "\0") return { ok: false, detail: "the command has a NUL character" };
    if (sign === "\\" && open !== "'") {
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (open === undefined && (sign === '"' || sign === "'")) {
      open = sign;
      word ??= "";
    } else if (sign === open) {
      open = undefined;
    } else if (open === undefined && /\s/u.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + sign;
  }
  if (open !== undefined) return { ok: false, detail: `a quote is not closed in ${quote(line)}` };
  if (word !== undefined) words.push(word);
  if ((words[0] ?? "") === "") return { ok: false, detail: "the command is empty" };
  return { ok: true, words };
}
