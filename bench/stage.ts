import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { placesOf } from "../src/cli/context.ts";
import { realWorld } from "../src/client/direct-client.ts";
import { silentLogger, type World } from "../src/agent/session/world.ts";
import { loadPlace, type AgentConfig } from "../src/agent/config/agent-config.ts";
import { setupHost } from "../src/setup/host.ts";
import { initLocalPair } from "../src/setup/wire/local-pair.ts";

/** Who is measured, and who writes to it. */
export const READER = "forge";
export const PEER = "scribe";

/** A wire of two agents with a home of its own, on the disk that the checkout is on. */
export interface Stage {
  readonly folder: string;
  readonly wireDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly world: World;
  place(handle: string): AgentConfig;
  /** Starts an agent's daemon and waits until it listens. */
  startDaemon(handle: string): Promise<RunningDaemon>;
  /** Removes all of it. */
  close(): void;
}

export interface RunningDaemon {
  stop(): Promise<void>;
}

const DAEMON_START_LIMIT_MS = 30_000;

/** The checkout: where `bin/deaddrop.js` stands, whether this runs as TypeScript or compiled. */
export const checkout = findCheckout(import.meta.dirname);
/** The program that is measured as a process; `npm run build` makes what it needs. */
export const program = join(checkout, "bin", "deaddrop.js");

export function makeStage(): Stage {
  const reports = join(checkout, "reports");
  mkdirSync(reports, { recursive: true });
  const folder = mkdtempSync(join(reports, "bench-"));
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    HOME: join(folder, "home"),
    TMPDIR: process.env["TMPDIR"],
    NO_COLOR: "1",
  };
  mkdirSync(join(folder, "home"));
  const wireDir = join(folder, "_coordination");
  initLocalPair(setupHost(env, Date.now()), { wireDir, peers: [PEER] }, READER);
  const world = realWorld(placesOf(env), wireDir, silentLogger);
  const place = (handle: string): AgentConfig =>
    loadPlace(world.disk, world.places, { wireDir, handle });
  return {
    folder,
    wireDir,
    env,
    world,
    place,
    startDaemon: (handle) => startDaemon(handle, wireDir, env, place(handle).paths.socket),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function startDaemon(
  handle: string,
  wireDir: string,
  env: NodeJS.ProcessEnv,
  socket: string,
): Promise<RunningDaemon> {
  const args = [program, "daemon", "--wire", wireDir, "--as", handle, "--log-level", "error"];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "inherit", "inherit"] });
  const ended = endOf(child);
  for (let waited = 0; !existsSync(socket); waited += 20) {
    if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`);
    if (waited > DAEMON_START_LIMIT_MS) throw new Error("the daemon does not come up");
    await pause(20);
  }
  return {
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

export function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
  });
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
