import { isDeepStrictEqual } from "node:util";
import { getStaticTOMLValue, parseTOML, type AST } from "toml-eslint-parser";
import { unreadable } from "./file-edit.ts";
import { field } from "./tool-state.ts";

type Value = string | boolean | readonly string[];
export type Values = Readonly<Record<string, Value>>;

/** A pair of key and value, with the whole path of the key. */
interface Pair {
  readonly path: readonly string[];
  readonly node: AST.TOMLKeyValue;
}

/** What a file says. Throws DeaddropError ("config"). */
export function tomlIn(text: string, path: string): Record<string, unknown> {
  try {
    return getStaticTOMLValue(parseTOML(text));
  } catch (error) {
    throw unreadable(path, `not valid TOML: ${(error as Error).message.split("\n")[0]}`);
  }
}

/**
 * The text with these values in one table, whichever way that is written; all else stays as it is, byte
 * by byte. `note`: a comment behind each value. Throws DeaddropError ("config") where it cannot be done.
 */
export function withTable(
  text: string,
  table: readonly string[],
  values: Values,
  { path, note = "" }: { readonly path: string; readonly note?: string },
): string {
  const before = tomlIn(text, path);
  if (has(before, table, values)) return text;
  const next = put(text, table, values, note === "" ? "" : ` # ${note}`);
  const after = valuesAfter(next);
  const isRestSame = isDeepStrictEqual(rest(before, table), rest(after, table));
  if (isRestSame && has(after, table, values)) return next;
  throw unreadable(path, `the table [${table.join(".")}] cannot be changed in it`);
}

function has(settings: unknown, table: readonly string[], values: Values): boolean {
  const there = table.reduce<unknown>(field, settings);
  return Object.entries(values).every(([key, value]) =>
    isDeepStrictEqual(field(there, key), value),
  );
}

/** The text without a table and those below it. */
export function withoutTable(text: string, table: readonly string[]): string {
  const { tables, pairs } = partsOf(text);
  const own = tables.filter(({ resolvedKey }) => begins(resolvedKey, table));
  const others = pairs.filter(
    ({ path, node }) => begins(path, table) && !own.some((each) => contains(each, node)),
  );
  const cuts = [
    ...own.map(({ range }) => wholeLines(text, range)),
    ...others.flatMap(({ path, node }) => {
      if (node.parent.type !== "TOMLInlineTable") return [wholeLines(text, node.range)];
      // What is below the table goes with it.
      return path.length === table.length ? [withComma(text, node)] : [];
    }),
  ];
  return cuts
    .toSorted(([a], [b]) => b - a)
    .reduce((now, [from, to]) => now.slice(0, from) + now.slice(to), text);
}

/** The text without the lines that end with that note, and without tables that are empty then. */
export function withoutNoted(text: string, table: readonly string[], note: string): string {
  const found = partsOf(text).tables.find(({ resolvedKey }) =>
    isDeepStrictEqual(resolvedKey, table),
  );
  if (found === undefined) return text;
  const noted = found.body.filter(({ range }) =>
    text.slice(range[1], lineEnd(text, range[1])).includes(`# ${note}`),
  );
  if (noted.length === 0) return text;
  if (noted.length === found.body.length) return withoutTable(text, table);
  return noted.reduceRight((now, { range }) => {
    const [from, to] = wholeLines(now, range);
    return now.slice(0, from) + now.slice(to);
  }, text);
}

function put(text: string, table: readonly string[], values: Values, note: string): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const { tables, pairs } = partsOf(text);
  const own = tables.find(({ resolvedKey }) => isDeepStrictEqual(resolvedKey, table));
  if (own !== undefined) return inTable(text, own, values, { note, eol });
  // The innermost inline table that it is, or is in.
  const around = pairs
    .filter(({ path, node }) => begins(table, path) && node.value.type === "TOMLInlineTable")
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  if (around !== undefined) {
    const { range, body } = around.node.value as AST.TOMLInlineTable;
    if (around.path.length === table.length) {
      const others = body.filter((node) => !Object.hasOwn(values, pathOf(node).join("\0")));
      const kept = others.map((node) => text.slice(...node.range));
      return text.slice(0, range[0]) + inlineTable(values, kept) + text.slice(range[1]);
    }
    const key = table.slice(around.path.length).map(keyText).join(".");
    const last = body.at(-1)?.range[1] ?? range[0] + 1;
    const added = `${body.length > 0 ? ", " : ""}${key} = ${inlineTable(values)}`;
    return `${text.slice(0, last)}${added}${text.slice(last)}`;
  }
  const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
  const rows = Object.entries(values).map(([key, value]) => `${key} = ${valueText(value)}${note}`);
  return `${text}${gap}${[`[${table.map(keyText).join(".")}]`, ...rows].join(eol)}${eol}`;
}

