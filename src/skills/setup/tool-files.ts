import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { join } from "node:path";
import type { FileEdit } from "../../agents/integrate/file-edit.ts";
import { jsonEdit, type JsonEntry } from "../../agents/integrate/json-entries.ts";
import { managedBlockEdit } from "../../agents/integrate/text-block.ts";
import { wholeFile } from "../../agents/integrate/whole-file.ts";
import { readsAgentsFile } from "../../setup/agents-file.ts";
import type { ManagedBlock } from "../../setup/managed-block.ts";
import type { Disk } from "../../storage/disk/disk.ts";

export interface ToolFileWish {
  /** Gemini CLI of before skills were on by themselves. */
  readonly oldGemini: boolean;
  /** A hook of Cursor that checks the mirrors at the end of a turn. */
  readonly cursorHooks: boolean;
}

const MARKS = {
  begins: "<!-- deaddrop:skills:begin",
  begin: "<!-- deaddrop:skills:begin, kept by `deaddrop skills init` -->",
  end: "<!-- deaddrop:skills:end -->",
};

const WORK = `## How work is done here

- A task has five phases: intake, plan, execute, verify, report. \`agent/policies/WORKFLOW.md\` says what each
  needs; \`deaddrop plan status\` says which is done.
- There is a skill for each, and others: use the one that fits. They are in \`agent/skills\`; edit them there, then
  \`deaddrop skills sync\`. If your tool shows you no skills, \`deaddrop skills list\` and
  \`deaddrop skills prompt <name>\` do.
- Ask a person before anything that cannot be taken back.`;

const INSTRUCTIONS: ManagedBlock = { ...MARKS, text: WORK };
/** Claude Code reads no AGENTS.md by itself, and follows this. */
const IMPORT: ManagedBlock = { ...MARKS, text: "@AGENTS.md" };

const CLAUDE_SCHEMA = "https://json.schemastore.org/claude-code-settings.json";
const GEMINI_SCHEMA =
  "https://raw.githubusercontent.com/google-gemini/gemini-cli/main/schemas/settings.schema.json";
const OLD_GEMINI: JsonEntry = { path: ["experimental", "skills"], value: true };

const CURSOR_RULE = `---
description: How work is done here, and where the skills are
alwaysApply: true
---

<!-- kept by \`deaddrop skills init\` -->

${WORK}
`;

/** It names no agent. */
const SKILLS = { tool: "skills", identity: "" };

/**
 * Our parts of the files that each tool reads by itself. What a user wrote in them stays; no permission is
 * given by any of them. Spec 7.1.
 */
export function toolFiles(disk: Disk, project: string, wish: ToolFileWish): FileEdit[] {
  const at = (...names: string[]): string => join(project, ...names);
  return [
    managedBlockEdit(at("AGENTS.md"), INSTRUCTIONS),
    // A file that is the other one, or imports it already, needs nothing.
    ...(readsAgentsFile(disk, project) ? [] : [managedBlockEdit(at("CLAUDE.md"), IMPORT)]),
    managedBlockEdit(at("GEMINI.md"), INSTRUCTIONS),
    settings(at(".claude", "settings.json"), CLAUDE_SCHEMA, []),
    settings(at(".gemini", "settings.json"), GEMINI_SCHEMA, wish.oldGemini ? [OLD_GEMINI] : []),
    wholeFile(at(".cursor", "rules", "deaddrop-skills.mdc"), SKILLS, {
      text: CURSOR_RULE,
      mark: "kept by `deaddrop skills init`",
    }),
    ...(wish.cursorHooks ? [cursorHooks(at(".cursor", "hooks.json"))] : []),
  ];
}

/** Settings of a tool: where there is no file, one that gives nothing; else what is asked for and missing. */
function settings(path: string, schema: string, entries: readonly JsonEntry[]): FileEdit {
  const edit = jsonEdit(path, SKILLS, { entries });
  return {
    ...edit,
    put: (text) => {
      const now = text ?? `${JSON.stringify({ $schema: schema }, null, 2)}\n`;
      const isMissing = entries.some((entry) => valueAt(now, entry.path) === undefined);
      return isMissing ? edit.put(now) : now;
    },
  };
}

function cursorHooks(path: string): FileEdit {
  const command = "deaddrop skills sync --check";
  const hook: JsonEntry = {
    path: ["hooks", "stop"],
    value: { command },
    isOurs: (item) => JSON.stringify(item).includes("deaddrop skills sync"),
  };
  const edit = jsonEdit(path, SKILLS, { entries: [hook] });
  return { ...edit, put: (text) => edit.put(text ?? '{\n  "version": 1\n}\n') };
}

function valueAt(text: string, path: readonly string[]): unknown {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}
