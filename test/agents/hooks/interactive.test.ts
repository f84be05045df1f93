import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isInteractive } from "../../../src/agents/hooks/interactive.ts";
import { TOOLS, type SessionProcess, type Tool } from "../../../src/api/tool-sessions.ts";
import { listedProcess } from "../../../src/daemon/sessions/session-process.ts";
import { killChildren, start, until } from "../../support/processes/real-processes.ts";

// Whether a person sees a session, told by the arguments and the input of real processes.

const SCRIPT = 'echo "$$" > "$0"; read -r line';
const WHY_NOT = spawnSync("tmux", ["-V"]).status === 0 ? undefined : "tmux is not installed here";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-seen-"));
});
afterEach(async () => {
  spawnSync("tmux", ["-S", join(folder, "tmux"), "kill-server"]);
  await killChildren();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;

async function processWith(words: readonly string[], isInTerminal: boolean) {
  const file = join(folder, `${(count += 1)}`);
  const args = ["-c", SCRIPT, file, ...words];
  if (isInTerminal) {
    const tmux = ["-S", join(folder, "tmux"), "-f", "/dev/null", "new-session", "-d"];
    execFileSync("tmux", [...tmux, "sh", ...args]);
  } else start("/bin/sh", args, { env: process.env });
  await until("it runs", () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  const pid = Number(readFileSync(file, "utf8"));
  return { pid, started: listedProcess(pid)?.started ?? "" } satisfies SessionProcess;
}

test.each<readonly [tool: Tool, words: readonly string[], seen: boolean]>([
  ["claude", ["--print", "hi"], false],
  ["claude", ["--model", "x", "-p"], false],
  ["claude", ["-c"], true],
  ["codex", ["exec", "-o", "result", "hi"], false],
  ["codex", ["app-server", "--listen", "unix://"], true],
  ["codex", ["resume", "--last"], true],
  ["gemini", ["-p", "hi"], false],
  ["gemini", ["--prompt=hi"], false],
  ["gemini", [], false],
  ["copilot", ["-p", "hi"], false],
  ["copilot", [], false],
  ["opencode", ["run"], false],
  ["opencode", ["serve"], true],
  ["kilo", ["run"], false],
])("%s %j, its input a pipe", async (tool, words, seen) => {
  // `sh -c` is before them, and no argument of a tool.
  expect(isInteractive(tool, await processWith(words, false), {})).toBe(seen);
});

test("in a terminal every tool is, unless it runs one prompt", async ({ skip }) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  const owner = await processWith([], true);
  for (const tool of TOOLS) {
    expect(isInteractive(tool, owner, { QWEN_CODE_MESSAGING_SOCKET: "/s" })).toBe(true);
  }
  expect(isInteractive("gemini", await processWith(["-p", "hi"], true), {})).toBe(false);
  expect(isInteractive("qwen", owner, {})).toBe(false);
});

test("Claude Code says itself what has started it", () => {
  for (const [entry, seen] of [
    ["sdk-cli", false],
    ["sdk-ts", false],
    ["cli", true],
    ["claude-vscode", true],
  ] as const) {
    expect(isInteractive("claude", undefined, { CLAUDE_CODE_ENTRYPOINT: entry })).toBe(seen);
  }
});
