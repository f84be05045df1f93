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
import { boundElsewhere, unreadable, type FileEdit, type Owner } from "./file-edit.ts";
import { oursAmong } from "./hook-entries.ts";
import { commandOf, isOfAnother, type Joining } from "./integration.ts";

/** A value of ours in a JSON file. */
export interface JsonEntry {
  /** Where it is; of an entry in a list, where the list is. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** In a list: which of its items is ours, for whichever agent. */
  isOurs?(item: unknown): boolean;
}

/** Hooks of ours for one event: `hooks.<event>` is a list of groups, each with a list of hooks. */
export interface HookEntry {
  readonly event: string;
  readonly hooks: readonly object[];
  /** What a group of ours has beside its hooks. */
  readonly group?: object;
}

/** Our MCP server among the servers of a tool. */
export function serverEntry(at: Joining, servers = "mcpServers", more: object = {}): JsonEntry {
  const [command, ...args] = commandOf(at, "mcp");
  return { path: [servers, "deaddrop"], value: { command, args, ...more } };
}

/** Our part of a file. */
interface Parts {
  readonly entries: readonly JsonEntry[];
  readonly hooks?: readonly HookEntry[];
  /** Taken out with them, whether or not they are put in this time. */
  readonly rules?: readonly JsonEntry[];
}

const EMPTY = "{}\n";

/**
 * Entries in a JSON file with comments, as the coding tools have it. All else stays as it is: comments,
 * order, unknown keys, indentation.
 */
export function jsonEdit(
  path: string,
  owner: Owner,
  { entries, hooks = [], rules = [] }: Parts,
): FileEdit {
  const of = { path, owner };
  return {
    path,
    isShared: false,
    put: (text) => {
      const start = checked(blankAsEmpty(text), path);
      const withEntries = entries.reduce((now, entry) => withEntry(now, entry, of), start);
      return checked(
        hooks.reduce((now, entry) => withHooks(now, entry, of), withEntries),
        path,
      );
    },
    take: (text) => {
      const withoutAll = hooks.reduce(
        (now, { event }) => withoutHooks(now, event, owner.tool),
        checked(text, path),
      );
      const rest = [...entries, ...rules].reduce(withoutEntry, withoutAll);
      const isOnlyOurs = rest !== text && isEmpty(valueAt(rest, [])) && !/\/[/*]/u.test(rest);
      return isOnlyOurs ? undefined : checked(rest, path);
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
  of: { readonly path: string; readonly owner: Owner },
): string {
  const { value } = entry;
  const place = placeOf(text, entry, of.path);
  const there = place.index === undefined ? undefined : valueAt(text, place.path);
  if (there !== undefined) {
    if (isDeepStrictEqual(there, value)) return text;
    // The same identity with other details, of an older version, is replaced.
    if (isOfAnother(there, of.owner)) throw boundElsewhere(of.path, [of.owner.tool]);
  }
  return changed(text, place.path, value, place.index === undefined && entry.isOurs !== undefined);
}

function withoutEntry(text: string, entry: JsonEntry): string {
  const place = placeOf(text, entry, "");
  return place.index === undefined ? text : without(text, place.path);
}

/** Without the value at that place, and without lists and objects that are empty then. */
function without(text: string, at: JSONPath): string {
  let rest = changed(text, at, undefined, false);
  for (let path = at.slice(0, -1); path.length > 0; path = path.slice(0, -1)) {
    if (!isEmpty(valueAt(rest, path))) break;
    rest = changed(rest, path, undefined, false);
  }
  return rest;
}

/**
 * Hooks of an older version are replaced in place, and further ones get a group at the end: no hook of the person
 * moves, since Codex keeps what was reviewed by places.
 */
function withHooks(
  text: string,
  { event, hooks, group = {} }: HookEntry,
  of: { readonly path: string; readonly owner: Owner },
): string {
  const path = ["hooks", event];
  const there = valueAt(text, path);
  if (there !== undefined && !Array.isArray(there)) {
    throw unreadable(of.path, `${path.join(".")} is not a list`);
  }
  const found = oursAmong(there, of.owner.tool);
  if (found.some(({ hook }) => isOfAnother(hook, of.owner))) {
    throw boundElsewhere(of.path, [of.owner.tool]);
  }
  const replaced = found.reduce((now, { group: at, index, hook }, which) => {
    const value = hooks[which] ?? hook;
    const isSame = isDeepStrictEqual(hook, value);
    return isSame ? now : changed(now, [...path, at, "hooks", index], value, false);
  }, text);
  const added = hooks.slice(found.length);
  return added.length > 0
    ? changed(replaced, [...path, there?.length ?? 0], { ...group, hooks: added }, true)
    : found.slice(hooks.length).reduceRight(withoutHook(path), replaced);
}

function withoutHooks(text: string, event: string, tool: string): string {
  const path = ["hooks", event];
  return oursAmong(valueAt(text, path), tool).reduceRight(withoutHook(path), text);
}

/** Without one hook; a group of ours goes with its last hook. */
function withoutHook(path: readonly string[]) {
  return (text: string, { group, index }: { group: number; index: number }): string => {
    const at = [...path, group];
    const {
      hooks,
      matcher: _,
      ...more
    } = valueAt(text, at) as { hooks: unknown[]; matcher?: unknown };
    return hooks.length === 1 && isEmpty(more)
      ? without(text, at)
      : changed(text, [...at, "hooks", index], undefined, false);
  };
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
