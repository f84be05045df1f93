import {
  applyEdits,
  findNodeAtLocation,
  modify,
  parseTree,
  type JSONPath,
  type Node,
} from "jsonc-parser";
import { parseObject } from "../../wire/json/json.ts";
import type { Path, Place, Problem } from "./problem.ts";
import type { PlanSource, SourceRead } from "./plan-source.ts";
import { isTextAt } from "./text-fields.ts";

/** Reads JSON, as strictly as lines of the wire are read. */
export function readJsonSource(text: string): SourceRead {
  const parsed = parseObject(Buffer.from(text, "utf8"));
  const tree = parsed.ok ? parseTree(text) : undefined;
  if (!parsed.ok || tree === undefined) {
    const detail = parsed.ok ? "not JSON" : parsed.detail;
    return { ok: false, problems: [{ level: "error", ...firstFault(text, detail), text: detail }] };
  }
  return { ok: true, source: sourceOf(text, tree) };
}

function sourceOf(text: string, tree: Node): PlanSource {
  return {
    data: plainOf(text, tree, undefined, false),
    warnings: [],
    placeOf(path, part) {
      for (let length = path.length; length >= 0; length -= 1) {
        const value = findNodeAtLocation(tree, path.slice(0, length));
        const pair = value?.parent?.type === "property" ? value.parent : undefined;
        const node = part === "key" && length === path.length ? (pair ?? value) : value;
        if (node !== undefined) return placeAt(text, node.offset);
      }
      return undefined;
    },
    withEdits(edits) {
      let edited = text;
      for (const { path, value } of edits) {
        const formattingOptions = { insertSpaces: true, tabSize: 2 };
        const changes = modify(edited, path as Path & JSONPath, value, { formattingOptions });
        edited = applyEdits(edited, changes);
      }
      return edited;
    },
  };
}

function plainOf(text: string, node: Node, key: string | undefined, isInList: boolean): unknown {
  const { type, children = [], offset, length } = node;
  if (type === "array") return children.map((child) => plainOf(text, child, key, true));
  if (type === "object") {
    const plain = Object.create(null) as Record<string, unknown>;
    for (const { children: pair = [] } of children) {
      const [name, member] = pair;
      const own = String(name?.value);
      if (member !== undefined) plain[own] = plainOf(text, member, own, false);
    }
    return plain;
  }
  const isBare = type === "number" || type === "boolean";
  return isBare && isTextAt(key, isInList)
    ? text.slice(offset, offset + length)
    : (node.value as unknown);
}

function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The reader of the wire says at which character it stopped. */
function firstFault(text: string, detail: string): Pick<Problem, "line" | "column"> {
  const at = / \(at character (\d+)\)$/u.exec(detail)?.[1];
  return at === undefined ? { line: undefined, column: undefined } : placeAt(text, Number(at) - 1);
}
