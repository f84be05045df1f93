import { dirname, join } from "node:path";
import { pathInside } from "../../setup/guard/repository.ts";
import type { Step } from "../../setup/steps.ts";
import { programFolder } from "../../storage/paths.ts";
import {
  attemptStep,
  commandStep,
  environmentFile,
  type Host,
  installedInstances,
  instanceOf,
  recordPath,
  refuseControls,
  removeStep,
  type ServiceAction,
  serviceEnvironment,
  type ServicePlace,
  template,
  writeStep,
} from "./service-place.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

const UNIT = "deaddrop@.service";

export function unitOf(place: ServicePlace): string {
  return `deaddrop@${instanceOf(place.agent)}.service`;
}

/** False where no user manager answers: containers, WSL without systemd, `su` without a session. */
export function managerAnswers(host: Host): boolean {
  return host("systemctl", ["--user", "show-environment"]).status === 0;
}

export function installSteps(place: ServicePlace, host: Host): Step[] {
  const { folder, dropIn } = unitFiles(place);
  const instance = instanceOf(place.agent);
  const hint = `look at what it said: journalctl --user --unit=${unitOf(place)}`;
  return [
    writeStep(join(folder, UNIT), unitText(place), 0o644),
    writeStep(join(dropIn, "paths.conf"), dropInText(place), 0o644),
    writeStep(
      recordPath(place.places, instance),
      environmentFile(serviceEnvironment(place)),
      PRIVATE_FILE,
    ),
    commandStep(host, "systemctl", ["--user", "daemon-reload"], hint),
    commandStep(host, "systemctl", ["--user", "enable", unitOf(place)], hint),
    // Also when it runs already: an upgrade or another wire path takes effect at once.
    commandStep(host, "systemctl", ["--user", "restart", unitOf(place)], hint),
  ];
}

export function uninstallSteps(place: ServicePlace, host: Host): Step[] {
  const { folder, dropIn } = unitFiles(place);
  const instance = instanceOf(place.agent);
  const others = installedInstances(place.places).filter(
    ({ wire, handle }) => `${wire}:${handle}` !== instance,
  );
  return [
    attemptStep(host, "systemctl", ["--user", "disable", "--now", unitOf(place)]),
    removeStep(dropIn),
    removeStep(recordPath(place.places, instance)),
    ...(others.length === 0 ? [removeStep(join(folder, UNIT))] : []),
    attemptStep(host, "systemctl", ["--user", "daemon-reload"]),
    attemptStep(host, "systemctl", ["--user", "reset-failed", unitOf(place)]),
  ];
}

/** It is installed. A unit that failed too often is started again as if it had not. */
export function runningSteps(place: ServicePlace, host: Host, action: ServiceAction): Step[] {
  const hint = `look at what it said: journalctl --user --unit=${unitOf(place)}`;
  const act = commandStep(host, "systemctl", ["--user", action, unitOf(place)], hint);
  if (action === "stop") return [act];
  return [attemptStep(host, "systemctl", ["--user", "reset-failed", unitOf(place)]), act];
}

/** Does the service end when the user logs out? Undefined: logind does not say. */
export function lingers(place: ServicePlace, host: Host): boolean | undefined {
  const answer = host("loginctl", ["show-user", place.user, "--property=Linger", "--value"]);
  if (answer.status !== 0) return undefined;
  return answer.stdout.trim() === "yes";
}

export function lingerStep(place: ServicePlace, host: Host): Step {
  return {
    ...commandStep(
      host,
      "loginctl",
      ["enable-linger", place.user],
      "ask an administrator of this host to run it",
    ),
    needed: () => lingers(place, host) !== true,
  };
}

function unitFiles(place: ServicePlace): { folder: string; dropIn: string } {
  const folder = join(place.places.configHome, "systemd", "user");
  return { folder, dropIn: join(folder, `${unitOf(place)}.d`) };
}

/** The shipped unit with absolute paths: what the service runs must not depend on anyone's PATH. */
function unitText(place: ServicePlace): string {
  const records = dirname(recordPath(place.places, instanceOf(place.agent)));
  const daemon = command([place.node, ...place.nodeOptions, place.program, "daemon"]);
  return template(place, "systemd", UNIT)
    .replace(/^ExecStart=.*$/m, () => `ExecStart=${daemon}`)
    .replace(/^EnvironmentFile=.*$/m, () => `EnvironmentFile=${specifier(records)}/%i.env`);
}

/** What this instance may write; everything else is read-only to it. @internal */
export function dropInText(place: ServicePlace): string {
  const { places, agent } = place;
  const writable = [agent.wireDir, programFolder(places), dirname(dirname(agent.stateDir))];
  const lines = ["[Service]", ...writable.map((path) => `ReadWritePaths=${quoted(`-${path}`)}`)];
  const seen = [...writable, place.node, place.program];
  const isIn = (folder: string) => seen.some((path) => pathInside(folder, path) !== undefined);
  if (isIn("/tmp") || isIn("/var/tmp")) {
    lines.push(
      "# This instance works below /tmp, which a private /tmp would hide.",
      "PrivateTmp=no",
    );
  }
  return `${lines.join("\n")}\n`;
}

/** The `:` keeps systemd from putting variables in place of `$`. */
function command(words: readonly string[]): string {
  return words.map((word, index) => quoted(index === 0 ? `:${word}` : word)).join(" ");
}

function quoted(word: string): string {
  return `"${specifier(word).replaceAll(/["\\]/g, "\\$&")}"`;
}

function specifier(text: string): string {
  return refuseControls(text).replaceAll("%", "%%");
}
