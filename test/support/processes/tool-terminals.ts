import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { modelOf, programOf, SCRIPTED, type CodingTool } from "./coding-tools.ts";
import type { LiveWire } from "./live-wire.ts";
import { until } from "./real-processes.ts";

/** How a tool is used by a person at a terminal. */
interface Habits {
  /** Beside what makes it speak to the scripted model. */
  readonly args: readonly string[];
  /** The screen says that a prompt may be typed. */
  readonly isReady: RegExp;
  readonly quit: string;
  /** A call of its own tool that takes a while, for the model's script. */
  readonly slowCall: string;
}

const SLEEP = "sleep 6; echo slept";

export const HABITS: Readonly<Record<CodingTool, Habits>> = {
  claude: {
    args: ["--allowedTools", "Bash"],
    isReady: /❯/u,
    quit: "/exit",
    slowCall: `Bash ${JSON.stringify({ command: SLEEP, description: "x" })}`,
  },
  codex: {
    args: ["--disable", "daemon_auto_start", "--dangerously-bypass-hook-trust"],
    isReady: /Ask Codex to do anything/u,
    quit: "/quit",
    slowCall: `exec_command ${JSON.stringify({ cmd: SLEEP, yield_time_ms: 10_000 })}`,
  },
  gemini: {
    args: ["--approval-mode=yolo"],
    isReady: /Type your message/u,
    quit: "/quit",
    slowCall: `run_shell_command ${JSON.stringify({ command: SLEEP, description: "x" })}`,
  },
  opencode: {
    args: [],
    isReady: /Ask anything/u,
    quit: "/exit",
    slowCall: `bash ${JSON.stringify({ command: SLEEP, description: "x" })}`,
  },
};

/** A tool in a terminal of tmux, with a scripted model behind it. */
export interface ToolTerminal {
  readonly project: string;
  /** The bodies of what the model was asked, in order. */
  requests(): string[];
  type(text: string): Promise<void>;
  key(name: string): void;
  screen(): string;
  isOpen(): boolean;
  /** Asks it to end, as its person would, and waits for that. */
  quit(): Promise<void>;
  close(): void;
}

/** A project whose tool has been set up by its person, and not yet joined to the wire. */
export async function makeProject(tool: CodingTool, wire: LiveWire): Promise<ToolProject> {
  const project = join(wire.folder, "project");
  mkdirSync(project);
  execFileSync("git", ["init", "--quiet", project]);
  const log = join(wire.folder, "model");
  const port = await modelOf(tool, log);
  const env = SCRIPTED[tool]({ home: wire.env["HOME"] ?? "", project, port });
  return { project, log, env: { ...wire.env, ...env, TERM: "xterm-256color" } };
}

export interface ToolProject {
  readonly project: string;
  readonly log: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Opens the tool, and waits until it takes a prompt. */
export async function openTool(tool: CodingTool, at: ToolProject): Promise<ToolTerminal> {
  const socket = join(at.project, "..", "tmux");
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, ...args], {
      env: { ...at.env, PATH: process.env["PATH"] },
      cwd: at.project,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  const isOpen = (): boolean => {
    try {
      return tmux("list-panes", "-a").trim() !== "";
    } catch {
      return false;
    }
  };
  const { args, isReady, quit } = HABITS[tool];
  tmux("new-session", "-d", "-x", "140", "-y", "45", programOf(tool) ?? tool, ...args);
  const screen = (): string => (isOpen() ? tmux("capture-pane", "-p") : "");
  await until(`${tool} takes a prompt`, () => isReady.test(screen()));
  return {
    project: at.project,
    requests: () =>
      readdirSync(at.log)
        .sort()
        .map((name) => readFileSync(join(at.log, name), "utf8")),
    async type(text) {
      tmux("send-keys", "-l", text);
      const seen = text.split("\n").at(-1)?.slice(-12) ?? "";
      await until("it was typed", () => screen().includes(seen));
    },
    key: (name) => void tmux("send-keys", name),
    screen,
    isOpen,
    async quit() {
      tmux("send-keys", "-l", quit);
      await until("the command is typed", () => screen().includes(quit));
      // A list of commands opens while it is typed.
      for (let tries = 0; isOpen() && tries < 20; tries += 1) {
        tmux("send-keys", "Enter");
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      await until(`${tool} has ended`, () => !isOpen());
    },
    close() {
      if (isOpen()) tmux("kill-server");
    },
  };
}

/** Every file below a folder with its text, git's own left out. */
export function filesOf(folder: string, below = ""): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(join(folder, below), { withFileTypes: true }).map((entry) => {
      const name = join(below, entry.name);
      if (entry.name === ".git") return {};
      if (entry.isDirectory()) return { [`${name}/`]: "", ...filesOf(folder, name) };
      if (entry.isSymbolicLink()) return { [name]: `-> ${readlinkSync(join(folder, name))}` };
      return { [name]: readFileSync(join(folder, name), "utf8") };
    }),
  ) as Record<string, string>;
}

/** Processes of ours that speak for this wire, as the system lists them. */
export function ourProcesses(wire: LiveWire): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(wire.dir) && / (?:hook|mcp) /u.test(line));
}
