import { writeSync } from "node:fs";
import type { Client, ClientPlace } from "../api/client.ts";
import { DeaddropError, EXIT_CODES } from "../api/errors.ts";
import { sanitise } from "../framing/sanitise.ts";
import { boundHere, findHandle, findWire, handleGiven, placesOf } from "../setup/here/who-here.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { markTold } from "../storage/private/bound-folders.ts";
import type { Screen } from "./output/output.ts";

export {
  findHandle,
  findWire,
  homeOf,
  joinedHandles,
  localHandles,
  placesOf,
  requireWireHere,
  UnclearIdentity,
  whoHere,
} from "../setup/here/who-here.ts";

/** Where text comes from; what a terminal can do besides is only used where there is one. */
export interface Input extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
  /** Raw: keys come as they are typed, and are not shown. */
  setRawMode?(isRaw: boolean): unknown;
  /** Leaves the stream open for the next reader, if it is told so. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterator<Uint8Array | string>;
  pause?(): unknown;
}

/** The outside of the command line, so that a test can be one. */
export interface Cli {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdin: Input;
  readonly stdout: Screen;
  readonly stderr: Screen;
  /** What the process ends with when nothing is thrown. */
  exitCode: number;
  readonly clock: CliClock;
  openClient(place: ClientPlace): Promise<Client>;
}

export interface CliClock {
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}

/** Flags that every command takes. */
export interface GlobalFlags {
  wire?: string;
  as?: string;
  json?: boolean;
  peer?: string[];
}

/**
 * Whether a person reads this, who may do what only operators may: a terminal, and no tool that was
 * started for an agent (`deaddrop run` names the agent in the environment). Spec 8.6.
 */
export function readerOf(cli: Pick<Cli, "env" | "stdin" | "stderr">): "agent" | "operator" {
  return isOnTerminal(cli) && (cli.env["DEADDROP_AS"] ?? "") === "" ? "operator" : "agent";
}

/** Whether somebody can be asked. */
export function isOnTerminal({ stdin, stderr }: Pick<Cli, "stdin" | "stderr">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

export function processCli(): Cli {
  return {
    env: process.env,
    get cwd() {
      return currentFolder();
    },
    // Node makes each stream when it is first asked for; most commands need one of the three.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return closable(process.stdout);
    },
    get stderr() {
      return closable(process.stderr);
    },
    exitCode: 0,
    clock: {
      nowMs: () => Date.now(),
      sleep: (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs)),
    },
    openClient: async (place) => (await import("../client/open-client.ts")).openClient(place),
  };
}

/** A folder can be removed below the shell that is in it. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new DeaddropError("config", "the current folder no longer exists", {
      hint: "change to a folder that exists: cd ~",
      cause,
    });
  }
}

/** `deaddrop inbox | head` is no failure: the reader has read enough. */
function closable(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount("error", endQuietly) === 0) stream.on("error", endQuietly);
  return stream;
}

function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  // What the command did before it printed is done: a script must not take this for "not sent".
  process.exitCode = EXIT_CODES.storage;
  try {
    writeSync(
      2,
      `deaddrop: the output cannot be written: ${error.message}\n  the command itself may be done: look before you repeat it, and free space where its output goes\n`,
    );
  } catch {
    // Nobody can be told.
  }
  process.exit();
}

/** Tells a person at a terminal, once for each bound folder, whose signature a message there gets. */
export function tellSigner(cli: Cli, flags: GlobalFlags): void {
  if (!isOnTerminal(cli)) return;
  if (handleGiven(cli, flags) !== undefined) return;
  const bound = boundHere(cli);
  if (bound === undefined || bound.told === true) return;
  cli.stderr.write(
    `You sign as ${bound.handle}: ${sanitise(bound.folder)} is bound to that identity (deaddrop as).\n` +
      "  To sign as another one of yours: --as <handle>. This is said once.\n",
  );
  markTold(nodeDisk(), placesOf(cli.env), bound);
}

/** Opens the client for this wire and identity, and closes it whatever happens. */
export async function withClient<T>(
  cli: Cli,
  flags: GlobalFlags,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  if ("markRead" in flags && flags.markRead === true) refuseSubAgent(cli.env);
  const place: ClientPlace = {
    wireDir: findWire(cli, flags),
    handle: findHandle(cli, flags),
    env: cli.env,
  };
  if (flags.peer !== undefined) place.peers = flags.peer;
  const client = await cli.openClient(place);
  try {
    const result = await use(client);
    if (client.readOnly !== undefined) tellReadOnly(cli, client.readOnly);
    return result;
  } finally {
    client.close();
  }
}

/**
 * What a sub-agent marks, the agent that has started it never sees. Codex alone tells its shell: the thread of
 * a sub-agent is another one than the session's. Spec 8.3.
 */
function refuseSubAgent({ CODEX_SESSION_ID: session, CODEX_THREAD_ID: thread }: NodeJS.ProcessEnv) {
  if (session === undefined || thread === undefined || session === thread) return;
  throw new DeaddropError(
    "refused",
    "a sub-agent marks no mail as read: its parent would miss it",
    {
      hint: "read without --mark-read, and leave the mail to the agent that has started this one",
    },
  );
}

/** What was read may be older than what the daemon knows, and nothing was marked as read. */
function tellReadOnly(cli: Cli, { message }: Error): void {
  const time = new Date(cli.clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  cli.stderr.write(`deaddrop: ${message}; this is what its files say as of ${time}\n`);
}
