import { TOOLS } from "../../api/tool-sessions.ts";
import { shellWord } from "../../wire/quote.ts";
import type { FileEdit } from "./file-edit.ts";

/** Where the files are that a tool reads: of the person, of the project, of the person in the project. */
export const SCOPES = ["user", "project", "local"] as const;
export type Scope = (typeof SCOPES)[number];

/** Tools that can be joined: those with hooks of ours, and two that have a server of ours alone. */
export const JOINABLE = [...TOOLS, "cursor", "copilot"] as const;
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
  /** The text of SKILL.md, and of the plugin of OpenCode. */
  readonly skill: string;
  readonly plugin: string;
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

/** The arguments that bind a hook or a server to its agent, whatever the environment says. */
function identityArgs({ handle, wireDir }: Joining): readonly string[] {
  return ["--as", handle, "--wire", wireDir];
}

/** The program and its arguments. */
export function commandOf(at: Joining, ...args: readonly string[]): readonly string[] {
  return [...at.program, ...args, ...identityArgs(at)];
}

/** As one line for a shell, for tools that take nothing else. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => shellWord(word)).join(" ");
}

/** Every version of ours has this in its words, whichever way `deaddrop` is run. */
export function isHookOf(tool: Joinable, words: unknown): boolean {
  return new RegExp(`deaddrop[^|]*hook\\W+${tool}\\b`, "u").test(JSON.stringify(words) ?? "");
}
