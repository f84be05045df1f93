import { spawn, type ChildProcess } from "node:child_process";
import { pipeline, Readable } from "node:stream";
import { StorageError } from "../../storage/disk/disk.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { TransportError } from "../carrier.ts";

/** Runs a git command to its end; returns what it printed. @throws GitFailed @throws TransportError */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<Buffer>;

export interface GitOptions {
  readonly input?: Uint8Array | Readable;
  /** It talks to the remote, so it may take longer. */
  readonly network?: boolean;
  /** A descriptor that gets the output; nothing is returned then. */
  readonly outputFd?: number;
  /** Longer output ends the command. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** A git command has failed. */
export class GitFailed extends Error {
  override readonly name = "GitFailed";
  /** All that it printed to stderr, without control characters; the message has the last rows of it. */
  readonly stderr: string;
  readonly why: "failed" | "too long" | "too much";

  constructor(command: string, stderr: string, why: GitFailed["why"]) {
    super(`git ${command}: ${stderr.split("\n").slice(-6).join("; ")}`);
    this.stderr = stderr;
    this.why = why;
  }
}

export interface GitPlace {
  /** Where it runs: the bare repository. */
  readonly folder: string;
  /** Its whole environment, but for what is the same for all. */
  readonly env: NodeJS.ProcessEnv;
  readonly program?: string;
  /** Ends the commands that run, and refuses others: the transport stops. */
  readonly signal?: AbortSignal | undefined;
}

const LOCAL_LIMIT_MS = 2 * MINUTE_MS;
const NETWORK_LIMIT_MS = 5 * MINUTE_MS;
const MAX_OUTPUT_BYTES = 16 * 1_048_576;
const MAX_STDERR_BYTES = 8_192;

/** git in that place, without a shell. Each command is a process group of its own, so nothing outlives it. */
export function gitIn(place: GitPlace): Git {
  const { signal, folder, program = "git" } = place;
  const isStopped = (): boolean => signal?.aborted === true;
  return async (args, options = {}) => {
    if (isStopped()) throw stopped();
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...place.env, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" },
      stdio: ["pipe", options.outputFd ?? "pipe", "pipe"],
      detached: true,
    });
    const kill = (): void => killGroup(child);
    signal?.addEventListener("abort", kill);
    try {
      return await outputOf(child, args[0] ?? "", options);
    } catch (error) {
      // What we have killed ourselves says nothing about the repository.
      throw isStopped() ? stopped() : error;
    } finally {
      signal?.removeEventListener("abort", kill);
    }
  };
}

function stopped(): TransportError {
  return new TransportError("stopped", "the transport has stopped", {
    hint: "what is not pushed is pushed after the next start",
  });
}

function outputOf(child: ChildProcess, command: string, options: GitOptions): Promise<Buffer> {
  const { input, network = false, maxBytes = MAX_OUTPUT_BYTES } = options;
  const limitMs = network ? NETWORK_LIMIT_MS : LOCAL_LIMIT_MS;
  return new Promise((resolve, reject) => {
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    let [bytes, stderrBytes] = [0, 0];
    let why: GitFailed["why"] = "failed";
    const end = (reason: GitFailed["why"]): void => {
      why = reason;
      killGroup(child);
    };
    const limit = setTimeout(() => end("too long"), limitMs);
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) end("too much");
      else stdout.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      if (stderrBytes < MAX_STDERR_BYTES) stderr.push(chunk);
      stderrBytes += chunk.length;
    });
    // It may end without having read all of its input; its exit code says what is wrong.
    child.stdin?.on("error", () => undefined);
    if (input instanceof Readable && child.stdin !== null) {
      pipeline(input, child.stdin, (error) => {
        if (!(error instanceof StorageError)) return;
        reject(error);
        killGroup(child);
      });
    } else child.stdin?.end(input);
    child.once("error", (cause) => {
      clearTimeout(limit);
      reject(cannotRun(cause));
    });
    child.once("close", (code) => {
      clearTimeout(limit);
      if (code === 0 && why === "failed") resolve(Buffer.concat(stdout));
      else reject(new GitFailed(command, explain(why, limitMs, stderr), why));
    });
  });
}

function cannotRun(cause: Error): TransportError {
  return new TransportError("no_git", `git could not be run: ${cause.message}`, {
    hint: "install git 2.32 or newer, or put it into PATH",
    cause,
  });
}

function explain(why: GitFailed["why"], limitMs: number, stderr: readonly Buffer[]): string {
  if (why === "too long") return `it did not end within ${limitMs / 1_000} s`;
  if (why === "too much") return "its output is too long";
  // Other machines choose these words.
  const rows = Buffer.concat(stderr)
    .toString("utf8")
    .split(/[\r\n]+/)
    // eslint-disable-next-line no-control-regex
    .map((row) => row.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/g, "?").slice(0, 200))
    .filter((row) => row.trim() !== "");
  return rows.length === 0 ? "it printed nothing" : rows.join("\n");
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