function inTable(
  text: string,
  table: AST.TOMLTable,
  values: Values,
  { note, eol }: { readonly note: string; readonly eol: string },
): string {
  const keys = new Map(table.body.map((node) => [pathOf(node).join("\0"), node.value]));
  const edits = Object.entries(values).map(([key, value]) => {
    const there = keys.get(key);
    if (there === undefined) {
      const at = lineEnd(text, table.body.at(-1)?.range[1] ?? table.key.range[1]);
      return { range: [at, at] as const, text: `${eol}${key} = ${valueText(value)}${note}` };
    }
    const isSame = isDeepStrictEqual(getStaticTOMLValue(there), value);
    return { range: there.range, text: isSame ? undefined : `${valueText(value)}${note}` };
  });
  return edits
    .toSorted((a, b) => b.range[0] - a.range[0])
    .reduce(
      (now, { range: [from, to], text: next }) =>
        next === undefined ? now : now.slice(0, from) + next + now.slice(to),
      text,
    );
}

function partsOf(text: string): { tables: AST.TOMLTable[]; pairs: Pair[] } {
  const top = parseTOML(text).body[0].body;
  const tables = top.filter((node) => node.type === "TOMLTable");
  const pairs = top.flatMap((node) =>
    node.type === "TOMLTable"
      ? node.body.flatMap((each) => pairsOf(each, node.resolvedKey.map(String)))
      : pairsOf(node, []),
  );
  return { tables, pairs };
}

/** The pair, and those in its inline table. */
function pairsOf(node: AST.TOMLKeyValue, above: readonly string[]): Pair[] {
  const path = [...above, ...pathOf(node)];
  const { value } = node;
  const below = value.type === "TOMLInlineTable" ? value.body : [];
  return [{ path, node }, ...below.flatMap((each) => pairsOf(each, path))];
}

function pathOf({ key }: AST.TOMLKeyValue): string[] {
  return key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value));
}

function begins(path: readonly (string | number)[], start: readonly (string | number)[]): boolean {
  return isDeepStrictEqual(path.slice(0, start.length), start);
}

function contains(table: AST.TOMLTable, { range }: AST.TOMLKeyValue): boolean {
  return table.range[0] <= range[0] && range[1] <= table.range[1];
}

/** The lines of a node, with the blank one that sets it apart from what is before it. */
function wholeLines(text: string, range: AST.Range): readonly [from: number, to: number] {
  const start = text.lastIndexOf("\n", range[0] - 1) + 1;
  const end = lineEnd(text, range[1]);
  const to = end + (/^\r?\n/u.exec(text.slice(end))?.[0].length ?? 0);
  const blank = /\n(\r?\n)$/u.exec(text.slice(0, start))?.[1] ?? "";
  const isApart = to === text.length || /^\r?\n/u.test(text.slice(to));
  return [isApart ? start - blank.length : start, to];
}

/** An item of an inline table, with one of the commas beside it. */
function withComma(
  text: string,
  { range: [from, to] }: AST.TOMLKeyValue,
): readonly [number, number] {
  const before = /,\s*$/u.exec(text.slice(0, from))?.[0].length;
  if (before !== undefined) return [from - before, to];
  return [from, to + (/^\s*,\s*/u.exec(text.slice(to))?.[0].length ?? 0)];
}

/** Behind a comment on that line. */
function lineEnd(text: string, at: number): number {
  const end = /\r?\n/u.exec(text.slice(at))?.index;
  return end === undefined ? text.length : at + end;
}

function inlineTable(values: Values, others: readonly string[] = []): string {
  const rows = Object.entries(values).map(([key, value]) => `${key} = ${valueText(value)}`);
  return `{ ${[...rows, ...others].join(", ")} }`;
}

/** A JSON string is a TOML string. */
function valueText(value: Value): string {
  return typeof value === "object"
    ? `[${value.map((each) => JSON.stringify(each)).join(", ")}]`
    : JSON.stringify(value);
}

function keyText(name: string): string {
  return /^[\w-]+$/u.test(name) ? name : JSON.stringify(name);
}

function valuesAfter(text: string): Record<string, unknown> {
  try {
    return getStaticTOMLValue(parseTOML(text));
  } catch {
    return {};
  }
}

/** The values without those of one table. */
function rest(value: unknown, [name = "", ...below]: readonly string[]): unknown {
  const { [name]: inner, ...others } = (value ?? {}) as Record<string, unknown>;
  if (below.length === 0 || inner === undefined) return others;
  const left = rest(inner, below);
  return isDeepStrictEqual(left, {}) ? others : { ...others, [name]: left };
}
