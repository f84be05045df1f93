import { DeaddropError } from "../api/errors.ts";

/** A part of ours in a text of somebody else: between two markers, each on a row of its own. */
export interface ManagedBlock {
  readonly begin: string;
  readonly end: string;
  /** How any version of ours began it. */
  readonly begins: string;
  readonly text: string;
}

/**
 * The text with the block in the place of the old one, else at its end, in its own line ends. Throws
 * DeaddropError ("config") when it holds a block that is not whole.
 */
export function withManagedBlock(managed: ManagedBlock, text: string, path: string): string {
  const { begins, begin, end: endMark } = managed;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const block = `${begin}\n${managed.text}\n${endMark}`.replaceAll("\n", eol);
  const parts = text.split(begins);
  const [before = "", old] = parts;
  if (old === undefined) {
    const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
    return `${text}${gap}${block}${eol}`;
  }
  const end = old.indexOf(endMark);
  if (parts.length > 2 || end === -1) {
    const what =
      parts.length > 2 ? "holds two blocks of ours" : "holds a block of ours without its end";
    throw new DeaddropError("config", `${path} ${what}`, {
      hint: `remove what begins with "${begins}", and run this again; nothing was changed`,
    });
  }
  return `${before}${block}${old.slice(end + endMark.length)}`;
}

/** The text without the block; undefined when nothing else is left. */
export function withoutManagedBlock(
  { begins, end: endMark }: ManagedBlock,
  text: string,
): string | undefined {
  const begin = text.indexOf(begins);
  const end = text.indexOf(endMark, begin);
  if (begin === -1 || end === -1) return text;
  const before = text.slice(0, begin).replace(/(\r?\n)\r?\n$/u, "$1");
  const rest = before + text.slice(end + endMark.length).replace(/^\r?\n/u, "");
  return rest.trim() === "" ? undefined : rest;
}
