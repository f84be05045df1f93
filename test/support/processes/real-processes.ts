import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CONDITION_LIMIT_MS } from "../hang-guard.ts";

/** The built program: `npm test` builds before; DEADDROP_BUILT names another copy of it. */
const BUILT = process.env["DEADDROP_BUILT"] ?? fileURLToPath(new URL("../../../", import.meta.url));
export const BIN = join(BUILT, "bin", "deaddrop.js");
export const LIBRARY = join(BUILT, "dist", "index.js");

const children = new Set<ChildProcess>();

/** For `afterEach`: whatever a test has started and not ended is killed. */
export async function killChildren(): Promise<void> {
  const ends = [...children].map((child) => new Promise((resolve) => child.once("exit", resolve)));
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(ends);
}

export interface Ended {
  /** Exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has said so far. */
  stdout(): string;
  stderr(): string;
}

export function start(
  program: string,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly input?: string; readonly cwd?: string },
): Started {
  const child = spawn(program, args, {
    env: options.env,
    stdio: "pipe",
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  children.add(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // A child that is killed leaves its input unread.
  child.stdin.on("error", () => undefined);
  if (options.input !== undefined) child.stdin.end(options.input);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => children.delete(child));
    child.once("close", (code, signal) => resolve({ code: code ?? signal ?? -1, stdout, stderr }));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  return { pid, child, ended, stdout: () => stdout, stderr: () => stderr };
}

/** A pause between two looks is so many times as long as a look. */
const LOOK_PAUSE_FACTOR = 3;

/** Looks again and again until there is something to see; fails when it does not come at all. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const endMs = performance.now() + CONDITION_LIMIT_MS;
  for (;;) {
    const begunMs = performance.now();
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    const nowMs = performance.now();
    if (nowMs > endMs) {
      throw new Error(`not within ${CONDITION_LIMIT_MS / 60_000} minutes: ${what}`);
    }
    // A look that is a command must not keep the machine from what is waited for.
    await pause(Math.max(50, LOOK_PAUSE_FACTOR * (nowMs - begunMs)));
  }
}

export function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
