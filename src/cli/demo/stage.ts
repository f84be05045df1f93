import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath } from "../../setup/program.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

/** How long one command may take, and a daemon to stop, on a machine that is busy. */
const COMMAND_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 30_000;
const OUTPUT_LIMIT_BYTES = 4 * 1024 * 1024;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const runProgram = promisify(execFile);

/** What `execFile` rejects with; `code` is a number when the program has ended by itself. */
interface CommandFailure extends Omit<CommandResult, "exitCode"> {
  readonly code?: number | string | null;
  readonly signal?: string | null;
}

/** The demo went wrong: what was expected, and what happened instead. */
export class DemoFailure extends Error {
  override readonly name = "DemoFailure";
}

/**
 * The place where the demo plays: a folder with a home of its own, so that nothing of the
 * person who runs it is read or written, and the processes that were started in it.
 */
export class Stage {
  readonly root: string;
  readonly wireDir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #ended = new AbortController();
  readonly #daemons = new Map<string, { child: ChildProcess; exited: Promise<number | string> }>();

  constructor(root: string) {
    this.root = root;
    this.wireDir = join(root, "_coordination");
    const home = join(root, "home");
    for (const folder of ["home/.config", "home/.local/state", "logs"]) {
      mkdirSync(join(root, folder), { recursive: true, mode: PRIVATE_FOLDER });
    }
    this.#env = {
      PATH: process.env["PATH"],
      HOME: home,
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_STATE_HOME: join(home, ".local/state"),
      NO_COLOR: "1",
      TZ: "UTC",
    };
  }

  /** Ends everything, and lets nothing more begin. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.stopDaemons();
  }

  /** Runs one command to its end, as an agent of this wire or (undefined) as the operator. */
  async run(
    handle: string | undefined,
    args: readonly string[],
    input = "",
  ): Promise<CommandResult> {
    const who = handle === undefined ? [] : ["--wire", this.wireDir, "--as", handle];
    this.#refuseEnded();
    const running = runProgram(process.execPath, [programPath(), ...args, ...who], {
      ...{ cwd: this.root, env: this.#env, signal: this.#ended.signal },
      ...{ timeout: COMMAND_LIMIT_MS, killSignal: "SIGKILL", maxBuffer: OUTPUT_LIMIT_BYTES },
    });
    running.child.stdin?.end(input);
    try {
      return { exitCode: 0, ...(await running) };
    } catch (error) {
      const { code, signal, stdout, stderr } = error as CommandFailure;
      if (typeof code === "number") return { exitCode: code, stdout, stderr };
      throw new DemoFailure(`deaddrop ${args.join(" ")}: ended by ${signal ?? code ?? "a signal"}`);
    }
  }

  /** Starts a real daemon; its log goes to a file of the stage. */
  startDaemon(handle: string): void {
    this.#refuseEnded();
    const args = [programPath(), "daemon", "--wire", this.wireDir, "--as", handle];
    const child = spawn(process.execPath, args, {
      ...{ cwd: this.root, env: this.#env, stdio: ["ignore", "pipe", "pipe"] },
    });
    writeFileSync(this.daemonLog(handle), "", { mode: PRIVATE_FILE });
    const log = createWriteStream(this.daemonLog(handle), { flags: "a" });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const exited = new Promise<number | string>((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (code, signal) => {
        log.end();
        resolve(code ?? signal ?? "unknown");
      });
    });
    this.#daemons.set(handle, { child, exited });
  }

  daemonLog(handle: string): string {
    return join(this.root, "logs", `daemon-${handle}.log`);
  }

  /** What a daemon ended with, or undefined while it runs. */
  daemonEnd(handle: string): number | string | undefined {
    const child = this.#daemons.get(handle)?.child;
    return child?.exitCode ?? child?.signalCode ?? undefined;
  }

  /** SIGTERM to every daemon; says with what each one ended. None is left when it returns. */
  async stopDaemons(): Promise<Map<string, number | string>> {
    const ends = new Map<string, number | string>();
    for (const { child } of this.#daemons.values()) child.kill("SIGTERM");
    for (const [handle, { child, exited }] of this.#daemons) {
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
      ends.set(handle, await exited);
      clearTimeout(timer);
    }
    this.#daemons.clear();
    return ends;
  }

  makeFolder(path: string): void {
    mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  }

  #refuseEnded(): void {
    if (this.#ended.signal.aborted) throw new DemoFailure("the demo has ended");
  }
}
