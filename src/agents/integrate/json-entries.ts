import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  parseTree,
  type JSONPath,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { isDeepStrictEqual } from "node:util";
import { boundElsewhere, unreadable, type FileEdit } from "./file-edit.ts";

/** A value of ours in a JSON file. */
export interface JsonEntry {
  /** Where it is; of an entry in a list, where the list is. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** In a list: which of its items is ours, for whichever agent. */
  isOurs?(item: unknown): boolean;
}

const EMPTY = "{}\n";

/**
 * Entries in a JSON file with comments, as the coding tools have it. All else stays as it is: comments,
 * order, unknown keys, indentation.
 */
export function jsonEdit(
  path: string,
  tool: string,
  entries: readonly JsonEntry[],
  /** Taken out with them, whether or not they are put in this time. */
  rules: readonly JsonEntry[] = [],
): FileEdit {
  return {
    path,
    isShared: false,
    put: (text) =>
      entries.reduce(
        (now, entry) => withEntry(now, entry, { path, tool }),
        checked(blankAsEmpty(text), path),
      ),
    take: (text) => {
      const rest = [...entries, ...rules].reduce(withoutEntry, checked(text, path));
      const isOnlyOurs = rest !== text && isEmpty(valueAt(rest, [])) && !/\/[/*]/u.test(rest);
      return isOnlyOurs ? undefined : rest;
    },
  };
}

function blankAsEmpty(text: string | undefined): string {
  return text === undefined || text.trim() === "" ? EMPTY : text;
}

/** The text itself, when it is an object. */
function checked(text: string, path: string): string {
  if (rootOf(text, path).type !== "object") throw unreadable(path, "not a JSON object");
  return text;
}

function rootOf(text: string, path: string): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  if (root === undefined || errors.length > 0) {
    const before = text.slice(0, errors[0]?.offset ?? 0);
    throw unreadable(path, `not valid JSON (line ${before.split("\n").length})`);
  }
  return root;
}

function withEntry(
  text: string,
  entry: JsonEntry,
  of: { readonly path: string; readonly tool: string },
): string {
  const { value } = entry;
  const place = placeOf(text, entry, of.path);
  const there = place.index === undefined ? undefined : valueAt(text, place.path);
  if (there !== undefined) {
    if (isDeepStrictEqual(there, value)) return text;
    // The same identity with other details, of an older version, is replaced.
    if (identityIn(there) !== identityIn(value)) throw boundElsewhere(of.path, of.tool);
  }
  return changed(text, place.path, value, place.index === undefined && entry.isOurs !== undefined);
}

function withoutEntry(text: string, entry: JsonEntry): string {
  const place = placeOf(text, entry, "");
  if (place.index === undefined) return text;
  let rest = changed(text, place.path, undefined, false);
  // Lists and objects that are empty now.
  for (let path = place.path.slice(0, -1); path.length > 0; path = path.slice(0, -1)) {
    if (!isEmpty(valueAt(rest, path))) break;
    rest = changed(rest, path, undefined, false);
  }
  return rest;
}

/** `index`: undefined when our entry is not there. */
function placeOf(
  text: string,
  { path, isOurs }: JsonEntry,
  file: string,
): { readonly path: JSONPath; readonly index: number | undefined } {
  const there = valueAt(text, path);
  if (isOurs === undefined) return { path: [...path], index: there === undefined ? undefined : 0 };
  if (there === undefined) return { path: [...path, 0], index: undefined };
  if (!Array.isArray(there)) throw unreadable(file, `${path.join(".")} is not a list`);
  const at = there.findIndex((item) => isOurs(item));
  return at === -1
    ? { path: [...path, there.length], index: undefined }
    : { path: [...path, at], index: at };
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function valueAt(text: string, path: readonly (string | number)[]): unknown {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const node = root === undefined ? undefined : findNodeAtLocation(root, [...path]);
  // Plain objects, which are compared as such.
  return node === undefined ? undefined : (structuredClone(getNodeValue(node)) as unknown);
}

function changed(text: string, path: JSONPath, value: unknown, isArrayInsertion: boolean): string {
  const indent = /\n([ \t]+)\S/u.exec(text)?.[1] ?? "  ";
  const formattingOptions = {
    insertSpaces: !indent.startsWith("\t"),
    tabSize: indent.startsWith("\t") ? 1 : indent.length,
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
  return applyEdits(text, modify(text, path, value, { formattingOptions, isArrayInsertion }));
}

/** Whom an entry speaks for: `--as` and `--wire` in its words. */
function identityIn(value: unknown): string {
  const words = JSON.stringify(value);
  return (/--as\W+[\w.-]+[^}]*?--wire\W+[^"]+/u.exec(words)?.[0] ?? "").replaceAll(
    /["',\s\\]+/gu,
    " ",
  );
}
