import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { CodingTool, FoundTool } from "./coding-tool-cache.ts";
import { ALONE, modelOf, SCRIPTED } from "./coding-tools.ts";
import type { LiveWire } from "./live-wire.ts";
import { BIN, start, until, type Ended } from "./real-processes.ts";

/** After so many looks at a screen that shows nothing of a text it is typed again. */
const RETYPE_LOOKS = 40;

/** How a tool is used by a person at a terminal. */
interface Habits {
  /** Beside what makes it speak to the scripted model. */
  readonly args: readonly string[];
  /** What it asks before it runs what is in a project, and the next key on the way to yes. */
  readonly asks?: { readonly screen: RegExp; yes(screen: string): string };
  /** The screen says that a prompt may be typed. */
  readonly isReady: RegExp;
  /** The screen says that the yes counts from its next start on: on a busy machine it may miss its own restart. */
  readonly isUnheeded?: RegExp;
  readonly quit: string;
  /** A call of its own tool that runs a command of the shell, for the model's script. */
  shellCall(command: string): string;
}

export const HABITS: Readonly<Record<CodingTool, Habits>> = {
  claude: {
    // Its own mode has each command checked by its maker's server, which a scripted model does not do.
    args: ["--permission-mode", "default", "--allowedTools", "Bash"],
    asks: {
      screen: /trust this folder|Use this MCP server/u,
      // It stands on no.
      yes: (screen) =>
        /❯ (?:Yes|Use this MCP server)/u.test(screen)
          ? "Enter"
          : /❯ No/u.test(screen)
            ? "Down"
            : "Up",
    },
    isReady: /^❯/mu,
    quit: "/exit",
    shellCall: (command) => `Bash ${JSON.stringify({ command, description: "x" })}`,
  },
  codex: {
    args: ["--disable", "daemon_auto_start"],
    asks: {
      screen: /Hooks need review/u,
      yes: (screen) => (/› 2\. Trust/u.test(screen) ? "Enter" : "2"),
    },
    isReady: /Ask Codex to do anything/u,
    quit: "/quit",
    shellCall: (cmd) => `exec_command ${JSON.stringify({ cmd, yield_time_ms: 30_000 })}`,
  },
  gemini: {
    args: ["--approval-mode=yolo"],
    asks: { screen: /trust the files in this folder/u, yes: () => "Enter" },
    isReady: /Type your message/u,
    isUnheeded: /untrusted folder/u,
    quit: "/quit",
    shellCall: (command) => `run_shell_command ${JSON.stringify({ command, description: "x" })}`,
  },
  opencode: {
    args: [],
    isReady: /Ask anything/u,
    quit: "/exit",
    shellCall: (command) => `bash ${JSON.stringify({ command, description: "x" })}`,
  },
  copilot: {
    args: ["--allow-all-tools"],
    asks: {
      screen: /Confirm folder trust/u,
      yes: (screen) => (/❯ 2\. Yes, and remember/u.test(screen) ? "Enter" : "Down"),
    },
    isReady: /^❯\s*$/mu,
    quit: "/exit",
    shellCall: (command) =>
      `bash ${JSON.stringify({ command, description: "x", initial_wait: 600 })}`,
  },
  qwen: {
    args: ["--approval-mode=yolo"],
    asks: { screen: /Do you trust this folder/u, yes: () => "Enter" },
    isReady: /Type your message/u,
    quit: "/quit",
    shellCall: (command) => `run_shell_command ${JSON.stringify({ command, description: "x" })}`,
  },
  kilo: {
    args: ["--auto"],
    isReady: /Ask anything/u,
    quit: "/exit",
    shellCall: (command) => `bash ${JSON.stringify({ command, description: "x" })}`,
  },
  pi: {
    args: [],
    isReady: /\(auto\)/u,
    quit: "/quit",
    shellCall: (command) => `bash ${JSON.stringify({ command })}`,
  },
  cline: {
    args: [],
    isReady: /What can I do/u,
    quit: "/exit",
    shellCall: (command) => `run_commands ${JSON.stringify({ commands: [command] })}`,
  },
};

/** A project whose tool has been set up by its person, and not yet joined to the wire. */
export interface ToolProject {
  readonly found: FoundTool;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** What the model was asked, in order. */
  requests(): ModelRequest[];
  /** How often it was asked for anything, titles and the like too. */
  countRequests(): number;
  /** The plan that the prompt `@@script <name>` has the model follow. */
  script(name: string, steps: readonly string[]): void;
}

