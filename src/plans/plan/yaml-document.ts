import { isAlias, isNode, isScalar, Lexer, LineCounter, parseDocument, visit } from "yaml";
import type { Document, Node } from "yaml";
import { quote } from "../../wire/quote.ts";
import type { Place, Problem } from "./problem.ts";

/** Lists and mappings within each other, in flow style; the parser may not survive many more. */
const MAX_FLOW_DEPTH = 100;
/** Spaces and dashes that a line begins with. */
const MAX_INDENT = 200;
/**
 * Signs, words and escapes in one document. The time that the library takes grows with their number, and
 * with that of the faults among them: a million quotes take it many seconds.
 */
const MAX_YAML_TOKENS = 100_000;
/** Faults that are told of one document. */
const MAX_FAULTS_TOLD = 20;

export type Lines = { linePos(offset: number): { line: number; col: number } };

/** A YAML document without aliases and without a key that is there twice. */
export type YamlRead =
  | { readonly ok: true; readonly doc: Document.Parsed; readonly lines: Lines }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads YAML 1.2 of strangers. Aliases are refused: nothing of ours needs them, and a small text can mean a
 * huge one by them. No tag makes anything but data. Spec 7.3.
 */
export function readYaml(text: string): YamlRead {
  const costly = nestedTooDeeply(text) ?? tooManyTokens(text);
  if (costly !== undefined) return { ok: false, problems: [costly] };
  const lines = new LineCounter();
  // Our own check of keys takes one pass; the library compares each key with all others.
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const wrong = doc.errors
    .slice(0, MAX_FAULTS_TOLD)
    .map(({ message, pos }) => problemAtOffset(lines, pos[0], sentence(message)));
  const problems = wrong.length > 0 ? wrong : refusedNodes(doc, lines);
  return problems.length > 0
    ? { ok: false, problems: problems.slice(0, MAX_FAULTS_TOLD) }
    : { ok: true, doc, lines };
}

/** What the library found odd in a document that it read. */
export function yamlWarnings({ warnings }: Document.Parsed, lines: Lines): Problem[] {
  return warnings.slice(0, MAX_FAULTS_TOLD).map(({ message, pos }) => ({
    ...problemAtOffset(lines, pos[0], sentence(message)),
    level: "warning" as const,
  }));
}

export function keyText(key: unknown): string {
  if (!isScalar(key)) return "?";
  return String(typeof key.value === "string" ? key.value : (key.source ?? key.value));
}

export function placeAt(lines: Lines, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function problemAtOffset(lines: Lines, offset: number, text: string): Problem {
  return { level: "error", ...placeAt(lines, offset), text };
}

/** What the library says, without the words of the document in it. */
function sentence(message: string): string {
  return quote(message.split("\n", 1)[0] ?? "", 200)
    .slice(1, -1)
    .replaceAll('\\"', '"');
}

/** Aliases, then keys that are there twice. */
function refusedNodes(doc: Document.Parsed, lines: Lines): Problem[] {
  const aliases: Problem[] = [];
  const keys: Problem[] = [];
  const problemAt = (node: unknown, text: string): Problem =>
    problemAtOffset(lines, isNode(node) ? ((node as Node).range?.[0] ?? 0) : 0, text);
  visit(doc, {
    Alias(_key, node) {
      aliases.push(problemAt(node, "aliases (*name) are not read: write the value out"));
    },
    Map(_key, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (isAlias(key)) continue;
        const name = keyText(key);
        if (seen.has(name)) keys.push(problemAt(key, `the key ${quote(name)} is there twice`));
        seen.add(name);
      }
    },
  });
  return [...aliases, ...keys];
}

/** Judged from the text alone: deep nesting can end the whole process inside a parser. */
function nestedTooDeeply(text: string): Problem | undefined {
  let depth = 0;
  for (const [index, row] of text.split("\n").entries()) {
    const indent = /^[\s\-?:]*/u.exec(row)?.[0].length ?? 0;
    for (const character of row) {
      if (character === "[" || character === "{") depth += 1;
      else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
      if (depth > MAX_FLOW_DEPTH) break;
    }
    if (depth > MAX_FLOW_DEPTH || indent > MAX_INDENT) {
      const text = `nested too deeply: at most ${MAX_FLOW_DEPTH} open brackets, and ${MAX_INDENT} spaces or dashes before a text`;
      return { level: "error", line: index + 1, column: 1, text };
    }
  }
  return undefined;
}

/** Cheap in itself: it only cuts the text into pieces. */
function tooManyTokens(text: string): Problem | undefined {
  let count = text.split("\\").length;
  for (const _token of new Lexer().lex(text)) {
    count += 1;
    if (count > MAX_YAML_TOKENS) {
      const text = `more than ${MAX_YAML_TOKENS} signs and words`;
      return { level: "error", line: undefined, column: undefined, text };
    }
  }
  return undefined;
}
