import { existsSync } from "node:fs";
import { DeaddropError } from "../../api/errors.ts";
import { runSteps, type Step, type StepReport } from "../../setup/steps.ts";
import * as launchd from "./service-launchd.ts";
import {
  installedInstances,
  type Host,
  type ServiceAction,
  type ServicePlace,
} from "./service-place.ts";
import * as systemd from "./service-systemd.ts";
import { shellWord } from "../../wire/quote.ts";

/** What was done, and what a person should know. `installed` is false where no manager answers. */
export interface ServiceReport {
  readonly installed: boolean;
  readonly steps: readonly StepReport[];
  readonly notes: readonly string[];
}

export interface InstallOptions {
  readonly dryRun: boolean;
  /** Keep the service after logout (Linux). The operator has been asked. */
  readonly linger: boolean;
}

export interface ServiceStatus {
  /** The manager's name of the service. */
  readonly service: string;
  readonly installed: boolean;
  readonly running: boolean;
  readonly pid: number | null;
  /** Since it was started. */
  readonly restarts: number | null;
  readonly last_exit_code: number | null;
  /** What the daemon, or else the manager, says in words. */
  readonly detail: string;
}

/** A program to run with the terminal's own input and output. */
export interface Argv {
  readonly command: string;
  readonly args: readonly string[];
}

type Manager = "systemd" | "launchd" | "none";

/**
 * How the daemon is run by hand; also what is printed where there is no service manager.
 * @internal
 */
export function foregroundCommand(place: ServicePlace): string {
  const words = [place.node, ...place.nodeOptions, place.program, "daemon"];
  words.push("--wire", place.agent.wireDir, "--as", place.agent.handle);
  return words.map(shellWord).join(" ");
}

/**
 * Installs, enables and (re)starts the service of one agent on one wire. Safe to repeat.
 * Throws DeaddropError when the manager or the disk refuses. Spec 8.6.
 */
export function installService(
  place: ServicePlace,
  host: Host,
  options: InstallOptions,
): ServiceReport {
  const manager = managerOf(place, host);
  if (manager === "none") return { installed: false, steps: [], notes: withoutManager(place) };
  if (manager === "launchd") {
    const steps = runSteps(launchd.installSteps(place, host), options.dryRun);
    return { installed: !options.dryRun, steps, notes: [`log: ${launchd.logPath(place)}`] };
  }
  const steps: Step[] = systemd.installSteps(place, host);
  if (options.linger) steps.push(systemd.lingerStep(place, host));
  const reports = runSteps(steps, options.dryRun);
  return { installed: !options.dryRun, steps: reports, notes: lingerNotes(place, host, options) };
}

/** Stops the service and removes its definition; keys, logs and inbox stay. Safe to repeat. */
export function uninstallService(
  place: ServicePlace,
  host: Host,
  options: { readonly dryRun: boolean },
): ServiceReport {
  const manager = place.platform === "linux" ? systemd : launchd;
  if (place.platform !== "linux" && place.platform !== "darwin") {
    return { installed: false, steps: [], notes: withoutManager(place) };
  }
  const steps = runSteps(manager.uninstallSteps(place, host), options.dryRun);
  return { installed: false, steps, notes: ["keys, logs and inbox are untouched"] };
}

/**
 * Starts, stops or restarts a service that is installed. Throws DeaddropError where it is not, or when
 * the manager refuses. Spec 8.6.
 */
export function runService(
  place: ServicePlace,
  host: Host,
  action: ServiceAction,
  options: { readonly dryRun: boolean },
): ServiceReport {
  const manager = managerOf(place, host);
  if (manager === "none") return { installed: false, steps: [], notes: withoutManager(place) };
  const { handle, wireDir } = place.agent;
  if (!isInstalled(place)) {
    throw new DeaddropError("refused", `no service of ${handle} is installed for ${wireDir}`, {
      hint: `install and start it: deaddrop service install --wire ${shellWord(wireDir)} --as ${handle}`,
    });
  }
  const asked =
    manager === "systemd"
      ? systemd.runningSteps(place, host, action)
      : launchd.runningSteps(place, host, action);
  const steps = runSteps(asked, options.dryRun);
  return { installed: true, steps, notes: NOTES[action] };
}

const NOTES: Readonly<Record<ServiceAction, readonly string[]>> = {
  start: [],
  restart: [],
  stop: ["it starts again at the next login; to keep it from that: deaddrop service uninstall"],
};

