import { isMap, parseDocument } from "yaml";
import { splitSkill } from "./front-matter.ts";

/** A skill to be written. */
export function newSkillText(name: string, description: string): string {
  const title = name
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
  return `---
name: ${name}
description: ${JSON.stringify(description)}
metadata:
  version: "0.1.0"
---

# ${title}

## When

Say what tells an agent that this is the skill to use, and what it is not for.

## How

1. Say what to do first.
2. Say how to see that it has worked.

## Example

Show one case from beginning to end.

## Edge cases

- Say what goes wrong, and what to do then.
`;
}

/** The text of SKILL.md with another version; comments, order and line ends stay. Spec 7.1. */
export function withVersion(text: string, version: string): string {
  const parts = splitSkill(text);
  if (parts === undefined) throw new Error("a skill that was judged has front matter");
  const doc = parseDocument(parts.yaml);
  if (isMap(doc.get("metadata", true))) doc.setIn(["metadata", "version"], quoted(doc, version));
  else doc.set("metadata", doc.createNode({ version: quoted(doc, version) }));
  const yaml = doc.toString({ lineWidth: 0, flowCollectionPadding: false });
  const eol = /^---[ \t]*\r\n/u.test(text) ? "\r\n" : "\n";
  return `---${eol}${yaml.replaceAll(/\r?\n/gu, eol)}---${eol}${parts.body}`;
}

function quoted(doc: ReturnType<typeof parseDocument>, version: string) {
  const node = doc.createNode(version);
  (node as { type?: string }).type = "QUOTE_DOUBLE";
  return node;
}

/** The list of changes with a new first line. */
export function withChange(
  changelog: string | undefined,
  change: { readonly version: string; readonly date: string; readonly note: string },
): string {
  const line = `- ${change.version} (${change.date}): ${change.note.replaceAll(/\s+/gu, " ").trim()}\n`;
  const title = "# Changes\n\n";
  if (changelog === undefined || changelog.trim() === "") return title + line;
  const first = changelog.search(/^- /mu);
  if (first === -1) return `${changelog.replace(/\n*$/u, "\n\n")}${line}`;
  return changelog.slice(0, first) + line + changelog.slice(first);
}
