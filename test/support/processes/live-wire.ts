import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { setupHost } from "../../../src/setup/host.ts";
import { initWire } from "../../../src/setup/wire/init-wire.ts";
import { agentPaths, placesFrom, type AgentPaths } from "../../../src/storage/paths.ts";
import { BIN, killChildren, start, until, type Ended, type Started } from "./real-processes.ts";

export const WIRE_ID = "7c3a91e2b4d05f16";

/** A wire in a folder of its own, all of its agents on this machine under a home of its own. */
export interface LiveWire {
  /** Holds everything of this wire; removed by `removeWires`. */
  readonly folder: string;
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  paths(handle: string): AgentPaths;
  /** A command of one agent, to its end. */
  run(handle: string, ...args: readonly string[]): Promise<Ended>;
  /** The same, for what it prints with `--json`; throws when it fails. */
  json<T>(handle: string, ...args: readonly string[]): Promise<T>;
  /** A daemon that has started up. */
  daemon(handle: string, options?: DaemonOptions): Promise<Daemon>;
  /** A file of the wire, by its name, with what was archived of it before. */
  text(name: string): string;
  lines(name: string): Line[];
  /** The whole lines of a private file of an agent; none while there is no file. */
  privateLines(handle: string, which: "inbox" | "quarantine"): Line[];
}

interface DaemonOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Of Node itself. */
  readonly nodeArgs?: readonly string[];
}

