import { TOOLS } from "../../api/tool-sessions.ts";
import type { DeaddropError } from "../../api/errors.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { shellWord } from "../../wire/quote.ts";
import type { FileEdit, Owner } from "./file-edit.ts";

/** Where the files are that a tool reads: of the person, of the project, of the person in the project. */
export const SCOPES = ["user", "project", "local"] as const;
export type Scope = (typeof SCOPES)[number];

/** Tools that can be joined: those with hooks of ours, and two that have a server of ours alone. */
export const JOINABLE = [...TOOLS, "cursor", "amp"] as const;
export type Joinable = (typeof JOINABLE)[number];

/**
 * How long a tool lets a hook of ours run: eight that start at once on two busy cores took up to five
 * seconds. A hook ends itself two seconds after its start, so this holds for the start alone.
 */
export const HOOK_SECONDS = 10;

/** For whom a tool is joined, and where. */
export interface Joining {
  readonly tool: Joinable;
  readonly scope: Scope;
  readonly handle: string;
  readonly wireDir: string;
  /** The folder of the project, and the person's home. */
  readonly project: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The program and its first arguments that run `deaddrop`. */
  readonly program: readonly string[];
  readonly skill: string;
  /** The text of the plugin with that adapter. */
  readonly plugin: (adapter: string) => string;
  /** The person has asked for rules that allow the tools of ours that only read. */
  readonly allowsReading: boolean;
  /** The socket of the agent's daemon, where the person lets the tool's sandbox connect to it. */
  readonly openedSocket?: string | undefined;
}

/** What joins a tool to a wire: our parts of its files, and what the person has to do there. */
export interface Integration {
  readonly edits: readonly FileEdit[];
  readonly left: readonly string[];
}

/** Files of a tool, and the machine that they are on. */
export interface Place {
  readonly disk: Disk;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What keeps our part of a tool from working, or (`isLimit`) how far it works by design. */
export interface ToolTrouble {
  readonly problem: string;
  readonly fix: string;
  readonly isLimit?: boolean;
}

/** All that we know of one coding tool. Spec 8.3. */
export interface CodingTool {
  integration(at: Joining): Integration;
  /** Why it cannot be joined there. */
  refusal?(at: Joining): DeaddropError | undefined;
  /** The names of its files with our hooks. */
  readonly settings?: RegExp;
  /** What is wrong with such a file that was written for it. Nothing is written. */
  troubles?(place: Place, path: string): readonly ToolTrouble[];
}

/** Hooks of Claude Code, as tools after its example name them. */
export const HOOK_EVENTS = [
  "SessionStart",
  "UserPromptSubmit",
  "PostToolUse",
  "Stop",
  "SessionEnd",
] as const;

/** Names in the environment that say where keys and state are. A tool may keep them from what it starts. */
export const PLACE_VARIABLES = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"] as const;

/**
 * The program and its arguments, as a tool starts it. Only the files of one person in one project name
 * the agent; what others get, or what counts in every project, leaves it to the folder and the
 * environment. Spec 8.3.
 */
export function commandOf(at: Joining, ...args: readonly string[]): readonly string[] {
  const { scope, handle, wireDir, env } = at;
  if (scope === "project") return ["deaddrop", ...args];
  const places = PLACE_VARIABLES.filter((name) => (env[name] ?? "") !== "").map(
    (name) => `${name}=${env[name]}`,
  );
  const named = scope === "local" ? ["--as", handle, "--wire", wireDir] : [];
  return [...(places.length > 0 ? ["env", ...places] : []), ...at.program, ...args, ...named];
}

/** The agent that the tool is joined for. */
export function ownerOf({ tool, handle, wireDir }: Joining): Owner {
  return { tool, identity: identityIn(["--as", handle, "--wire", wireDir]) };
}

/** Whether an entry speaks for an agent, and for another one. */
export function isOfAnother(entry: unknown, { identity }: Owner): boolean {
  const named = identityIn(entry);
  return named !== "" && named !== identity;
}

/**
 * A hook as one line for a shell. It is quiet and succeeds where our program, or its Node.js, is missing:
 * some tools take a failing hook for an objection.
 */
export function hookLine(at: Joining, ...more: readonly string[]): string {
  return `${shellLine(commandOf(at, "hook", at.tool, ...more))} 2>/dev/null || true`;
}

/** The same for a waiter, which wakes its session by exit code 2 and what it says. */
export function waiterLine(at: Joining): string {
  return `${shellLine(commandOf(at, "hook", at.tool, "--wait"))} || [ $? -ne 2 ] || exit 2`;
}

function shellLine(words: readonly string[]): string {
  return words.map((word) => shellWord(word)).join(" ");
}

/** Every version of ours has this in its words, whichever way `deaddrop` is run. */
export function isHookOf(tool: string, words: unknown): boolean {
  return new RegExp(`deaddrop[^|]*hook\\W+${tool}\\b`, "u").test(JSON.stringify(words) ?? "");
}

/** The same of an entry for our MCP server. */
export function isOurServer(words: unknown): boolean {
  return /deaddrop[^|]*\bmcp\b/u.test(JSON.stringify(words) ?? "");
}

/** Whom an entry speaks for: `--as` and `--wire` in its words; empty when it names nobody. */
function identityIn(value: unknown): string {
  const words = JSON.stringify(value) ?? "";
  return (/--as\W+[\w.-]+[^}]*?--wire\W+[^"|]+/u.exec(words)?.[0] ?? "")
    .replaceAll(/["',\s\\]+/gu, " ")
    .replace(/ 2>\/dev\/null.*$/u, "")
    .trim();
}
