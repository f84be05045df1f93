import { isMap, isNode, isScalar, isSeq, parseDocument, type Document, type Scalar } from "yaml";
import type { Path, Place, Problem } from "./problem.ts";
import type { PlanSource, SourceRead } from "./plan-source.ts";
import { commandOf, isTextAt } from "./text-fields.ts";
import { keyText, placeAt, readYaml, yamlWarnings, type Lines } from "./yaml-document.ts";

/** Reads YAML 1.2, within the limits of every YAML document here. */
export function readYamlSource(text: string): SourceRead {
  const read = readYaml(text);
  if (!read.ok) return read;
  const { doc, lines } = read;
  return { ok: true, source: sourceOf(text, doc, lines, yamlWarnings(doc, lines)) };
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
    placeOf: (path, part) =>
      (part === "key" ? keyPlaceIn(doc, lines, path) : undefined) ?? placeIn(doc, lines, path),
    withEdits(edits) {
      const copy = parseDocument(text, { uniqueKeys: false });
      for (const { path, value } of edits) {
        if (value === undefined) copy.deleteIn(path);
        else copy.setIn(path, isContainer(value) ? copy.createNode(value) : value);
      }
      const edited = copy.toString({ lineWidth: 0, flowCollectionPadding: false });
      return hasWindowsLineEnds(text) ? edited.replaceAll("\n", "\r\n") : edited;
    },
  };
}

/** All of them: the library writes the other kind. */
function hasWindowsLineEnds(text: string): boolean {
  return text.includes("\r\n") && !/(?<!\r)\n/u.test(text);
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

function placeIn(doc: Document.Parsed, lines: Lines, path: Path): Place | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? doc.contents : doc.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return placeAt(lines, node.range[0]);
  }
  return undefined;
}

function keyPlaceIn(doc: Document.Parsed, lines: Lines, path: Path): Place | undefined {
  const map = path.length === 1 ? doc.contents : doc.getIn(path.slice(0, -1), true);
  const pair = isMap(map) ? map.items.find((each) => keyText(each.key) === path.at(-1)) : undefined;
  const key = pair?.key;
  return isNode(key) && key.range ? placeAt(lines, key.range[0]) : undefined;
}
