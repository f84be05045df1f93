import { homedir } from "node:os";
import type { AgentSettings } from "../../agent/config/settings.ts";
import type { Logger } from "../../agent/session/world.ts";
import { sanitise } from "../../wire/quote.ts";
import { runProgram, type ProgramEnd, type ProgramRun } from "../run-program.ts";

/** A command of the operator's, run once. */
export interface HookRun extends Pick<ProgramRun, "command" | "input" | "timeoutMs" | "signal"> {
  /** Added to the environment. */
  readonly facts: Readonly<Record<string, string>>;
}

/** How it ended. `said`: the end of what it wrote to standard error, in one safe row. */
export interface HookEnd extends Pick<ProgramEnd, "how" | "detail"> {
  readonly said: string;
}

/** What the hooks of a daemon run with. */
export interface HookHost {
  /** What the operator has set now. */
  settings(): AgentSettings;
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
  const timeoutMs = settings()["hooks.timeout_seconds"] * 1_000;
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
const MAX_SAID = 200;

/** Runs a command in the home folder. What it starts in the background may outlive it. Spec 8.3. */
export async function runHook({ facts, ...run }: HookRun): Promise<HookEnd> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...facts };
  for (const name of OURS_ALONE) Reflect.deleteProperty(env, name);
  const ended = await runProgram({ ...run, env, cwd: homedir(), mayLeaveRest: true });
  const { how, signal, stderr } = ended;
  const said = sanitise(stderr.slice(-MAX_SAID).trim());
  return { how, detail: signal ?? ended.detail, said };
}

/** What the system says of a command that it does not start. */
function notStarted(error: unknown): HookEnd {
  return { how: "not started", detail: (error as Error).message, said: "" };
}
