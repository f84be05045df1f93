import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { HOOK_LIMIT_MS } from "../../../src/agents/hooks/run-hook.ts";
import type { Tool } from "../../../src/api/tool-sessions.ts";
import { jsonLines, type Line, type LiveWire } from "./live-wire.ts";
import { BIN, start, until, type Ended, type Started } from "./real-processes.ts";

// `deaddrop hook` as a tool runs it: the event on its standard input. The process that runs the tests
// takes the tool's place, so its sessions end with it.

/** What a tool calls the moments of its work. */
export const EVENTS: Readonly<Record<Tool, HookNames>> = {
  claude: names("UserPromptSubmit", "PostToolUse", "Stop"),
  codex: names("UserPromptSubmit", "PostToolUse", "Stop"),
  gemini: names("BeforeAgent", "AfterTool", "AfterAgent"),
  opencode: names("UserPromptSubmit", "PostToolUse", "Stop"),
  copilot: names("UserPromptSubmit", "PostToolUse", "Stop"),
  qwen: names("UserPromptSubmit", "PostToolUse", "Stop"),
  kilo: names("UserPromptSubmit", "PostToolUse", "Stop"),
  pi: names("UserPromptSubmit", "PostToolUse", "Stop"),
  cline: names("UserPromptSubmit", "PostToolUse", "Stop"),
};

interface HookNames {
  readonly start: string;
  readonly prompt: string;
  readonly call: string;
  readonly stop: string;
  readonly end: string;
}

function names(prompt: string, call: string, stop: string): HookNames {
  return { start: "SessionStart", prompt, call, stop, end: "SessionEnd" };
}

/** One event as a tool would write it. */
export interface Asked {
  readonly tool?: Tool;
  /** One of the moments in `EVENTS`. */
  readonly moment?: keyof HookNames;
  readonly session?: string;
  /** Further fields of the event. */
  readonly fields?: object;
  readonly env?: NodeJS.ProcessEnv;
}

export function hookArgs(wire: LiveWire, handle: string, tool: string): string[] {
  return [BIN, "hook", tool, "--as", handle, "--wire", wire.dir];
}

export function eventText(asked: Asked): string {
  const { tool = "claude", moment = "call", session = "s-1", fields } = asked;
  return JSON.stringify({
    session_id: session,
    transcript_path: "/nowhere/transcript.jsonl",
    cwd: "/nowhere",
    hook_event_name: EVENTS[tool][moment],
    stop_hook_active: false,
    ...fields,
  });
}

/** A hook of forge's that has been started. */
export function startHook(wire: LiveWire, asked: Asked = {}): Started {
  const args = hookArgs(wire, "forge", asked.tool ?? "claude");
  const env = { ...wire.env, ...asked.env };
  return start(process.execPath, args, { env, input: eventText(asked) });
}

/** One that runs into its limit again and again has, as it seems, nothing to say. */
const MAX_CUT_OFF = 5;

/**
 * The same, to its end: what it tells the model, or undefined. It never fails. On a busy machine its
 * own limit may end it before it has said anything; then it is started once more.
 */
export async function hook(wire: LiveWire, asked: Asked = {}): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    const begunMs = performance.now();
    const told = said(await startHook(wire, asked).ended);
    const isCutOff = told === undefined && performance.now() - begunMs >= HOOK_LIMIT_MS;
    if (!isCutOff || tries === MAX_CUT_OFF) return told;
    askAgain(wire);
  }
}

/** Has the next hook ask at once, as a minute after one has run into its limit. */
export function askAgain(wire: LiveWire): void {
  rmSync(join(wire.paths("forge").stateDir, "hook-unanswered"), { force: true });
}

/** What a hook's output tells the model; undefined when it tells nothing. */
export function said(ended: Ended): string | undefined {
  expect([ended.code, ended.stderr]).toEqual([0, ""]);
  if (ended.stdout === "") return undefined;
  const printed = JSON.parse(ended.stdout) as {
    hookSpecificOutput?: { additionalContext: string };
    additionalContext?: string;
    reason?: string;
  };
  return (printed.hookSpecificOutput ?? printed).additionalContext ?? printed.reason;
}

/** A waiter of an interactive session of Claude Code. */
export function startWaiter(wire: LiveWire, asked: Asked = {}): Started {
  const args = [...hookArgs(wire, "forge", asked.tool ?? "claude"), "--wait"];
  const env = { ...wire.env, CLAUDE_CODE_ENTRYPOINT: "cli", ...asked.env };
  return start(process.execPath, args, { env, input: eventText({ moment: "stop", ...asked }) });
}

interface Session {
  readonly session: string;
  readonly state: string;
  readonly wake: string | null;
}

/** The sessions that forge's daemon knows. */
export async function sessionsOf(wire: LiveWire): Promise<readonly Session[]> {
  return (await wire.json<{ sessions: readonly Session[] }>("forge", "status")).sessions;
}

/** A waiter that forge's daemon knows. */
export async function armed(wire: LiveWire, asked: Asked = {}): Promise<Started> {
  const waiter = startWaiter(wire, asked);
  await untilArmed(wire);
  return waiter;
}

export async function untilArmed(wire: LiveWire): Promise<void> {
  await until("a waiter waits", async () =>
    (await sessionsOf(wire)).some(({ wake }) => wake === "waiter"),
  );
}

/** A message of scribe's that forge's daemon has taken in; its id. */
export async function receive(
  wire: LiveWire,
  subject: string,
  ...flags: readonly string[]
): Promise<string> {
  await wire.json("scribe", "send", subject, wordsOf(subject), "--to", "forge", ...flags);
  const line = await until(`${subject} arrives`, () =>
    wire.privateLines("forge", "inbox").find((each) => each.subject === subject),
  );
  return line.event_id;
}

/** The body of such a message. */
export function wordsOf(subject: string): string {
  return `the body of ${subject}`;
}

export const URGENT = ["--priority", "high"];

/** The ids of what is unread, as the agent's own command shows them. */
export async function unreadIds(wire: LiveWire): Promise<string[]> {
  const { stdout } = await wire.run("forge", "inbox", "--unread", "--json");
  return jsonLines(stdout).map((line) => (line as Line).event_id);
}
