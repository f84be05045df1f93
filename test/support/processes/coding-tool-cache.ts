import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CONDITION_LIMIT_MS } from "../hang-guard.ts";

export const CODING_TOOLS = [
  "claude",
  "codex",
  "gemini",
  "opencode",
  "copilot",
  "qwen",
  "kilo",
] as const;
/** Tools without an MCP server of ours, whose agents run our commands. */
export const SHELL_TOOLS = ["pi", "cline"] as const;
export type CodingTool = (typeof CODING_TOOLS)[number] | (typeof SHELL_TOOLS)[number];

/** What the tests were written with. */
const PACKAGES: Readonly<Record<CodingTool, readonly [name: string, version: string]>> = {
  claude: ["@anthropic-ai/claude-code", "2.1.332"],
  codex: ["@openai/codex", "0.171.0"],
  gemini: ["@google/gemini-cli", "0.61.0"],
  opencode: ["opencode-ai", "1.18.33"],
  copilot: ["@github/copilot", "1.0.102"],
  qwen: ["@qwen-code/qwen-code", "0.24.4"],
  kilo: ["@kilocode/cli", "7.7.7"],
  pi: ["@mariozechner/pi-coding-agent", "0.73.1"],
  cline: ["cline", "3.0.65"],
};

/**
 * A folder that the tools are installed in already, as `npm install --prefix <folder>` does it; or `no`:
 * the tests of the tools are skipped. Unset: each tool is installed once, into the user's cache.
 */
const GIVEN = process.env["DEADDROP_CODING_TOOLS"];

const programs = new Map<CodingTool, Promise<string>>();

/** A tool, and where its program is. */
export interface FoundTool {
  readonly tool: CodingTool;
  readonly program: string;
}

/** Skips the test, with the reason, where the tool is not to be had. */
export async function toolOrSkip(
  tool: CodingTool,
  skip: (condition: boolean, note: string) => void,
): Promise<FoundTool> {
  const found = programs.get(tool) ?? findTool(tool);
  programs.set(tool, found);
  const [program, reason] = await found.then(
    (path) => [path, ""] as const,
    (error: unknown) => ["", (error as Error).message] as const,
  );
  skip(program === "", `${tool} is not to be had: ${reason}`);
  return { tool, program };
}

/** The sandbox of Claude Code as a program (`@anthropic-ai/sandbox-runtime`), where the folder has it. */
export function sandboxRuntime(): string | undefined {
  const path = join(GIVEN ?? "", "node_modules", ".bin", "srt");
  return GIVEN !== undefined && GIVEN !== "no" && existsSync(path) ? path : undefined;
}

async function findTool(tool: CodingTool): Promise<string> {
  if (GIVEN === "no") throw new Error("DEADDROP_CODING_TOOLS is no");
  if (GIVEN !== undefined) return programIn(GIVEN, tool);
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "deaddrop-tests", `${tool}-${PACKAGES[tool][1]}`);
  await install(tool, folder);
  return programIn(folder, tool);
}

function programIn(folder: string, tool: CodingTool): string {
  const path = join(folder, "node_modules", ".bin", tool);
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  return path;
}

/** Another run of the tests may want it at the same time: one installs it, the other waits. */
async function install(tool: CodingTool, folder: string): Promise<void> {
  const marker = join(folder, "installed");
  if (existsSync(marker)) return;
  mkdirSync(folder, { recursive: true });
  const npm = [
    "npm",
    "install",
    "--prefix",
    folder,
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
  ];
  const script = 'test -e "$0" || { "$@" && : > "$0"; }';
  const command = ["sh", "-c", script, marker, ...npm, PACKAGES[tool].join("@")];
  await new Promise<void>((resolve, reject) => {
    const options = { timeout: CONDITION_LIMIT_MS };
    execFile("flock", [join(folder, "lock"), ...command], options, (error, _stdout, stderr) => {
      const said = stderr
        .trim()
        .split("\n")
        .find((line) => line.startsWith("npm error"));
      if (error === null) resolve();
      else reject(new Error(said ?? error.message.split("\n")[0] ?? "it cannot be installed"));
    });
  });
}
