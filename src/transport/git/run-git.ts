import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { MINUTE_MS } from "../../wire/durations.ts";
import { TransportError } from "../port.ts";

/**
 * A call of git, to its end. Throws `GitFailed`, or TransportError when git cannot be run and when the
 * transport has ended.
 */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<Buffer>;

export interface GitOptions {
  /** Whole, or as it comes. */
  readonly input?: Uint8Array | Readable;
  /** Talks to the remote; such a call may take longer, and is given the ways to sign in. */
  readonly network?: boolean;
  /** The answer is passed on as it comes, and the call returns nothing. */
  readonly into?: (chunk: Buffer) => void;
  /** More of an answer ends the call. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** git has ended with an error. */
export class GitFailed extends Error {
  override readonly name = "GitFailed";
  /** All that it said, without control characters; the message has the last rows of it. */
  readonly said: string;
  readonly why: "failed" | "too long" | "too much";

  constructor(command: string, said: string, why: GitFailed["why"]) {
    super(`git ${command}: ${said.split("\n").slice(-MAX_SAID_ROWS).join("; ")}`);
    this.said = said;
    this.why = why;
  }
}

/** Where git runs and what it is told by its environment. */
export interface GitPlace {
  /** Where it is run; for a repository, the bare repository itself. */
  readonly folder: string;
  /** git's whole environment, but for what is the same for all. */
  readonly env: NodeJS.ProcessEnv;
  /** Before each command: `-c name=value`. */
  readonly settings: readonly string[];
  readonly program?: string;
  /** Ends each call that runs, and each that comes after: the daemon stops. */
  readonly signal?: AbortSignal | undefined;
}

const LOCAL_LIMIT_MS = 2 * MINUTE_MS;
const NETWORK_LIMIT_MS = 5 * MINUTE_MS;
const MAX_GIT_BYTES = 16 * 1_048_576;
const MAX_SAID_BYTES = 8_192;
const MAX_SAID_ROWS = 6;

/** Runs git in that place. No shell; each call is a process group of its own, so nothing outlives it. */
export function gitIn(place: GitPlace): Git {
  const { signal } = place;
  const isOver = (): boolean => signal?.aborted === true;
  return async (args, options = {}) => {
    if (isOver()) throw hasEnded();
    const child = spawn(place.program ?? "git", [...place.settings, ...args], {
      cwd: place.folder,
      env: { ...place.env, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" },
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    const kill = (): void => killGroup(child);
    signal?.addEventListener("abort", kill);
    try {
      return await answerOf(child, args[0] ?? "", options);
    } catch (error) {
      // What we have killed ourselves says nothing of the repository.
      throw isOver() ? hasEnded() : error;
    } finally {
      signal?.removeEventListener("abort", kill);
    }
  };
}

function hasEnded(): TransportError {
  return new TransportError("stopped", "the transport has ended", {
    hint: "what was not pushed is pushed by the next start",
  });
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function answerOf(child: Child, command: string, options: GitOptions): Promise<Buffer> {
  const { input, network = false, into, maxBytes = MAX_GIT_BYTES } = options;
  const limitMs = network ? NETWORK_LIMIT_MS : LOCAL_LIMIT_MS;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const said: Buffer[] = [];
    let bytes = 0;
    let saidBytes = 0;
    let why: GitFailed["why"] = "failed";
    /** What `into` has thrown, a full disk for example: it is the caller's. */
    let thrown: Error | undefined;
    const end = (reason: GitFailed["why"]): void => {
      why = reason;
      killGroup(child);
    };
    const pass = (chunk: Buffer, on: (chunk: Buffer) => void): void => {
      if (thrown !== undefined) return;
      try {
        on(chunk);
      } catch (error) {
        thrown = error instanceof Error ? error : new Error(String(error));
        killGroup(child);
      }
    };
    const limit = setTimeout(() => end("too long"), limitMs);
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (into !== undefined) pass(chunk, into);
      else if (bytes > maxBytes) end("too much");
      else chunks.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (saidBytes < MAX_SAID_BYTES) said.push(chunk);
      saidBytes += chunk.length;
    });
    // It may end without having read all of its input; its exit code says what is wrong.
    child.stdin.on("error", () => undefined);
    if (input instanceof Uint8Array) child.stdin.end(input);
    else if (input === undefined) child.stdin.end();
    else input.pipe(child.stdin);
    child.once("error", (cause) => {
      clearTimeout(limit);
      reject(cannotRun(cause));
    });
    child.once("close", (code) => {
      clearTimeout(limit);
      if (thrown !== undefined) reject(thrown);
      else if (code === 0 && why === "failed") resolve(Buffer.concat(chunks));
      else reject(new GitFailed(command, wordsOf(why, limitMs, said), why));
    });
  });
}

function cannotRun(cause: Error): TransportError {
  return new TransportError("no_git", `git could not be run: ${cause.message}`, {
    hint: "install git 2.32 or newer, or put it into PATH",
    cause,
  });
}

function wordsOf(why: GitFailed["why"], limitMs: number, said: readonly Buffer[]): string {
  if (why === "too long") return `it did not end within ${limitMs / 1_000} s`;
  if (why === "too much") return "its answer is too long";
  return plainRows(Buffer.concat(said).toString("utf8"));
}

/** What a program or a remote said: other machines choose these words. */
function plainRows(text: string): string {
  const rows = text
    .split(/[\r\n]+/)
    // eslint-disable-next-line no-control-regex
    .map((row) => row.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/g, "?").slice(0, 200))
    .filter((row) => row.trim() !== "");
  return rows.length === 0 ? "it said nothing" : rows.join("\n");
}

function killGroup(child: Child): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended already.
    child.kill("SIGKILL");
  }
}
