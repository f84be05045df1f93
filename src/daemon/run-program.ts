import { spawn } from "node:child_process";

/** A program to run once. */
export interface ProgramRun {
  /** The program and its arguments; no shell sees them. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** What it reads on its standard input. */
  readonly input: string;
  readonly timeoutMs: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** What it has left behind may go on when it ends by itself; its standard output is of no interest. */
  readonly mayLeaveRest?: boolean;
}

/** How it ended. */
export interface ProgramEnd {
  readonly how: "done" | "failed" | "not started" | "timed out" | "stopped";
  /** In words. */
  readonly detail: string;
  /** What has ended it. */
  readonly signal: NodeJS.Signals | null;
  /** The end of what it has printed. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Of each stream; a report is at the end of what is printed. */
const MAX_OUTPUT_BYTES = 512 * 1_024;
/** How long a program that was asked to end may take for it. */
const END_GRACE_MS = 3_000;
/** How long the rest of its output is waited for, once it has ended. */
const OUTPUT_REST_MS = 1_000;

/**
 * Runs a program in a process group of its own, which is ended as a whole when the time is over or the
 * signal comes, and, unless it may leave something behind, when the program itself has ended. Rejects nothing but
 * what the system refuses at once. Spec 7.5, 8.3.
 */
export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const [program = "", ...args] = run.command;
  const child = spawn(program, args, {
    cwd: run.cwd,
    env: run.env,
    stdio: ["pipe", run.mayLeaveRest === true ? "ignore" : "pipe", "pipe"],
    detached: true,
  });
  const stdout = lastBytes();
  const stderr = lastBytes();
  child.stdout?.on("data", stdout.take);
  child.stderr?.on("data", stderr.take);
  // It may end without having read its input.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(run.input);
  return new Promise((resolve) => {
    let cut: ProgramEnd["how"] | undefined;
    let hard: NodeJS.Timeout | undefined;
    const stop = (how: "timed out" | "stopped"): void => {
      cut ??= how;
      signalGroup(child.pid, "SIGTERM");
      hard ??= setTimeout(() => signalGroup(child.pid, "SIGKILL"), END_GRACE_MS);
    };
    const soft = setTimeout(() => stop("timed out"), run.timeoutMs);
    const aborted = (): void => stop("stopped");
    run.signal.addEventListener("abort", aborted);
    const over = (end: Pick<ProgramEnd, "how" | "detail" | "signal">): void => {
      clearTimeout(soft);
      clearTimeout(hard);
      run.signal.removeEventListener("abort", aborted);
      // Something in the background may keep it open.
      child.stderr?.destroy();
      resolve({ ...end, stdout: stdout.text(), stderr: stderr.text() });
    };
    child.once("error", ({ message }) =>
      over({ how: "not started", detail: message, signal: null }),
    );
    child.once("exit", (code, signal) => {
      if (cut !== undefined || run.mayLeaveRest !== true) signalGroup(child.pid, "SIGKILL");
      const how = cut ?? (code === 0 ? "done" : "failed");
      const detail = signal === null ? `exit code ${code ?? -1}` : `ended by ${signal}`;
      const rest = setTimeout(() => over({ how, detail, signal }), OUTPUT_REST_MS);
      child.once("close", () => {
        clearTimeout(rest);
        over({ how, detail, signal });
      });
    });
    if (run.signal.aborted) aborted();
  });
}

/** Keeps the end of what comes. */
function lastBytes() {
  let kept: Buffer[] = [];
  let size = 0;
  return {
    take: (chunk: Buffer) => {
      kept.push(chunk);
      size += chunk.length;
      if (size <= 2 * MAX_OUTPUT_BYTES) return;
      kept = [Buffer.concat(kept).subarray(-MAX_OUTPUT_BYTES)];
      size = MAX_OUTPUT_BYTES;
    },
    text: () => Buffer.concat(kept).subarray(-MAX_OUTPUT_BYTES).toString("utf8"),
  };
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // It has ended meanwhile; on macOS what has ended and was not collected is not ours to signal.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
