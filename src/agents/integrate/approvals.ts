import { basename, dirname, join } from "node:path";
import { parse as parseJson } from "jsonc-parser";
import { parse } from "smol-toml";
import type { Tool } from "../../api/tool-sessions.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { textOf } from "../../setup/project-files.ts";
import { isHookOf } from "./integration.ts";
import type { Written } from "./record.ts";

/** What a tool waits for before it runs our part: only its person can give that. */
export interface Approval {
  readonly tool: Tool;
  /** The folder of the project, or the person's home. */
  readonly folder: string;
  readonly missing: string;
}

export interface Place {
  readonly disk: Disk;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Of the tools that are joined, what their person has not approved yet. Nothing is written. */
export function missingApprovals(place: Place, written: Written): Approval[] {
  return Object.keys(written.files).flatMap((path): Approval[] => {
    const folder = dirname(dirname(path));
    const ending = `${basename(dirname(path))}/${basename(path)}`;
    if (/^\.claude\/settings(?:\.local)?\.json$/u.test(ending)) {
      const missing = "start claude there, and accept its trust question and the server deaddrop";
      return isApprovedInClaude(place, folder) ? [] : [{ tool: "claude", folder, missing }];
    }
    if (ending === ".gemini/settings.json") {
      return isTrustedByGemini(place, folder)
        ? []
        : [{ tool: "gemini", folder, missing: "start gemini there, and trust the folder" }];
    }
    if (basename(path) === "hooks.json") {
      return isReviewedInCodex(place, path)
        ? []
        : [{ tool: "codex", folder, missing: "start codex there, and review its hooks" }];
    }
    return [];
  });
}

function isApprovedInClaude({ disk, home }: Place, folder: string): boolean {
  if (folder === home) return true;
  const project = field(json(disk, join(home, ".claude.json"))["projects"], folder);
  // What was answered to its question about a server it keeps in the one or the other file.
  const kept = [project, json(disk, join(folder, ".claude", "settings.local.json"))];
  const servers = kept.flatMap((each) => field(each, "enabledMcpjsonServers"));
  const allowsAll = kept.some((each) => field(each, "enableAllProjectMcpServers") === true);
  const hasServer = allowsAll || servers.includes("deaddrop");
  return hasServer && field(project, "hasTrustDialogAccepted") === true;
}

/** A folder is trusted by itself or with one above it. */
function isTrustedByGemini({ disk, home }: Place, folder: string): boolean {
  if (folder === home) return true;
  const trusted = json(disk, join(home, ".gemini", "trustedFolders.json"));
  for (let at = folder; ; at = dirname(at)) {
    const said = trusted[at];
    if (said !== undefined) return said === "TRUST_FOLDER" || said === "TRUST_PARENT";
    if (at === dirname(at)) return false;
  }
}

/** It keeps what was reviewed by file, event, and the places of the group and of the hook in it. */
function isReviewedInCodex({ disk, home, env }: Place, path: string): boolean {
  const config = join(env["CODEX_HOME"] ?? join(home, ".codex"), "config.toml");
  const states = field(field(toml(disk, config), "hooks"), "state");
  return ourHooks(json(disk, path)).every((at) => field(states, `${path}:${at}`) !== undefined);
}

function ourHooks({ hooks }: Record<string, unknown>): string[] {
  return Object.entries(hooks ?? {}).flatMap(([event, groups]) => {
    const name = event.replaceAll(/(?<=[a-z])[A-Z]/gu, "_$&").toLowerCase();
    const list: unknown[] = Array.isArray(groups) ? groups : [];
    return list.flatMap((group, at) => (isHookOf("codex", group) ? [`${name}:${at}:0`] : []));
  });
}

export function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

export function json(disk: Disk, path: string): Record<string, unknown> {
  return read(disk, path, (text) => parseJson(text, [], { allowTrailingComma: true }) as unknown);
}

export function toml(disk: Disk, path: string): Record<string, unknown> {
  return read(disk, path, parse);
}

/** A tool's own state: what cannot be read of it says nothing. */
function read(
  disk: Disk,
  path: string,
  parsed: (text: string) => unknown,
): Record<string, unknown> {
  try {
    const value = parsed(textOf(disk, path) ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
