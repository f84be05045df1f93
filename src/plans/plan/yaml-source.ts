import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
  type Scalar,
} from "yaml";
import { quote } from "../../wire/quote.ts";
import type { Path, Place, Problem } from "./problem.ts";
import type { PlanSource, SourceRead } from "./plan-source.ts";
import { commandOf, isTextAt } from "./text-fields.ts";

/** Lists and mappings within each other, in flow style; the parser may not survive many more. */
const MAX_FLOW_DEPTH = 100;
/** Spaces and dashes that a line begins with. */
const MAX_INDENT = 200;
/** Faults that are told of one document. */
const MAX_FAULTS_TOLD = 20;

type Lines = { linePos(offset: number): { line: number; col: number } };

/**
 * Reads YAML 1.2. Aliases are refused: nothing in a plan needs them, and a small text can mean a huge
 * one by them. No tag makes anything but data.
 */
export function readYamlSource(text: string): SourceRead {
  const nested = nestedTooDeeply(text);
  if (nested !== undefined) return { ok: false, problems: [nested] };
  const lines = new LineCounter();
  // Our own check of keys takes one pass; the library compares each key with all others.
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const wrong = doc.errors.map(({ message, pos }) => problem(lines, pos[0], sentence(message)));
  const problems = wrong.length > 0 ? wrong : [...aliasesIn(doc, lines), ...sameKeys(doc, lines)];
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, MAX_FAULTS_TOLD) };
  const warnings = doc.warnings.map(({ message, pos }) => ({
    ...problem(lines, pos[0], sentence(message)),
    level: "warning" as const,
  }));
  return { ok: true, source: sourceOf(text, doc, lines, warnings) };
}

function sourceOf(
  text: string,
  doc: Document.Parsed,
  lines: Lines,
  warnings: readonly Problem[],
): PlanSource {
  return {
    data: plainOf(doc.contents, undefined, false),
    warnings,
    placeOf: (path) => placeIn(doc, lines, path),
    withEdits(edits) {
      const copy = parseDocument(text, { uniqueKeys: false });
      for (const { path, value } of edits) {
        if (value === undefined) copy.deleteIn(path);
        else copy.setIn(path, isContainer(value) ? copy.createNode(value) : value);
      }
      return copy.toString({ lineWidth: 0, flowCollectionPadding: false });
    },
  };
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function plainOf(node: unknown, key: string | undefined, isInList: boolean): unknown {
  if (isScalar(node)) return isTextAt(key, isInList) ? textIn(node) : node.value;
  if (isSeq(node)) {
    return node.items.map((item) => {
      const plain = plainOf(item, key, true);
      return key === "commands" && isMap(item) ? commandOf(plain as object) : plain;
    });
  }
  if (!isMap(node)) return null;
  const plain = Object.create(null) as Record<string, unknown>;
  // What a command says is a text, as everything else in that list.
  const inCommands = key === "commands" && isInList;
  for (const pair of node.items) {
    const name = keyText(pair.key);
    plain[name] =
      inCommands && isScalar(pair.value) ? textIn(pair.value) : plainOf(pair.value, name, false);
  }
  return plain;
}

function textIn(node: Scalar): unknown {
  const { value, source } = node;
  if (value === null || typeof value === "string") return value;
  // What was parsed has its source; a value of another kind is no text.
  return source ?? value;
}

function keyText(key: unknown): string {
  if (!isScalar(key)) return "?";
  return String(typeof key.value === "string" ? key.value : (key.source ?? key.value));
}

function placeIn(doc: Document.Parsed, lines: Lines, path: Path): Place | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? doc.contents : doc.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return placeAt(lines, node.range[0]);
  }
  return undefined;
}

function placeAt(lines: Lines, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function problem(lines: Lines, offset: number, text: string): Problem {
  return { level: "error", ...placeAt(lines, offset), text };
}

/** What the library says, without the words of the document in it. */
function sentence(message: string): string {
  return quote(message.split("\n", 1)[0] ?? "", 200)
    .slice(1, -1)
    .replaceAll('\\"', '"');
}

function aliasesIn(doc: Document.Parsed, lines: Lines): Problem[] {
  const found: Problem[] = [];
  visit(doc, {
    Alias(_key, node) {
      const offset = node.range?.[0] ?? 0;
      found.push(problem(lines, offset, "aliases (*name) are not read: write the value out"));
      return found.length < MAX_FAULTS_TOLD ? undefined : visit.BREAK;
    },
  });
  return found;
}

function sameKeys(doc: Document.Parsed, lines: Lines): Problem[] {
  const found: Problem[] = [];
  visit(doc, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (isAlias(key)) continue;
        const name = keyText(key);
        if (seen.has(name)) {
          const offset = isNode(key) ? ((key as Node).range?.[0] ?? 0) : 0;
          found.push(problem(lines, offset, `the key ${quote(name)} is there twice`));
        }
        seen.add(name);
      }
      return found.length < MAX_FAULTS_TOLD ? undefined : visit.BREAK;
    },
    Pair: (_key, pair) => (isPair(pair) ? undefined : visit.SKIP),
  });
  return found;
}

/** Judged from the text alone: deep nesting can end the whole process inside a parser. */
function nestedTooDeeply(text: string): Problem | undefined {
  let line = 1;
  let depth = 0;
  for (const row of text.split("\n")) {
    const indent = /^[\s\-?:]*/u.exec(row)?.[0].length ?? 0;
    for (const character of row) {
      if (character === "[" || character === "{") depth += 1;
      else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
      if (depth > MAX_FLOW_DEPTH) break;
    }
    if (depth > MAX_FLOW_DEPTH || indent > MAX_INDENT) {
      const text = `nested too deeply: at most ${MAX_FLOW_DEPTH} open brackets, and ${MAX_INDENT} spaces or dashes before a text`;
      return { level: "error", line, column: 1, text };
    }
    line += 1;
  }
  return undefined;
}
