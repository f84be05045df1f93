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

export const BUMPS = ["major", "minor", "patch"] as const;
export type Bump = (typeof BUMPS)[number];

const NUMBER = "(0|[1-9][0-9]{0,8})";
const SEMANTIC = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-[0-9A-Za-z.-]{1,64})?(?:\\+[0-9A-Za-z.-]{1,64})?$`,
  "u",
);

export function isVersion(text: string): boolean {
  return SEMANTIC.test(text);
}

/** The next version; one before a release (`1.2.0-rc.1`) becomes that release by any bump that reaches it. */
export function bumped(version: string, bump: Bump): string {
  const parts = SEMANTIC.exec(version)?.slice(1, 4).map(Number) ?? [0, 0, 0];
  const [major = 0, minor = 0, patch = 0] = parts;
  const isBefore = /^[^+]*-/u.test(version);
  if (bump === "major") {
    return isBefore && minor === 0 && patch === 0 ? `${major}.0.0` : `${major + 1}.0.0`;
  }
  if (bump === "minor") {
    return isBefore && patch === 0 ? `${major}.${minor}.0` : `${major}.${minor + 1}.0`;
  }
  return `${major}.${minor}.${isBefore ? patch : patch + 1}`;
}