/** A request to the model that offers it tools: one of the agent's own turns. */
export interface ModelRequest {
  readonly atMs: number;
  readonly text: string;
  /** What came after the model's last words. */
  readonly news: string;
}

/** One in which its person has not approved anything yet. */
export async function makeProject(found: FoundTool, wire: LiveWire): Promise<ToolProject> {
  const [project] = await makeProjects(found, wire, { names: ["project"], isUntrusted: true });
  if (project === undefined) throw new Error("no project was made");
  return project;
}

/** Several projects of one person, with one model. */
export async function makeProjects(
  found: FoundTool,
  wire: LiveWire,
  { names, isUntrusted = false }: { names: readonly string[]; isUntrusted?: boolean },
): Promise<ToolProject[]> {
  const at = join(wire.folder, `model of ${found.tool}`);
  const [log, scripts] = [join(at, "log"), join(at, "scripts")];
  mkdirSync(scripts, { recursive: true });
  const projects = names.map((name) => join(wire.folder, name));
  for (const folder of projects) makeRepository(folder);
  const port = await modelOf(found.tool, log, scripts);
  const home = wire.env["HOME"] ?? "";
  const env = SCRIPTED[found.tool]({ home, projects, port, isUntrusted });
  return projects.map((folder) => ({
    found,
    folder,
    env: { ...wire.env, ...env, TERM: "xterm-256color" },
    requests: () =>
      readdirSync(log)
        .sort()
        .flatMap((name) => requestIn(readFileSync(join(log, name), "utf8"))),
    countRequests: () => readdirSync(log).length,
    script: (name, steps) => writeFileSync(join(scripts, name), `${steps.join("\n")}\n`),
  }));
}

/** One of the tools takes repositories without a commit for one and the same project. */
function makeRepository(folder: string): void {
  const git = (...args: readonly string[]) => void execFileSync("git", ["-C", folder, ...args]);
  mkdirSync(folder);
  git("init", "--quiet");
  const who = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
  git(...who, "commit", "--quiet", "--allow-empty", "--message", folder);
}

/** `deaddrop integrate`, in the project's own files. */
export async function integrate(
  { found, folder }: ToolProject,
  wire: LiveWire,
  handle: string,
  ...flags: readonly string[]
): Promise<void> {
  const words = [BIN, "integrate", found.tool, "--yes", "--as", handle];
  const args = [...words, "--wire", wire.dir, ...flags];
  const { code, stderr } = await start(process.execPath, args, { env: wire.env, cwd: folder })
    .ended;
  if (code !== 0) throw new Error(`integrate ${found.tool}: ${stderr}`);
}

/** None: it is still being written, or asks for a title or the like. */
function requestIn(file: string): ModelRequest[] {
  try {
    const { t: atMs, body } = JSON.parse(file) as { t: number; body: { tools?: unknown[] } | null };
    if ((body?.tools ?? []).length === 0) return [];
    const text = JSON.stringify(body);
    return [{ atMs, text, news: text.split(/"role":"(?:assistant|model)"/u).at(-1) ?? "" }];
  } catch {
    return [];
  }
}

/** A tool in a terminal of tmux, with a scripted model behind it. */
export interface ToolTerminal {
  type(text: string): Promise<void>;
  /** Takes that text away again. */
  erase(text: string): Promise<void>;
  key(name: string): void;
  screen(): string;
  /** Asks it to end, as its person would, and waits for that. */
  quit(): Promise<void>;
  close(): void;
}

export interface HowOpened {
  readonly args?: readonly string[];
  /** Its person has been asked before, and is not again. */
  readonly isApproved?: boolean;
  /** Where a session that goes on shows that a prompt may be typed in another way. */
  readonly isReady?: RegExp;
}