export function serviceStatus(place: ServicePlace, host: Host): ServiceStatus {
  switch (managerOf(place, host)) {
    case "systemd":
      return systemdStatus(place, host);
    case "launchd":
      return launchdStatus(place, host);
    case "none":
      return {
        service: "none",
        installed: false,
        running: false,
        pid: null,
        restarts: null,
        last_exit_code: null,
        detail: withoutManager(place).join("\n"),
      };
  }
}

/** The command that shows the daemon's log; undefined where nothing keeps one. */
export function serviceLogs(
  place: ServicePlace,
  host: Host,
  options: { readonly lines: number; readonly follow: boolean },
): Argv | undefined {
  const lines = String(options.lines);
  const manager = managerOf(place, host);
  // A daemon that was started with --detach logs to a file of its own.
  const isDetached = !isInstalled(place) && existsSync(place.agent.daemonLog);
  if (manager === "none" && !isDetached) return undefined;
  if (manager === "systemd" && !isDetached) {
    const args = ["--user", `--unit=${systemd.unitOf(place)}`, `--lines=${lines}`, "--output=cat"];
    return { command: "journalctl", args: options.follow ? [...args, "--follow"] : args };
  }
  // -F, not -f: it goes on after the log has been rotated.
  const follow = options.follow ? ["-F"] : [];
  return {
    command: "tail",
    args: ["-n", lines, ...follow, isDetached ? place.agent.daemonLog : launchd.logPath(place)],
  };
}

function isInstalled({ places, agent }: ServicePlace): boolean {
  return installedInstances(places).some(
    (each) => each.wire === agent.wireKey && each.handle === agent.handle,
  );
}

function managerOf(place: ServicePlace, host: Host): Manager {
  if (place.platform === "darwin") return "launchd";
  return place.platform === "linux" && systemd.managerAnswers(host) ? "systemd" : "none";
}

function withoutManager(place: ServicePlace): string[] {
  const why =
    place.platform === "linux"
      ? "no systemd user manager answers here (a container, or a session without one)"
      : `services are installed on Linux and macOS, not on ${place.platform}`;
  const { wireDir, handle } = place.agent;
  return [
    why,
    `run it in the background: deaddrop daemon --detach --wire ${shellWord(wireDir)} --as ${handle}`,
    "that does not survive a restart of the machine; a supervisor of your own does, with the last command",
    `run it in the foreground: ${foregroundCommand(place)}`,
  ];
}

function lingerNotes(place: ServicePlace, host: Host, options: InstallOptions): string[] {
  if (options.linger || systemd.lingers(place, host) === true) return [];
  return [
    "the service ends when you log out, and starts when you log in again",
    `to keep it running without a login: loginctl enable-linger ${place.user}`,
  ];
}

function systemdStatus(place: ServicePlace, host: Host): ServiceStatus {
  const wanted =
    "LoadState,ActiveState,SubState,MainPID,NRestarts,ExecMainStatus,StatusText,UnitFileState";
  const answer = host("systemctl", [
    "--user",
    "show",
    systemd.unitOf(place),
    `--property=${wanted}`,
  ]);
  const facts = new Map(
    answer.stdout.split("\n").map((line): [string, string] => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  const number = (name: string): number | null => {
    const value = Number.parseInt(facts.get(name) ?? "", 10);
    return Number.isNaN(value) ? null : value;
  };
  const state = `${facts.get("ActiveState") ?? "unknown"} (${facts.get("SubState") ?? "unknown"})`;
  return {
    service: systemd.unitOf(place),
    installed: facts.get("UnitFileState") === "enabled",
    running: facts.get("ActiveState") === "active",
    pid: number("MainPID") || null,
    restarts: number("NRestarts"),
    last_exit_code: number("ExecMainStatus"),
    detail: facts.get("StatusText") || state,
  };
}

function launchdStatus(place: ServicePlace, host: Host): ServiceStatus {
  const answer = host("launchctl", ["print", launchd.targetOf(place)]);
  const fact = (name: string): string | undefined =>
    new RegExp(`^\\s*${name} = (.+)$`, "m").exec(answer.stdout)?.[1];
  const number = (name: string): number | null => {
    const value = Number.parseInt(fact(name) ?? "", 10);
    return Number.isNaN(value) ? null : value;
  };
  const runs = number("runs");
  return {
    service: launchd.labelOf(place),
    installed: answer.status === 0,
    running: fact("state") === "running",
    pid: number("pid"),
    restarts: runs === null ? null : Math.max(0, runs - 1),
    last_exit_code: number("last exit code"),
    detail: fact("state") ?? "not loaded",
  };
}