export interface Daemon extends Started {
  /** SIGTERM, and its end. */
  stop(): Promise<Ended>;
  log(): LogLine[];
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

/** A line of a log, as JSON. */
export interface Line {
  readonly from: string;
  readonly type: string;
  readonly subject: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly seq?: number;
  readonly prev?: string;
  readonly event_id: string;
  readonly [field: string]: unknown;
}

interface WireOptions {
  readonly handles?: readonly string[];
  /** Of every tier, unless `tierSeconds` says more. */
  readonly cadenceSeconds?: number;
  /**
   * The cadence that deadlines follow (T1), where a slow machine must not be late for them; once
   * somebody has said something, beats keep `cadenceSeconds`.
   */
  readonly deadlineSeconds?: number;
  /** Fields of config.json beside or in the place of the usual ones. */
  readonly config?: object;
  /** Below this folder instead of the one for temporary files. */
  readonly under?: string;
  readonly env?: (home: string) => NodeJS.ProcessEnv;
}

const made: string[] = [];

/** For `afterEach`: ends the daemons and removes the wires. */
export async function removeWires(): Promise<void> {
  await killChildren();
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Made as `deaddrop init --local-pair` does, with beats that come soon enough for a test. */
export function makeWire(options: WireOptions = {}): LiveWire {
  const handles = options.handles ?? ["forge", "scribe"];
  const folder = newFolder(options.under);
  const home = join(folder, "home");
  const dir = join(folder, "wire");
  mkdirSync(home);
  const env = { ...envOf(home), ...options.env?.(home) };
  writePolicy(dir, handles, options);
  const request = { wireDir: dir, handles, peers: [], track: true };
  initWire(setupHost(env, Date.now()), request, () => true);
  return liveWire(folder, dir, env);
}

/**
 * Agents who share nothing but a folder: each has a home of its own and has been set up by its own
 * `deaddrop init` or `join`. `folderOf`: the folder that each of them takes for the shared one.
 */
export async function makeHomes(
  handles: readonly string[],
  folderOf: (handle: string) => string = () => "wire",
  options: Pick<WireOptions, "deadlineSeconds"> = {},
): Promise<ReadonlyMap<string, LiveWire>> {
  const folder = newFolder();
  const homes = new Map<string, LiveWire>();
  for (const handle of handles) {
    const home = join(folder, `home of ${handle}`);
    mkdirSync(home);
    const dir = join(folder, folderOf(handle));
    const isFirst = !existsSync(dir);
    if (isFirst) writePolicy(dir, handles, options);
    const wire = liveWire(folder, dir, envOf(home));
    const peers = handles.filter((each) => each !== handle).flatMap((each) => ["--peer", each]);
    await wire.json(handle, isFirst ? "init" : "join", "--me", handle, ...peers);
    homes.set(handle, wire);
  }
  return homes;
}

function newFolder(under = tmpdir()): string {
  const folder = realpathSync(mkdtempSync(join(under, "deaddrop-e2e-")));
  made.push(folder);
  return folder;
}

function envOf(home: string): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  return {
    PATH,
    HOME: home,
    TZ: "UTC",
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
  };
}

/** A wire's policy, as its makers would have it, with beats that come soon enough for a test. */
function writePolicy(dir: string, handles: readonly string[], options: WireOptions): void {
  mkdirSync(dir);
  const config = {
    wire_id: WIRE_ID,
    protocol_version: "v3.1",
    roster: handles,
    ...options.config,
  };
  writeFileSync(join(dir, "config.json"), JSON.stringify(config));
  const text = tiersText(options.cadenceSeconds ?? 1, options.deadlineSeconds);
  writeFileSync(join(dir, "tiers.json"), text);
}

/** The same wire from another machine: its own home, with a copy of all keys and pins. */
export function copiedHome(wire: LiveWire): LiveWire {
  const home = join(wire.folder, "copied-home");
  cpSync(join(wire.folder, "home", ".config"), join(home, ".config"), { recursive: true });
  return liveWire(wire.folder, wire.dir, { ...wire.env, HOME: home });
}

/** Spec 3.4: a deadline is never shorter than T1, so beats may be faster than that. */
export function tiersText(seconds: number, deadlineSeconds?: number): string {
  const tier = { cadence_seconds: seconds };
  const active = { cadence_seconds: deadlineSeconds ?? seconds };
  const tiers = { T0_HEADS_DOWN: tier, T1_active: active, T2_idle: tier, T3_long_idle: tier };
  const { transitions } = JSON.parse(
    readFileSync(new URL("../../../tiers.json", import.meta.url), "utf8"),
  ) as { transitions: unknown };
  const toFast = [{ from: "*", to: "T2_idle", when: "non_heartbeat_message" }];
  return JSON.stringify({
    schema_version: "v1",
    tiers,
    transitions: deadlineSeconds === undefined ? transitions : toFast,
  });
}

function liveWire(folder: string, dir: string, env: NodeJS.ProcessEnv): LiveWire {
  const textIn = (name: string): string => {
    const files = [...archivedParts(dir, name), join(dir, name)].filter((path) => existsSync(path));
    if (files.length === 0) throw new Error(`there is no ${name}`);
    return files.map((path) => contentOf(path).toString("utf8")).join("");
  };
  const places = placesFrom(env, env["HOME"] ?? "");
  const argsOf = (handle: string, [command = "", ...rest]: readonly string[]) => [
    ...[BIN, command, "--wire", dir, "--as", handle],
    ...rest,
  ];
  const run = (handle: string, ...args: readonly string[]) =>
    start(process.execPath, argsOf(handle, args), { env, input: "" }).ended;
  return {
    folder,
    dir,
    env,
    paths: (handle) => agentPaths(places, { wireDir: dir, wireKey: WIRE_ID, handle }),
    run,
    async json<T>(handle: string, ...args: readonly string[]): Promise<T> {
      const ended = await run(handle, ...args, "--json");
      if (ended.code !== 0) throw new Error(`deaddrop ${args.join(" ")}: ${ended.stderr}`);
      return JSON.parse(ended.stdout) as T;
    },
    async daemon(handle, options = {}) {
      const args = [
        ...(options.nodeArgs ?? []),
        ...argsOf(handle, ["daemon", ...(options.args ?? [])]),
      ];
      const started = start(process.execPath, args, { env: { ...env, ...options.env } });
      const daemon = asDaemon(started);
      const isUp = async (): Promise<boolean> => {
        if (started.child.exitCode !== null) {
          const { code, stdout, stderr } = await started.ended;
          throw new Error(`the daemon of ${handle} ended with ${code}: ${stdout}${stderr}`);
        }
        return started.stdout().includes('"the daemon runs"');
      };
      await until(`the daemon of ${handle} runs: ${started.stderr()}`, isUp);
      return daemon;
    },
    text: textIn,
    lines: (name) => jsonLines(textIn(name)) as Line[],
    privateLines(handle, which) {
      const path = agentPaths(places, { wireDir: dir, wireKey: WIRE_ID, handle })[which];
      return existsSync(path) ? (jsonLines(readFileSync(path, "utf8")) as Line[]) : [];
    },
  };
}

/** The archived parts of a file of the wire, oldest first. */
function archivedParts(dir: string, name: string): string[] {
  const archive = join(dir, "archive");
  if (!existsSync(archive)) return [];
  const stem = basename(name, ".jsonl");
  const years = readdirSync(archive).toSorted();
  return years.flatMap((year) => {
    const parts = readdirSync(join(archive, year)).flatMap((entry) => {
      const [part, number = "0"] = entry.replace(/\.jsonl(\.gz)?$/u, "").split(/\.(?=\d+$)/u);
      return part === stem ? [{ path: join(archive, year, entry), number: Number(number) }] : [];
    });
    return parts.toSorted((one, other) => one.number - other.number).map(({ path }) => path);
  });
}

function contentOf(path: string): Buffer {
  const bytes = readFileSync(path);
  return path.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}

function asDaemon(started: Started): Daemon {
  return {
    ...started,
    stop() {
      started.child.kill("SIGTERM");
      return started.ended;
    },
    log: () => jsonLines(started.stdout()) as LogLine[],
  };
}

/** The whole lines of a text, as JSON. */
export function jsonLines(text: string): unknown[] {
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as unknown);
}
