import { createHash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import type { Tool } from "../../api/tool-sessions.ts";
import { textOf } from "../../setup/project-files.ts";
import { field, json, toml, type Place } from "./approvals.ts";
import { HOOK_SECONDS, isHookOf } from "./integration.ts";
import type { Written } from "./record.ts";

/** What keeps the hooks of a tool that is joined from running. */
export interface HookTrouble {
  readonly problem: string;
  readonly fix: string;
}

/** One of our hooks as a file of its tool has it. */
interface FoundHook {
  readonly tool: Tool;
  readonly path: string;
  readonly event: string;
  /** Its group among those of the event. */
  readonly group: number;
  readonly hook: unknown;
}

/** Codex takes no more for this one, whatever its file says. */
const CODEX_SESSION_END_SECONDS = 3;

/** Nothing is written. `cwd`: the folder that a session would begin in. */
export function hookTroubles(place: Place, written: Written, cwd: string): HookTrouble[] {
  const paths = Object.keys(written.files);
  const hooks = paths.flatMap((path) => foundHooks(place, path));
  return [
    ...staleReviews(place, hooks),
    ...switchedOff(place, hooks),
    ...shortTimeouts(hooks),
    ...unjoinedWorktree(place, written, cwd),
  ];
}

function toolOf(path: string): Tool | undefined {
  if (/\/\.claude\/settings(?:\.local)?\.json$/u.test(path)) return "claude";
  if (path.endsWith("/.gemini/settings.json")) return "gemini";
  return basename(path) === "hooks.json" ? "codex" : undefined;
}

function foundHooks({ disk }: Place, path: string): FoundHook[] {
  const tool = toolOf(path);
  if (tool === undefined) return [];
  return Object.entries(json(disk, path)["hooks"] ?? {}).flatMap(([event, groups]) =>
    listOf(groups).flatMap((each, group) =>
      listOf(field(each, "hooks"))
        .filter((hook) => isHookOf(tool, hook))
        .map((hook) => ({ tool, path, event, group, hook })),
    ),
  );
}

/** Codex passes over a hook that has changed since it was reviewed, and says nothing. */
function staleReviews({ disk, home, env }: Place, hooks: readonly FoundHook[]): HookTrouble[] {
  const config = toml(disk, join(env["CODEX_HOME"] ?? join(home, ".codex"), "config.toml"));
  const states = field(config["hooks"], "state");
  const stale = hooks.filter((each) => {
    if (each.tool !== "codex") return false;
    const event = each.event.replaceAll(/(?<=[a-z])[A-Z]/gu, "_$&").toLowerCase();
    const state = field(states, `${each.path}:${event}:${each.group}:0`);
    const trusted = field(state, "trusted_hash");
    return trusted !== undefined && trusted !== codexHash(event, each.hook);
  });
  return [...new Set(stale.map(({ path }) => path))].map((path) => ({
    problem: `codex passes over hooks in ${path}: they have changed since they were reviewed`,
    fix: "start codex there, and review its hooks again (/hooks)",
  }));
}

/** As Codex 0.169 computes it: of what it runs, with its defaults filled in and keys in order. */
function codexHash(event: string, hook: unknown): string {
  const given = Number(field(hook, "timeout") ?? 600);
  const timeout = event === "session_end" ? Math.min(given, CODEX_SESSION_END_SECONDS) : given;
  const command = field(hook, "command");
  const identity = {
    event_name: event,
    hooks: [{ async: false, command, timeout, type: "command" }],
  };
  return `sha256:${createHash("sha256").update(JSON.stringify(identity)).digest("hex")}`;
}

function switchedOff({ disk, home }: Place, hooks: readonly FoundHook[]): HookTrouble[] {
  const paths = new Map(hooks.map(({ tool, path }) => [path, tool]));
  return [...paths].flatMap(([path, tool]) => {
    if (tool === "codex") return [];
    const files = [...new Set([path, join(home, `.${tool}`, "settings.json")])];
    const setting = tool === "gemini" ? "hooksConfig.enabled" : "disableAllHooks";
    const off = files.find((each) => {
      const settings = json(disk, each);
      return tool === "gemini"
        ? field(settings["hooksConfig"], "enabled") === false
        : settings["disableAllHooks"] === true;
    });
    if (off === undefined) return [];
    const problem = `${tool} runs no hooks: ${off} switches them off with ${setting}`;
    return [{ problem, fix: `take ${setting} out of ${off}` }];
  });
}

/** A tool ends a hook that takes longer; several sessions start theirs at the same time. */
function shortTimeouts(hooks: readonly FoundHook[]): HookTrouble[] {
  const short = hooks.filter(({ tool, event, hook }) => {
    const timeout = field(hook, "timeout");
    if (typeof timeout !== "number" || (tool === "codex" && event === "SessionEnd")) return false;
    return (tool === "gemini" ? timeout / 1000 : timeout) < HOOK_SECONDS;
  });
  const paths = new Map(short.map(({ path, tool }) => [path, tool]));
  return [...paths].map(([path, tool]) => ({
    problem: `hooks in ${path} may take less than ${HOOK_SECONDS} seconds: where several start at once, ${tool} cuts them off`,
    fix: `write them again: deaddrop integrate ${tool}`,
  }));
}

/** A worktree has no copy of files that git ignores, and Codex takes those of the main checkout. */
function unjoinedWorktree(place: Place, written: Written, cwd: string): HookTrouble[] {
  const found = worktreeAt(place, cwd);
  if (found === undefined) return [];
  const { root, main } = found;
  const files = Object.entries(written.files).map(([path, { users }]) => ({
    path,
    tools: users.map((user) => user.split(" ")[0] ?? ""),
    isUser: users.some((user) => user.endsWith(" user")),
  }));
  const isIn = (folder: string) => (path: string) => path.startsWith(`${folder}/`);
  const toolsOf = (keeps: (path: string) => boolean) =>
    new Set(files.filter(({ path }) => keeps(path)).flatMap(({ tools }) => tools));
  const here = toolsOf(isIn(root));
  const always = new Set(files.filter(({ isUser }) => isUser).flatMap(({ tools }) => tools));
  const inMain = toolsOf((path) => isIn(main)(path) && !isIn(root)(path));
  return [...inMain]
    .filter((tool) => !here.has(tool) && !always.has(tool))
    .map((tool) => ({
      problem: `${root} is a worktree of ${main}: ${tool} is joined there and not here, so its sessions here get no mail`,
      fix:
        tool === "codex"
          ? "codex reads the hooks of the main checkout alone: work in that one, or in a clone"
          : `join it here: cd ${root} && deaddrop integrate ${tool}`,
    }));
}

/** The worktree that a folder is in, and the main checkout that it belongs to. */
function worktreeAt({ disk }: Place, cwd: string): { root: string; main: string } | undefined {
  for (let root = cwd; ; root = dirname(root)) {
    const link = join(root, ".git");
    const kind = disk.stat(link)?.kind;
    if (kind === "file") {
      const folder = /^gitdir: (.+)$/mu.exec(textOf(disk, link) ?? "")?.[1] ?? "";
      const main = /^(.+)\/\.git\/worktrees\/[^/]+$/u.exec(resolve(root, folder))?.[1];
      return main === undefined ? undefined : { root, main };
    }
    if (kind !== undefined || root === dirname(root)) return undefined;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
