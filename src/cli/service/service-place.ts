import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import type { Step } from "../../setup/steps.ts";
import { errnoOf } from "../../storage/disk/errno.ts";
import { type AgentPaths, type Places, programFolder } from "../../storage/paths.ts";
import { PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

/** Everything that installing a service depends on; nothing is read from the process. Spec 8.6. */
export interface ServicePlace {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly uid: number;
  readonly user: string;
  readonly places: Places;
  /** `wireDir` is the real path: the service does not follow links. */
  readonly agent: AgentPaths;
  /** PATH of the installing shell: git, flock and wakers are found where the operator finds them. */
  readonly path: string;
  /** Absolute path of the node that runs us, its options, and the path of bin/deaddrop.js. */
  readonly node: string;
  readonly nodeOptions: readonly string[];
  readonly program: string;
  /** The package's folder, where systemd/ and launchd/ are. */
  readonly packageDir: string;
}

export interface HostAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the service manager to its end. */
export type Host = (command: string, args: readonly string[]) => HostAnswer;

const HOST_LIMIT_MS = 150_000;

export const systemHost: Host = (command, args) => {
  const run = spawnSync(command, args, { encoding: "utf8", timeout: HOST_LIMIT_MS });
  if (run.error !== undefined) return { status: 127, stdout: "", stderr: run.error.message };
  return { status: run.status ?? 128, stdout: run.stdout, stderr: run.stderr };
};

/** The instance's name in unit, label and files: both halves hold only letters, digits and ._- */
export function instanceOf(agent: AgentPaths): string {
  return `${agent.wireKey}:${agent.handle}`;
}

/** One small file per installed instance, whatever the platform. No wire is named like the folder. */
function recordsFolder(places: Places): string {
  return join(programFolder(places), ".services");
}

export function recordPath(places: Places, instance: string): string {
  return join(recordsFolder(places), `${instance}.env`);
}

/** A service that this user has installed: enough to install or remove it again. */
export interface Installed {
  readonly handle: string;
  /** Name of the wire's private folders. */
  readonly wire: string;
  readonly wire_dir: string;
}

/** What is done to a service that is installed. */
export type ServiceAction = "start" | "stop" | "restart";

/** For `service install --all` (after an upgrade) and `service uninstall --all`. */
export function installedInstances(places: Places): Installed[] {
  return namesIn(recordsFolder(places)).flatMap((name) => {
    const [, wire, handle] = /^([\w-]+):(.+)\.env$/.exec(name) ?? [];
    if (wire === undefined || handle === undefined) return [];
    const record = textOf(recordPath(places, `${wire}:${handle}`)) ?? "";
    const quoted = /^DEADDROP_WIRE="(.*)"$/m.exec(record)?.[1];
    if (quoted === undefined) return [];
    return [{ handle, wire, wire_dir: quoted.replaceAll(/\\(.)/g, "$1") }];
  });
}

/** What the daemon finds in its environment. systemd and launchd give it little else. */
export function serviceEnvironment(place: ServicePlace): Readonly<Record<string, string>> {
  return {
    DEADDROP_WIRE: place.agent.wireDir,
    DEADDROP_AS: place.agent.handle,
    XDG_CONFIG_HOME: place.places.configHome,
    XDG_STATE_HOME: place.places.stateHome,
    PATH: place.path,
  };
}

/** An EnvironmentFile: double quotes, in which systemd knows four characters to escape. */
export function environmentFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}="${refuseControls(value).replaceAll(/["\\`$]/g, "\\$&")}"\n`)
    .join("");
}

/** No path of ours goes into a unit or plist with a line break or an escape in it. */
export function refuseControls(value: string): string {
  if (!/\p{Cc}/u.test(value)) return value;
  throw new DeaddropError("config", `${JSON.stringify(value)} has control characters`, {
    hint: "rename the folder: a service definition cannot hold it",
  });
}

export function writeStep(path: string, text: string, mode: number): Step {
  return {
    what: `write ${path}`,
    needed: () => textOf(path) !== text,
    run: () => {
      writing(path, () => {
        mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
        writeFileSync(path, text, { mode });
      });
    },
  };
}

export function removeStep(path: string): Step {
  return {
    what: `remove ${path}`,
    needed: () => textOf(path) !== undefined || namesIn(path).length > 0,
    run: () => {
      writing(path, () => {
        rmSync(path, { recursive: true, force: true });
      });
    },
  };
}

/** A command that must succeed; `hint` says what to do when it does not. */
export function commandStep(
  host: Host,
  command: string,
  args: readonly string[],
  hint: string,
): Step {
  const what = [command, ...args].join(" ");
  return {
    what,
    needed: () => true,
    run: () => {
      const answer = host(command, args);
      if (answer.status === 0) return;
      const said = answer.stderr.trim() || answer.stdout.trim() || "it said nothing";
      throw new DeaddropError("config", `${what}: exit code ${answer.status}: ${said}`, { hint });
    },
  };
}

/** A command whose failure means that there was nothing to do. */
export function attemptStep(host: Host, command: string, args: readonly string[]): Step {
  return {
    what: [command, ...args].join(" "),
    needed: () => true,
    run: () => {
      host(command, args);
    },
  };
}

export function template(place: ServicePlace, ...names: readonly string[]): string {
  const path = join(place.packageDir, ...names);
  const text = textOf(path);
  if (text !== undefined) return text;
  throw new DeaddropError("config", `${path} is missing`, {
    hint: "install deaddrop again: its package is not complete",
  });
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "EISDIR"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return [];
    throw error;
  }
}

function writing(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new DeaddropError("storage", `${path} cannot be changed`, {
      hint: "check who owns it and whether its filesystem is full or read-only",
      cause: error,
    });
  }
}
