import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { loadPlace, type AgentConfig } from "../../src/agent/config/agent-config.ts";
import { silentLogger, type World } from "../../src/agent/session/world.ts";
import type { Client } from "../../src/api/client.ts";
import { carriersOf } from "../../src/carriers/folder.ts";
import { placesOf } from "../../src/cli/context.ts";
import { realWorld } from "../../src/client/direct-client.ts";
import { openClient } from "../../src/client/open-client.ts";
import { setupHost } from "../../src/setup/host.ts";
import { initLocalPair } from "../../src/setup/wire/init-wire.ts";
import { checkout, pause, program, startNode, type Running } from "./processes.ts";

/** Who is measured. */
export const READER = "forge";
/** Who writes to it: the first of its peers. */
export const PEER = "scribe";

const DAEMON_START_LIMIT_MS = 600_000;
const ENV: NodeJS.ProcessEnv = {
  PATH: process.env["PATH"],
  TMPDIR: process.env["TMPDIR"],
  NO_COLOR: "1",
};

/** A wire with a home of its own for all of its agents, on the disk that the checkout is on. */
export interface Wire {
  /** Holds everything of it. */
  readonly folder: string;
  readonly dir: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  readonly world: World;
  readonly peers: readonly string[];
  place(handle: string): AgentConfig;
  /** The file that carries the chain of `handle`. */
  carrierOf(handle: string): string;
  /** Starts an agent's daemon and waits until it listens. */
  startDaemon(handle: string, options?: DaemonOptions): Promise<Running>;
  /** A client of that agent; throws when no daemon answers it. */
  client(handle: string): Promise<Client>;
  /** Arguments of Node for a command of that agent. */
  command(handle: string, name: string, ...args: readonly string[]): string[];
  /** Removes all of it. */
  close(): void;
}

export interface DaemonOptions {
  /** Of Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** The folder for everything that the bench writes. */
export function reportsFolder(): string {
  const reports = join(checkout, "reports");
  mkdirSync(reports, { recursive: true });
  return reports;
}

/** Wires that are kept between runs, since making them takes minutes; any of them may be deleted. */
export function keptFolder(name: string): string {
  return join(reportsFolder(), "bench-kept", name);
}

/** So many names of peers. */
export function peerNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? PEER : `${PEER}${at + 1}`));
}

/** A new wire, for one row. */
export function makeWire(peers: readonly string[] = [PEER]): Wire {
  return openWireIn(mkdtempSync(join(reportsFolder(), "bench-")), peers);
}

/** The wire in that folder, which is made when there is none. */
export function openWireIn(folder: string, peers: readonly string[]): Wire {
  const home = join(folder, "home");
  const dir = join(folder, "_coordination");
  const env = { ...ENV, HOME: home };
  if (!existsSync(dir)) {
    mkdirSync(home, { recursive: true });
    initLocalPair(setupHost(env, Date.now()), { wireDir: dir, peers }, READER);
  }
  return wireOf({ folder, home, dir, env, peers });
}

/** A host of its own in that folder, with nothing of a wire yet. */
export function bareHost(folder: string, peers: readonly string[]): Wire {
  const [home, dir] = [join(folder, "home"), join(folder, "_coordination")];
  for (const path of [home, dir]) mkdirSync(path, { recursive: true });
  return wireOf({ folder, home, dir, env: { ...ENV, HOME: home }, peers });
}

function wireOf(at: Pick<Wire, "folder" | "home" | "dir" | "env" | "peers">): Wire {
  const { dir, env } = at;
  const world = realWorld(placesOf(env), dir, silentLogger);
  const place = (handle: string): AgentConfig =>
    loadPlace(world.disk, world.places, { wireDir: dir, handle });
  const command = (handle: string, name: string, ...args: readonly string[]): string[] => [
    ...[program, name, "--wire", dir, "--as", handle],
    ...args,
  ];
  return {
    ...at,
    world,
    place,
    carrierOf(handle) {
      const members = new Map([READER, ...at.peers].map((member) => [member, true]));
      const [carrier] = carriersOf(handle, members);
      if (carrier === undefined) throw new Error(`${handle} has no carrier`);
      return join(dir, carrier.path);
    },
    command,
    async startDaemon(handle, { nodeArgs = [], env: more } = {}) {
      const args = [...nodeArgs, ...command(handle, "daemon", "--log-level", "error")];
      const daemon = startNode(args, { ...env, ...more }, "inherit");
      await listening(daemon, place(handle).paths.socket);
      return daemon;
    },
    async client(handle) {
      for (let waited = 0; waited < DAEMON_START_LIMIT_MS; waited += 5) {
        const client = await openClient({ wireDir: dir, handle, env }, DAEMON_START_LIMIT_MS);
        if (client.viaDaemon) return client;
        // Its socket is there, and it does not listen yet.
        client.close();
        await pause(5);
      }
      throw new Error("the daemon does not answer");
    },
    close: () => rmSync(at.folder, { recursive: true, force: true }),
  };
}

async function listening({ child, pid }: Running, socket: string): Promise<void> {
  const startedMs = Date.now();
  // One that a killed daemon has left is older.
  const isThere = (): boolean =>
    existsSync(socket) && statSync(socket).ctimeMs >= startedMs - 1_000;
  for (let waited = 0; !isThere(); waited += 5) {
    if (child.exitCode !== null) throw new Error(`the daemon ${pid} ended with ${child.exitCode}`);
    if (waited > DAEMON_START_LIMIT_MS) throw new Error("the daemon does not come up");
    await pause(5);
  }
}
