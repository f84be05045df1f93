import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The checkout: where `bin/deaddrop.js` is, whether this runs as TypeScript or compiled. */
export const checkout = findCheckout(import.meta.dirname);
/** The program as it is built here. */
export const program = join(checkout, "bin", "deaddrop.js");

const IS_SOURCE = import.meta.filename.endsWith(".ts");
const TYPESCRIPT = ["--import", join(checkout, "test", "support", "typescript.js")];
const NS_PER_MS = 1e6;
const MS_PER_TICK = 10;

/** Arguments that make Node read modules of ours in the form that this one has. */
export const nodeArgs: readonly string[] = IS_SOURCE ? TYPESCRIPT : [];

/** The path of a module of the bench, named from its folder and without its ending. */
export function modulePath(name: string): string {
  return join(dirname(import.meta.dirname), `${name}${IS_SOURCE ? ".ts" : ".js"}`);
}

/** Runs a module of the bench as a process of its own, to its end; the JSON that it printed last. */
export function runModule<T>(
  name: string,
  args: readonly string[],
  { env, cores }: { readonly env?: NodeJS.ProcessEnv; readonly cores?: "one" } = {},
): T {
  const command = [process.execPath, ...nodeArgs, modulePath(name), ...args];
  const [first = "", ...rest] = cores === "one" ? onOneCore(command) : command;
  const done = spawnSync(first, rest, { env: env ?? process.env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${name} ended with ${done.status}: ${done.stderr}`);
  return JSON.parse(done.stdout.trimEnd().split("\n").at(-1) ?? "") as T;
}

/** A command that may run on one core only. */
export function onOneCore(command: readonly string[]): readonly string[] {
  return ["taskset", "-c", "0", ...command];
}

export function has(name: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}

/** Where the kernel tells what processes did. */
export const hasProc = existsSync("/proc/self/task");

/**
 * The CPU time of a process so far, of all threads that it still has, and of the children that it
 * has waited for. Undefined without /proc.
 */
export function cpuMsOf(pid: number): number | undefined {
  if (!hasProc) return undefined;
  const threadsMs = threadsOf(pid).map((thread) => {
    const text = readOr(`/proc/${pid}/task/${thread}/schedstat`, "0");
    return Number(text.split(" ")[0]) / NS_PER_MS;
  });
  return threadsMs.reduce((total, ms) => total + ms, 0) + childrenMs(pid);
}

/** CPU time of the children of this process that have ended. */
export function endedChildrenMs(): number | undefined {
  return hasProc ? childrenMs(process.pid) : undefined;
}

export function since(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined ? undefined : now - before;
}

/** How often the threads of a process went to sleep by themselves. */
export function sleepsOf(pid: number): number {
  const counts = threadsOf(pid).map((thread) => {
    const status = readOr(`/proc/${pid}/task/${thread}/status`, "");
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  });
  return counts.reduce((total, count) => total + count, 0);
}

/** Memory in MiB: what the process holds now, and the most that it has held. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readOr(`/proc/${pid}/status`, "");
  const mib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) / 1_024;
  return { now: mib("VmRSS"), peak: mib("VmHWM") };
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function childrenMs(pid: number): number {
  const fields = readOr(`/proc/${pid}/stat`, "")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * MS_PER_TICK;
}

/** A process or thread may end while it is looked at. */
function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return otherwise;
    throw error;
  }
}

export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  /** SIGTERM, and its end. */
  stop(): Promise<void>;
}

/** A Node process that says "ready" when it is, and runs until it is stopped. */
export async function startReady(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Running> {
  const running = startNode(args, env, "pipe");
  await new Promise<void>((resolve, reject) => {
    running.child.stdout?.once("data", () => resolve());
    running.child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}`)));
  });
  return running;
}

const alive = new Set<ChildProcess>();
// A row that fails leaves nothing running.
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

export function startNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  stdout: "pipe" | "inherit",
): Running {
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", stdout, "inherit"] });
  alive.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => {
      alive.delete(child);
      resolve();
    });
  });
  return {
    pid: child.pid ?? 0,
    child,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** What a short command prints; undefined when there is no such command. */
export function printed(command: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function findCheckout(from: string): string {
  if (existsSync(join(from, "bin", "deaddrop.js"))) return from;
  if (dirname(from) === from) throw new Error("bin/deaddrop.js is not above this file");
  return findCheckout(dirname(from));
}
