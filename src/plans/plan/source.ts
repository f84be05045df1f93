import {
  applyEdits,
  findNodeAtLocation,
  modify,
  parseTree,
  type JSONPath,
  type Node,
} from "jsonc-parser";
import { isMap, isNode, isScalar, isSeq, parseDocument, type Document, type Scalar } from "yaml";
import { parseObject } from "../../wire/json/json.ts";
import type { Path, Place, Problem } from "./problem.ts";
import { keyText, placeAt, readYaml, yamlWarnings, type Lines } from "./yaml-document.ts";

/** A document that was read, and can be changed in place: its text keeps comments and order. */
export interface PlanSource {
  /** Plain data; scalars where a text belongs are texts, spelled as in the document. */
  readonly data: unknown;
  readonly warnings: readonly Problem[];
  /** Where that value, or its key, is; of one that is missing, the value that should hold it. */
  placeOf(path: Path, part?: "value" | "key"): Place | undefined;
  /** The text with these values set, in this order; nothing of it is written. */
  withEdits(edits: readonly Edit[]): string;
}

export interface Edit {
  readonly path: Path;
  readonly value: unknown;
}

export type SourceRead =
  | { readonly ok: true; readonly source: PlanSource }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A longer plan is not read. */
export const MAX_PLAN_BYTES = 1_048_576;

/**
 * Fields in which people write texts: a bare `1`, `1.0` or `true` there is the text as it is spelled.
 * Spec 7.3.
 */
const TEXTS: ReadonlySet<string> = new Set([
  ...["plan_id", "task", "id", "description", "owner", "criteria", "risk_notes", "skill"],
]);
/** The same, for the entries of a list. */
const LISTS_OF_TEXTS: ReadonlySet<string> = new Set([
  ...["deps", "criteria", "commands", "files", "coordinators"],
]);
/** What a command may begin with. YAML reads `- Run: npm test` as a key with a value. */
const COMMAND_WORDS: ReadonlySet<string> = new Set(["Run", "Read"]);

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads a document. `name` ends in `.json` for JSON; all else is YAML. Hostile bytes are a value. */
export function readSource(bytes: Uint8Array, name: string): SourceRead {
  if (bytes.length > MAX_PLAN_BYTES) {
    return refusal(`${bytes.length} bytes; a plan has at most ${MAX_PLAN_BYTES}`);
  }
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return refusal("not valid UTF-8");
    throw error;
  }
  return name.toLowerCase().endsWith(".json") ? readJsonSource(text) : readYamlSource(text);
}

function refusal(text: string, place?: Place): SourceRead {
  const { line, column } = place ?? {};
  return { ok: false, problems: [{ level: "error", line, column, text }] };
}

function isTextAt(key: string | undefined, isInList: boolean): boolean {
  return key !== undefined && (isInList ? LISTS_OF_TEXTS : TEXTS).has(key);
}

/** Reads JSON, as strictly as lines of the wire are read. */
function readJsonSource(text: string): SourceRead {
  const parsed = parseObject(Buffer.from(text, "utf8"));
  if (!parsed.ok) {
    // The reader of the wire says at which character it stopped.
    const at = / \(at character (\d+)\)$/u.exec(parsed.detail)?.[1];
    return refusal(parsed.detail, at === undefined ? undefined : placeIn(text, Number(at) - 1));
  }
  const tree = parseTree(text);
  return tree === undefined ? refusal("not JSON") : { ok: true, source: jsonSource(text, tree) };
}

function jsonSource(text: string, tree: Node): PlanSource {
  return {
    data: jsonData(text, tree, undefined, false),
    warnings: [],
    placeOf(path, part) {
      for (let length = path.length; length >= 0; length -= 1) {
        const value = findNodeAtLocation(tree, path.slice(0, length));
        const pair = value?.parent?.type === "property" ? value.parent : undefined;
        const node = part === "key" && length === path.length ? (pair ?? value) : value;
        if (node !== undefined) return placeIn(text, node.offset);
      }
      return undefined;
    },
    withEdits(edits) {
      const formattingOptions = { insertSpaces: true, tabSize: 2 };
      return edits.reduce((edited, { path, value }) => {
        const changes = modify(edited, path as Path & JSONPath, value, { formattingOptions });
        return applyEdits(edited, changes);
      }, text);
    },
  };
}

