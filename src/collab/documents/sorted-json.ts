import { parseTree, type Node } from "jsonc-parser";

/**
 * A JSON text with some fields of its object replaced: sorted keys, two spaces, a final newline. All
 * others stay, unknown ones too, and numbers as they are spelled. `text` is valid JSON. Spec 6.
 */
export function withFields(text: string, fields: Readonly<Record<string, unknown>>): string {
  const tree = parseTree(text);
  const kept = tree === undefined ? new Map<string, string>() : membersOf(tree, text, 1);
  for (const [name, value] of Object.entries(fields)) kept.set(name, sortedJson(value, 1));
  return `${object(kept, 0)}\n`;
}

/** The same spelling of a value of ours. */
export function sortedJson(value: unknown, depth = 0): string {
  const text = JSON.stringify(value);
  const tree = parseTree(text);
  return tree === undefined ? text : spelled(tree, text, depth);
}

function spelled(node: Node, text: string, depth: number): string {
  if (node.type === "object") return object(membersOf(node, text, depth + 1), depth);
  if (node.type === "array") {
    const items = (node.children ?? []).map((each) => spelled(each, text, depth + 1));
    return block("[", items, "]", depth);
  }
  if (node.type === "string") return JSON.stringify(node.value);
  return text.slice(node.offset, node.offset + node.length);
}

/** Of two members of one name the last one counts, as for every JSON parser. */
function membersOf(node: Node, text: string, depth: number): Map<string, string> {
  const members = new Map<string, string>();
  for (const { children = [] } of node.children ?? []) {
    const [name, value] = children;
    if (value !== undefined) members.set(String(name?.value), spelled(value, text, depth));
  }
  return members;
}

function object(members: ReadonlyMap<string, string>, depth: number): string {
  const names = [...members.keys()].toSorted();
  const items = names.map((name) => `${JSON.stringify(name)}: ${members.get(name)}`);
  return block("{", items, "}", depth);
}

function block(open: string, items: readonly string[], close: string, depth: number): string {
  if (items.length === 0) return `${open}${close}`;
  const inner = "  ".repeat(depth + 1);
  return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${"  ".repeat(depth)}${close}`;
}
