import { statSync, writeSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import type { Client, ClientPlace } from "../api/client.ts";
import { DeaddropError, EXIT_CODES } from "../api/errors.ts";
import { sanitise } from "../framing/sanitise.ts";
import { calling } from "../storage/disk/errno.ts";
import { identitiesIn } from "../storage/private/identities.ts";
import { joinedWires } from "../storage/private/private-folders.ts";
import { readWhole, StorageError, type Disk } from "../storage/disk/disk.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { boundAbove, markTold, type BoundFolder } from "../storage/private/bound-folders.ts";
import { placesFrom, programFolder, wireKeyOf, type Places } from "../storage/paths.ts";
import { MAX_CONFIG_BYTES } from "../wire/limits.ts";
import { claimedRoster, claimedWireId } from "../wire/roster/claimed-wire-id.ts";
import type { Screen } from "./output/output.ts";
import { wireAbove } from "./wire-search.ts";

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
 * started for an agent (`deaddrop run` names the agent in the environment). Spec 4.4.
 */
export function readerOf(cli: Pick<Cli, "env" | "stdin" | "stderr">): "agent" | "operator" {
  const isTerminal = cli.stdin.isTTY === true && cli.stderr.isTTY === true;
  return isTerminal && (cli.env["DEADDROP_AS"] ?? "") === "" ? "operator" : "agent";
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

/** Adds the global flags, where the command does not have flags of that name of its own. */
export function addGlobalFlags(command: Command): Command {
  const flags = [
    [
      "--wire <folder>",
      "the wire (else DEADDROP_WIRE, the nearest _coordination/ upward, your only wire)",
    ],
    [
      "--as <handle>",
      "who you are (else DEADDROP_AS, `deaddrop as`, the only identity on the wire)",
    ],
    ["--json", "print JSON"],
  ] as const;
  for (const [flag, about] of flags) if (!has(command, flag)) command.option(flag, about);
  if (!has(command, "--peer")) {
    command.option("--peer <handle>", "a peer, on a wire without a roster (repeatable)", collect);
  }
  return command;
}

function has(command: Command, flag: string): boolean {
  const long = flag.split(" ")[0];
  return (
    command.options.some((option) => option.long === long) ||
    command.commands.some((sub) => has(sub, flag))
  );
}

/** For repeatable options. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** For options that are a whole number of at least 1. */
export function count(value: string): number {
  const number = Number(value);
  if (/^\d{1,9}$/.test(value) && number >= 1) return number;
  throw new InvalidArgumentError("Give a whole number of at least 1.");
}

/**
 * The wire's folder, absolute: the one that is named, else the nearest `_coordination/` upward, else
 * the only wire that this user has joined. Throws DeaddropError when there is none. Spec 4.4.
 */
export function findWire(cli: Cli, flags: GlobalFlags): string {
  const here = wireNamedOrAbove(cli, flags);
  if (here !== undefined) return here;
  const wires = wiresElsewhere(cli, flags);
  const [only, another] = wires.keys();
  if (only !== undefined && another === undefined) return only;
  throw noWireHere(cli, wires);
}

/** The same without the last: for commands that set up a wire which may not be joined yet. */
export function requireWireHere(cli: Cli, flags: GlobalFlags): string {
  const here = wireNamedOrAbove(cli, flags);
  if (here === undefined) throw noWireHere(cli, wiresElsewhere(cli, flags));
  return here;
}

function wireNamedOrAbove(cli: Cli, flags: GlobalFlags): string | undefined {
  const named = flags.wire ?? cli.env["DEADDROP_WIRE"];
  if (named === undefined || named === "") {
    return wireAbove(cli.cwd, homeOf(cli.env), placesOf(cli.env));
  }
  const folder = resolve(cli.cwd, named);
  if (isFolder(folder)) return folder;
  throw new DeaddropError("config", `${folder}: no such folder`, {
    hint: `${flags.wire === undefined ? "DEADDROP_WIRE" : "--wire"} names the folder that the agents share; run \`deaddrop init\` to make one`,
  });
}

/** The wires that this user has joined, as the named identity where one is; and as whom. */
function wiresElsewhere(cli: Cli, flags: GlobalFlags): Map<string, string[]> {
  const named = handleNamed(cli, flags)?.handle;
  const wires = new Map<string, string[]>();
  for (const { handle, wireDir } of joinedWires(nodeDisk(), placesOf(cli.env))) {
    if ((named !== undefined && named !== handle) || !isFolder(wireDir)) continue;
    wires.set(wireDir, [...(wires.get(wireDir) ?? []), handle]);
  }
  return wires;
}

function noWireHere(cli: Cli, wires: ReadonlyMap<string, readonly string[]>): DeaddropError {
  const listed = [...wires].map(([folder, handles]) => `  ${folder}  (${handles.join(", ")})`);
  const hint =
    listed.length === 0
      ? "name it with --wire or DEADDROP_WIRE, or run `deaddrop init` to make one"
      : ["your wires:", ...listed, "name one with --wire, or run this in its project"].join("\n");
  const message = `no wire here: no _coordination/ in ${cli.cwd} or above it`;
  return new DeaddropError("config", message, { hint });
}

function isFolder(path: string): boolean {
  const stat = calling(path, "looking", () => statSync(path, { throwIfNoEntry: false }));
  return stat?.isDirectory() ?? false;
}

/** An identity, and what says that it is ours. */
export interface WhoHere {
  readonly handle: string;
  readonly by: string;
}

/** Which of this user's identities is meant cannot be told; the hint says how to name one. */
export class UnclearIdentity extends DeaddropError {}

/** Who we are on this machine. Throws DeaddropError when that is not clear. Spec 4.4. */
export function findHandle(cli: Cli, flags: GlobalFlags): string {
  return whoHere(cli, flags).handle;
}

/** The same, and why. Nobody's identity is ever guessed: of two, neither is taken. */
export function whoHere(cli: Cli, flags: GlobalFlags): WhoHere {
  const named = handleNamed(cli, flags);
  if (named !== undefined) return named;
  const handles = localHandles(cli.env);
  const [first] = handles;
  if (first === undefined) {
    throw new DeaddropError("config", "no identity on this machine", {
      hint: `with a backup of one, \`deaddrop restore <backup>\`; else run \`deaddrop init\` or \`deaddrop join\`, or make a key with \`deaddrop keygen <handle>\``,
    });
  }
  if (handles.length === 1) return { handle: first, by: "being the only identity of this user" };
  const wireDir = wireIfAny(cli, flags);
  const onWire = wireDir === undefined ? handles : handlesOnWire(cli.env, wireDir, handles);
  const [only, another] = onWire;
  if (only === undefined) {
    throw new UnclearIdentity("config", `none of your identities is on ${wireDir ?? "this wire"}`, {
      hint: `they are ${handles.join(", ")}; join it first: deaddrop join ${wireDir ?? ""} --me <handle>`,
    });
  }
  if (another === undefined) {
    return { handle: only, by: "being the only identity of this user on this wire" };
  }
  throw new UnclearIdentity("config", `several identities here: ${onWire.join(", ")}`, {
    hint: "ask your operator who you are, then say it once for this folder: deaddrop as <handle> (or each time with --as or DEADDROP_AS)",
  });
}

/** The identity that is named by a flag, by the environment or by the binding of the folder. */
function handleNamed(cli: Cli, flags: GlobalFlags): WhoHere | undefined {
  const explicit = handleGiven(cli, flags);
  if (explicit !== undefined) return explicit;
  const bound = boundHere(cli);
  return bound && { handle: bound.handle, by: `deaddrop as in ${bound.folder}` };
}

function handleGiven(cli: Cli, flags: GlobalFlags): WhoHere | undefined {
  if (flags.as !== undefined && flags.as !== "") return { handle: flags.as, by: "--as" };
  const { DEADDROP_AS: named } = cli.env;
  if (named !== undefined && named !== "") return { handle: named, by: "DEADDROP_AS" };
  return undefined;
}

/** Tells a person at a terminal, once for each bound folder, whose signature a message there gets. */
export function tellSigner(cli: Cli, flags: GlobalFlags): void {
  if (cli.stdin.isTTY !== true || cli.stderr.isTTY !== true) return;
  if (handleGiven(cli, flags) !== undefined) return;
  const bound = boundHere(cli);
  if (bound === undefined || bound.told === true) return;
  cli.stderr.write(
    `You sign as ${bound.handle}: ${sanitise(bound.folder)} is bound to that identity (deaddrop as).\n` +
      "  To sign as another one of yours: --as <handle>. This is said once.\n",
  );
  markTold(nodeDisk(), placesOf(cli.env), bound);
}

function wireIfAny(cli: Cli, flags: GlobalFlags): string | undefined {
  try {
    return findWire(cli, flags);
  } catch (error) {
    if (error instanceof DeaddropError) return undefined;
    throw error;
  }
}

/**
 * Those of this user's identities that have joined the wire, or are in the roster that it shows. On a
 * wire without a roster any identity may begin to speak, so all count where none has joined.
 */
function handlesOnWire(
  env: NodeJS.ProcessEnv,
  wireDir: string,
  handles: readonly string[],
): readonly string[] {
  const disk = nodeDisk();
  const joined = joinedHandles(env, wireDir);
  const roster = claimedRoster(configBytes(disk, wireDir));
  const onWire = handles.filter((each) => joined.includes(each) || roster.includes(each));
  return onWire.length === 0 && roster.length === 0 ? handles : onWire;
}

/** The identities of this user that have a private folder for that wire. */
export function joinedHandles(env: NodeJS.ProcessEnv, wireDir: string): readonly string[] {
  const disk = nodeDisk();
  const real = disk.realPath(wireDir);
  const key = wireKeyOf(claimedWireId(configBytes(disk, wireDir)), real);
  const joined = joinedWires(disk, placesOf(env))
    .filter((each) => each.wireDir === real || each.wireKey === key)
    .map(({ handle }) => handle);
  return [...new Set(joined)];
}

/** What cannot be read is told when the agent is opened. */
function configBytes(disk: Disk, wireDir: string): Uint8Array | undefined {
  try {
    return readWhole(disk, join(wireDir, "config.json"), MAX_CONFIG_BYTES);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

function boundHere(cli: Cli): BoundFolder | undefined {
  const disk = nodeDisk();
  return boundAbove(disk, placesOf(cli.env), disk.realPath(cli.cwd));
}

/** The identities of this user. */
export function localHandles(env: NodeJS.ProcessEnv): string[] {
  return identitiesIn(nodeDisk(), programFolder(placesOf(env)));
}

/** The user's own base folders. */
export function placesOf(env: NodeJS.ProcessEnv): Places {
  return placesFrom(env, homeOf(env));
}

export function homeOf(env: NodeJS.ProcessEnv): string {
  return env["HOME"] ?? homedir();
}

/** Opens the client for this wire and identity, and closes it whatever happens. */
export async function withClient<T>(
  cli: Cli,
  flags: GlobalFlags,
  use: (client: Client) => Promise<T>,
): Promise<T> {
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

/** What was read may be older than what the daemon knows, and nothing was marked as read. */
function tellReadOnly(cli: Cli, { message }: Error): void {
  const time = new Date(cli.clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  cli.stderr.write(`deaddrop: ${message}; this is what its files say as of ${time}\n`);
}