/** Opens the tool, answers what it asks, and waits until it takes a prompt. */
export async function openTool(
  project: ToolProject,
  opened: HowOpened = {},
): Promise<ToolTerminal> {
  const { found, folder, env } = project;
  const { tool, program } = found;
  const { args = HABITS[tool].args, isApproved = false, ...how } = opened;
  const socket = `${folder}.tmux`;
  const tmux = (...args: readonly string[]): string =>
    execFileSync("tmux", ["-S", socket, ...args], {
      env,
      cwd: folder,
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
  const { asks, isReady, isUnheeded, quit } = { ...HABITS[tool], ...how };
  tmux("new-session", "-d", "-x", "140", "-y", "45", program, ...args);
  const screen = (): string => (isOpen() ? tmux("capture-pane", "-p") : "");
  const key = (name: string): void => {
    try {
      tmux("send-keys", name);
    } catch (error) {
      // It may have ended a moment ago.
      if (isOpen()) throw error;
    }
  };
  if (asks !== undefined && !isApproved) {
    await until(`${tool} asks its person`, () => asks.screen.test(screen()));
  }
  // A key that comes too early is not taken, one too many answers the next question, and one question may
  // follow another.
  let looks = 0;
  let answered = "";
  await until(`${tool} takes a prompt`, () => {
    const shown = screen();
    if (isReady.test(shown)) return true;
    if (asks?.screen.test(shown) !== true) return false;
    looks = shown === answered ? looks + 1 : 0;
    if (looks % RETYPE_LOOKS === 0) key(asks.yes(shown));
    answered = shown;
    return false;
  });
  if (!isApproved && isUnheeded?.test(screen()) === true) {
    tmux("kill-server");
    return openTool(project, { ...opened, isApproved: true });
  }
  return {
    async type(text) {
      let looks = 0;
      await until("it was typed", () => {
        const shown = screen();
        if (isInPrompt(shown, text)) return true;
        // A tool that starts again takes no keys meanwhile, or a part of them.
        if (looks % RETYPE_LOOKS === 0) {
          if (looks > 0) key("C-u");
          tmux("send-keys", "-l", text);
        }
        looks += 1;
        return false;
      });
    },
    async erase(text) {
      for (const _ of text) key("BSpace");
      await until("it is erased", () => !screen().includes(text.slice(0, text.length / 2)));
    },
    key,
    screen,
    async quit() {
      tmux("send-keys", "-l", quit);
      await until("the command is typed", () => screen().includes(quit));
      // A list of commands opens while it is typed.
      await until(`${tool} has ended`, () => {
        key("Enter");
        return !isOpen();
      });
    },
    close() {
      if (!isOpen()) return;
      // One of the tools outlives its terminal.
      kill(-Number(tmux("list-panes", "-a", "-F", "#{pane_pid}")));
      try {
        tmux("kill-server");
      } catch {
        // The server has ended with its only pane.
      }
    },
  };
}

/**
 * Every tool puts something before what is typed into its prompt; pi puts a line above it. What is typed while a tool starts
 * again is on the screen too, at the beginning of a line, and no tool has read it.
 */
function isInPrompt(shown: string, text: string): boolean {
  if (shown.includes(`─\n${text}`)) return true;
  return shown
    .split("\n")
    .some((line) => line.slice(0, Math.max(0, line.indexOf(text))).trim() !== "");
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

/**
 * Runs a prompt without a terminal, in a project that its person has approved. What it printed is
 * in the answer.
 */
export async function runAlone(
  { found, folder, env }: ToolProject,
  prompt: string,
  flags: readonly string[] = [],
): Promise<Ended> {
  const { argv, input } = ALONE[found.tool](prompt);
  const words = [...argv, ...HABITS[found.tool].args, ...flags];
  return await start(found.program, words, { env, cwd: folder, input }).ended;
}

/** Whom `whoami` has named to the model, in the last of these requests; undefined: nobody. */
export function whoWasNamed(requests: readonly ModelRequest[]): string | undefined {
  return /you_are\W+(?<handle>[\w-]+)/u.exec(requests.at(-1)?.news ?? "")?.groups?.["handle"];
}

/** Ends the processes in whose command line there are both. */
export function endProcesses(folder: string, what: RegExp): void {
  for (const pid of processesOf(folder, what)) kill(pid);
}

/** It may have ended by itself since it was looked for. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The processes of Codex that outlive its terminals. */
export function endBackground(folder: string): void {
  endProcesses(folder, / (?:--managed-daemon|pid-update-loop|--cline-hub-daemon)/u);
}

/** Processes of ours that speak for this wire, as the system lists them. */
export function ourProcesses(wire: LiveWire): number[] {
  return processesOf(wire.dir, / (?:hook|mcp) /u);
}

/** The ids of processes in whose command line there are both. */
function processesOf(folder: string, what: RegExp): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return line.includes(folder) && what.test(line) ? [Number(pid)] : [];
      } catch {
        return [];
      }
    });
}

/** A command of the shell that runs until the test lets it go on. */
export function gate(folder: string, name = "") {
  const [begun, goOn] = [join(folder, `begun${name}`), join(folder, `go-on${name}`)];
  return {
    command: `touch ${begun}; until [ -e ${goOn} ]; do sleep 0.2; done; echo slept`,
    begun: () => existsSync(begun),
    open: () => writeFileSync(goOn, ""),
  };
}
