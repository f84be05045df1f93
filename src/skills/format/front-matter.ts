import { isMap, isNode, isScalar, visit, type Document, type Node, type Scalar } from "yaml";
import { quote } from "../../wire/quote.ts";
import { isError, type Problem } from "../../plans/plan/problem.ts";
import { keyText, placeAt, readYaml, type Lines } from "../../plans/plan/yaml-document.ts";

/** A longer one is not read: the fields of a skill need a small part of it. */
const MAX_FRONT_MATTER_CHARACTERS = 16_384;

/** The fields of the open format; tools have others of their own. */
const FIELDS: readonly string[] = [
  ...["name", "description", "license", "compatibility", "metadata", "allowed-tools"],
];

/**
 * A field: a text, or texts by their names; undefined for one that is not of the open format, which may be
 * anything. Its line counts from the top of the file.
 */
export interface Field {
  readonly line: number;
  readonly value: string | ReadonlyMap<string, string> | undefined;
}

export interface FrontMatter {
  readonly fields: ReadonlyMap<string, Field>;
  readonly body: string;
  /** How many lines of the file are before the body. */
  readonly linesBefore: number;
  readonly problems: readonly Problem[];
}

export interface Split {
  readonly yaml: string;
  readonly body: string;
}

/** The two parts of SKILL.md, as they are; undefined when it does not begin with front matter. */
export function splitSkill(text: string): Split | undefined {
  const found = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/mu.exec(text);
  if (found === null || found.index !== 0) return undefined;
  return { yaml: found[1] ?? "", body: text.slice(found[0].length) };
}

/** Reads the front matter of SKILL.md, which is data and never more. Spec 7.1. */
export function readFrontMatter(text: string): FrontMatter {
  const parts = splitSkill(text);
  if (parts === undefined) {
    const what = text.startsWith("\uFEFF")
      ? "begins with a byte order mark; save it without one"
      : "does not begin with front matter between two lines of ---";
    return { fields: new Map(), body: text, linesBefore: 0, problems: [problem(1, what)] };
  }
  const linesBefore = parts.yaml.split("\n").length + 1;
  const rest = { body: parts.body, linesBefore };
  const blank = text
    .split("\n", linesBefore)
    .findIndex((row, at) => (at === 0 || at === linesBefore - 1) && /[ \t]\r?$/u.test(row));
  if (blank !== -1) {
    const what = "remove the blanks after ---: other readers do not find the front matter";
    return { fields: new Map(), ...rest, problems: [problem(blank + 1, what)] };
  }
  if (parts.yaml.length > MAX_FRONT_MATTER_CHARACTERS) {
    const what = `the front matter has ${parts.yaml.length} characters; at most ${MAX_FRONT_MATTER_CHARACTERS}`;
    return { fields: new Map(), ...rest, problems: [problem(1, what)] };
  }
  const read = readYaml(parts.yaml);
  if (!read.ok) {
    const problems = read.problems.map((each) => ({ ...each, line: (each.line ?? 0) + 1 }));
    return { fields: new Map(), ...rest, problems };
  }
  return { ...fieldsOf(read.doc, read.lines), ...rest };
}

function fieldsOf(doc: Document.Parsed, lines: Lines): Pick<FrontMatter, "fields" | "problems"> {
  const problems: Problem[] = tagsIn(doc, lines);
  const fields = new Map<string, Field>();
  if (!isMap(doc.contents)) {
    return { fields, problems: [...problems, problem(2, "the front matter is no list of fields")] };
  }
  for (const { key, value } of doc.contents.items) {
    const name = keyText(key);
    const line = lineOf(key, lines);
    if (!FIELDS.includes(name)) {
      fields.set(name, { line, value: undefined });
      continue;
    }
    const read = isMap(value)
      ? textsOf(name, value.items, lines)
      : textOf(quote(name), value, line);
    problems.push(...read.problems);
    if (!read.problems.some(isError)) fields.set(name, { line, value: read.value });
  }
  return { fields, problems };
}

interface Read<T> {
  readonly value: T;
  readonly problems: readonly Problem[];
}

function textsOf(
  field: string,
  items: readonly { readonly key: unknown; readonly value: unknown }[],
  lines: Lines,
): Read<ReadonlyMap<string, string>> {
  const value = new Map<string, string>();
  const problems: Problem[] = [];
  for (const item of items) {
    const name = keyText(item.key);
    const read = textOf(quote(`${field}.${name}`), item.value, lineOf(item.key, lines));
    // Nothing depends on these, and `version: 1.0` is common: the value is read as it is spelled.
    const level = isScalar(item.value) ? "warning" : "error";
    problems.push(...read.problems.map((each) => ({ ...each, level }) as const));
    value.set(name, read.value);
  }
  return { value, problems };
}

function textOf(what: string, node: unknown, line: number): Read<string> {
  if (!isScalar(node)) {
    const kind = node === null || node === undefined ? "empty" : "a list or more";
    return { value: "", problems: [problem(line, `${what} is ${kind}, not a text`)] };
  }
  const kind = otherKind(node);
  const text = typeof node.value === "string" ? node.value : (node.source ?? "");
  if (kind === undefined) return { value: text, problems: [] };
  const hint = text === "" ? "" : `; write ${quote(text)}`;
  return { value: text, problems: [problem(line, `${what} is ${kind}, not a text${hint}`)] };
}

const DATE = /^\d{4}-\d{1,2}-\d{1,2}(?:$|[Tt ])/u;
const NUMBER = /^[-+]?(?:\.?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+)$/u;
const SIXTIES = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/u;

/**
 * What a bare word is to a reader of YAML 1.1 or 1.2, if that is no text: tools read both, so a text has to
 * be one in both.
 */
function otherKind({ value, type }: Scalar): string | undefined {
  if (value === null) return "empty";
  if (type !== "PLAIN") return typeof value === "string" ? undefined : `a ${typeof value}`;
  if (typeof value !== "string") return typeof value === "boolean" ? "yes or no" : "a number";
  if (/^(?:y|yes|n|no|on|off|true|false)$/iu.test(value)) return "yes or no";
  if (/^(?:~|null)$/iu.test(value)) return "empty";
  if (DATE.test(value)) return "a date";
  return NUMBER.test(value) || SIXTIES.test(value) || /^[-+]?\.(?:inf|nan)$/iu.test(value)
    ? "a number"
    : undefined;
}

/** A tag asks a reader to make something of data, in some libraries by running code. */
function tagsIn(doc: Document.Parsed, lines: Lines): Problem[] {
  const found: Problem[] = [];
  visit(doc, {
    Node(_key, node) {
      if (node.tag === undefined) return undefined;
      const text = `the tag ${quote(node.tag)} is refused: front matter is plain data`;
      found.push(problem(lineOf(node, lines), text));
      return undefined;
    },
  });
  return found;
}

function lineOf(node: unknown, lines: Lines): number {
  const offset = isNode(node) ? ((node as Node).range?.[0] ?? 0) : 0;
  return placeAt(lines, offset).line + 1;
}

function problem(line: number, text: string): Problem {
  return { level: "error", line, column: 1, text };
}
