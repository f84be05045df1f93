import { spawn } from "node:child_process";
import { homedir } from "node:os";
import type { HookSettings } from "../../agent/config/settings.ts";
import type { Logger } from "../../agent/session/world.ts";
import { sanitise } from "../../wire/quote.ts";

/** A command of the operator's, run once. */
export interface HookRun {
  /** The program and its arguments; no shell sees them. */
  readonly command: readonly string[];
  /** What it reads on its standard input. */
  readonly input: string;
  /** Added to the environment. */
  readonly facts: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** How it ended. `said`: the end of what it wrote to standard error, in one safe row. */
export interface HookEnd {
  readonly how: "done" | "failed" | "not started" | "timed out" | "stopped";
  readonly detail: string;
  readonly said: string;
}

/** What the hooks of a daemon run with. */
export interface HookHost {
  /** What the operator has set now. */
  settings(): HookSettings;
  /** Who the agent is: `DEADDROP_AS` and `DEADDROP_WIRE`. */
  who(): Readonly<Record<string, string>>;
  run(run: HookRun): Promise<HookEnd>;
  /** The daemon ends: nothing more is run, and a command that runs is asked to end. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Returns at once; `ended` is told how the command has ended, also when it could not be started. */
export function startHook(
  { settings, who, run, signal }: HookHost,
  { facts, ...hook }: Pick<HookRun, "command" | "input" | "facts">,
  ended: (end: HookEnd) => void,
): void {
  const timeoutMs = settings().timeoutSeconds * 1_000;
  run({ ...hook, facts: { ...who(), ...facts }, timeoutMs, signal }).then(ended, (error: unknown) =>
    ended(notStarted(error)),
  );
}

/** What is between us and the service manager is not for the command. */
const OURS_ALONE = [
  "NOTIFY_SOCKET",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
  "DEADDROP_SUPERVISOR",
  "DEADDROP_LOG_FILE",
];
/** How long a command that was asked to end may take for it. */
const GRACE_MS = 3_000;
/** How long the rest of its output is waited for, once it has ended. */
const REST_MS = 500;
const MAX_SAID = 200;

/**
 * Runs a command in the home folder and in a process group of its own, which is ended as a whole after
 * `timeoutMs`. Rejects what the system refuses at once. What the command starts in the background may outlive it. Spec 8.3.
 */
export async function runHook(run: HookRun): Promise<HookEnd> {
  const [program = "", ...args] = run.command;
  const env: NodeJS.ProcessEnv = { ...process.env, ...run.facts };
  for (const name of OURS_ALONE) Reflect.deleteProperty(env, name);
  const child = spawn(program, args, {
    env,
    cwd: homedir(),
    stdio: ["pipe", "ignore", "pipe"],
    detached: true,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-MAX_SAID);
  });
  // It may end without having read its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(run.input);
  return await new Promise((resolve) => {
    let cut: HookEnd["how"] | undefined;
    let hard: NodeJS.Timeout | undefined;
    const end = (how: "timed out" | "stopped"): void => {
      cut ??= how;
      signalGroup(child.pid, "SIGTERM");
      hard ??= setTimeout(() => signalGroup(child.pid, "SIGKILL"), GRACE_MS);
    };
    const soft = setTimeout(() => end("timed out"), run.timeoutMs);
    const stop = (): void => end("stopped");
    run.signal.addEventListener("abort", stop);
    const clear = (): void => {
      clearTimeout(soft);
      clearTimeout(hard);
      run.signal.removeEventListener("abort", stop);
    };
    child.once("error", (error) => {
      clear();
      resolve(notStarted(error));
    });
    child.once("exit", (code, signal) => {
      clear();
      // The program itself obeyed; what it has started and left behind need not have.
      if (cut !== undefined) signalGroup(child.pid, "SIGKILL");
      const how = cut ?? (code === 0 ? "done" : "failed");
      const detail = signal ?? `exit code ${code ?? -1}`;
      const end = (): void => {
        clearTimeout(rest);
        child.stderr.destroy();
        resolve({ how, detail, said: sanitise(said.trim()) });
      };
      // What it has written is read to its end, unless something in the background keeps that open.
      const rest = setTimeout(end, REST_MS);
      child.once("close", end);
    });
  });
}

/** What the system says of a command that it does not start. */
function notStarted(error: unknown): HookEnd {
  return { how: "not started", detail: (error as Error).message, said: "" };
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // It has ended meanwhile.
  }
}
