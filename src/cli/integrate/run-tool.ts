import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "../../api/tool-sessions.ts";
import { connectDaemon } from "../../client/socket-client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { sanitise } from "../../framing/sanitise.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { withClient, type Cli, type GlobalFlags } from "../context.ts";
import { daemonNodeOptions, programPath } from "../../setup/program.ts";
import { joiningOf, type ToolJoining } from "./joining.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** How long a daemon may take to start. */
const START_LIMIT_MS = 15_000;
const START_LOOK_MS = 100;
/** What a shell adds to the number of a signal that has ended a program. */
const SIGNALLED = 128;
/** Codex hands the environment of its first session to all later ones unless it is told not to. */
const FIRST_ARGUMENTS: { readonly [T in Tool]?: readonly string[] } = {
  codex: ["--disable", "daemon_auto_start"],
};
const PASSED_ON = ["SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/**
 * `deaddrop run <tool>`: the tool in this terminal, joined to the wire for this run. It gets the
 * terminal, the signals and the arguments as they are; its exit code is ours. Spec 8.3.
 */
export async function runTool(
  cli: Cli,
  tool: Tool,
  args: readonly string[],
  flags: GlobalFlags,
): Promise<void> {
  const joining = joiningOf(cli, tool, flags, { isTemporary: true });
  const { at, paths } = joining;
  // Refused, where it is, before anything is started.
  const plan = joining.plan();
  const daemon = await startedDaemon(cli, joining, flags);
  try {
    joining.join(plan);
    const env = { ...cli.env, DEADDROP_AS: at.handle, DEADDROP_WIRE: paths.wireDir };
    const child = spawn(tool, [...(FIRST_ARGUMENTS[tool] ?? []), ...args], {
      stdio: "inherit",
      env,
      cwd: cli.cwd,
    });
    cli.exitCode = await ended(child, tool);
  } finally {
    try {
      // It was joined for this run: where it was joined before, it stays so.
      if (plan.changes.length > 0) joining.remove(joining.removal());
      await tellUnread(cli, flags, at.handle);
    } finally {
      daemon?.kill("SIGTERM");
    }
  }
}

/** The keys of the terminal reach the tool by themselves; what is sent to us is passed on. */
async function ended(child: ChildProcess, tool: Tool): Promise<number> {
  const ignore = (): void => undefined;
  process.on("SIGINT", ignore);
  const passers = PASSED_ON.map((signal) => [signal, () => child.kill(signal)] as const);
  for (const [signal, pass] of passers) process.on(signal, pass);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", (cause: NodeJS.ErrnoException) =>
        reject(cause.code === "ENOENT" ? notThere(tool) : cause),
      );
      child.once("exit", (code, signal) =>
        resolve(code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal])),
      );
    });
  } finally {
    process.off("SIGINT", ignore);
    for (const [signal, pass] of passers) process.off(signal, pass);
  }
}

function notThere(tool: Tool): DeaddropError {
  return new DeaddropError("usage", `there is no program "${tool}" on your PATH`, {
    hint: "install it first",
  });
}

/** A daemon of this run, unless one runs already; it writes its log into the private folder. */
async function startedDaemon(
  cli: Cli,
  { at, paths }: ToolJoining,
  flags: GlobalFlags,
): Promise<ChildProcess | undefined> {
  if (await answers(paths)) return undefined;
  const log = openSync(join(paths.stateDir, "run.log"), "a", PRIVATE_FILE);
  const peers = (flags.peer ?? []).flatMap((peer) => ["--peer", peer]);
  const identity = ["--wire", paths.wireDir, "--as", at.handle];
  const program = [...daemonNodeOptions(), programPath()];
  const child = spawn(process.execPath, [...program, "daemon", ...identity, ...peers], {
    // A group of its own: the keys of the terminal are for the tool.
    detached: true,
    stdio: ["ignore", log, log],
    env: cli.env,
  });
  closeSync(log);
  const endMs = performance.now() + START_LIMIT_MS;
  while (!(await answers(paths))) {
    if (child.exitCode !== null || performance.now() > endMs) {
      child.kill();
      throw new DeaddropError("storage", "the daemon did not start", {
        hint: `see ${join(paths.stateDir, "run.log")}`,
      });
    }
    await sleep(START_LOOK_MS);
  }
  return child;
}

async function answers(paths: AgentPaths): Promise<boolean> {
  const daemon = await connectDaemon(paths);
  daemon?.close();
  return daemon !== undefined;
}

/** What goes wrong with that changes nothing about how the tool has ended. */
async function tellUnread(cli: Cli, flags: GlobalFlags, handle: string): Promise<void> {
  let unread: number;
  try {
    ({ unread } = await withClient(cli, flags, (client) => client.view("mail")));
  } catch (error) {
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    cli.stderr.write(`What is unread is not known: ${sanitise(error.message)}\n`);
    return;
  }
  if (unread === 0) return;
  const what = unread === 1 ? "1 unread message" : `${unread} unread messages`;
  cli.stderr.write(`${handle} has ${what}: deaddrop inbox --unread --as ${handle}\n`);
}