function jsonData(text: string, node: Node, key: string | undefined, isInList: boolean): unknown {
  const { type, children = [], offset, length } = node;
  if (type === "array") return children.map((child) => jsonData(text, child, key, true));
  if (type === "object") {
    const data = Object.create(null) as Record<string, unknown>;
    for (const { children: pair = [] } of children) {
      const [name, member] = pair;
      const own = String(name?.value);
      if (member !== undefined) data[own] = jsonData(text, member, own, false);
    }
    return data;
  }
  const isBare = type === "number" || type === "boolean";
  return isBare && isTextAt(key, isInList)
    ? text.slice(offset, offset + length)
    : (node.value as unknown);
}

function placeIn(text: string, offset: number): Place {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Reads YAML 1.2, within the limits of every YAML document here. */
function readYamlSource(text: string): SourceRead {
  const read = readYaml(text);
  if (!read.ok) return read;
  const { doc, lines } = read;
  const source: PlanSource = {
    data: yamlData(doc.contents, undefined, false),
    warnings: yamlWarnings(doc, lines),
    placeOf(path, part) {
      const key = part === "key" ? keyIn(doc, path) : undefined;
      if (isNode(key) && key.range) return placeAt(lines, key.range[0]);
      return yamlPlace(doc, lines, path);
    },
    withEdits(edits) {
      const copy = parseDocument(text, { uniqueKeys: false });
      for (const { path, value } of edits) {
        const isContainer = typeof value === "object" && value !== null;
        copy.setIn(path, isContainer ? copy.createNode(value) : value);
      }
      const edited = copy.toString({ lineWidth: 0, flowCollectionPadding: false });
      // The library ends lines as Unix does.
      const isWindows = text.includes("\r\n") && !/(?<!\r)\n/u.test(text);
      return isWindows ? edited.replaceAll("\n", "\r\n") : edited;
    },
  };
  return { ok: true, source };
}

function yamlData(node: unknown, key: string | undefined, isInList: boolean): unknown {
  if (isScalar(node)) return isTextAt(key, isInList) ? spelledText(node) : node.value;
  if (isSeq(node)) {
    return node.items.map((item) => {
      const data = yamlData(item, key, true);
      return key === "commands" && isMap(item) ? commandOf(data as object) : data;
    });
  }
  if (!isMap(node)) return null;
  const data = Object.create(null) as Record<string, unknown>;
  // What a command says is a text, as everything else in that list.
  const inCommands = key === "commands" && isInList;
  for (const pair of node.items) {
    const name = keyText(pair.key);
    data[name] =
      inCommands && isScalar(pair.value)
        ? spelledText(pair.value)
        : yamlData(pair.value, name, false);
  }
  return data;
}

function spelledText({ value, source }: Scalar): unknown {
  return value === null || typeof value === "string" ? value : (source ?? value);
}

/** `{ Run: "npm test" }` in `commands`, as the text that its author meant; else as it is. */
function commandOf(value: object): unknown {
  const [entry, another] = Object.entries(value);
  if (entry === undefined || another !== undefined || !COMMAND_WORDS.has(entry[0])) return value;
  return typeof entry[1] === "string" ? `${entry[0]}: ${entry[1]}` : value;
}

function yamlPlace(doc: Document.Parsed, lines: Lines, path: Path): Place | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? doc.contents : doc.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return placeAt(lines, node.range[0]);
  }
  return undefined;
}

function keyIn(doc: Document.Parsed, path: Path): unknown {
  const map = path.length === 1 ? doc.contents : doc.getIn(path.slice(0, -1), true);
  return isMap(map) ? map.items.find(({ key }) => keyText(key) === path.at(-1))?.key : undefined;
}
