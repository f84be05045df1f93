import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Step } from "../../setup/steps.ts";
import {
  attemptStep,
  commandStep,
  environmentFile,
  type Host,
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
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

export function labelOf(place: ServicePlace): string {
  return `dev.deaddrop.daemon.${place.agent.wireKey}.${place.agent.handle}`;
}

/** launchd's standard output and error go here; the daemon keeps it small. Spec 8.6. */
export function logPath(place: ServicePlace): string {
  return join(place.home, "Library", "Logs", "deaddrop", `${labelOf(place)}.log`);
}

/** launchctl's name of the service: `gui/<uid>/<label>`. */
export function targetOf(place: ServicePlace): string {
  return `gui/${place.uid}/${labelOf(place)}`;
}

export function installSteps(place: ServicePlace, host: Host): Step[] {
  const plist = plistPath(place);
  return [
    {
      what: `make ${dirname(logPath(place))}`,
      needed: () => true,
      run: () => mkdirSync(dirname(logPath(place)), { recursive: true, mode: PRIVATE_FOLDER }),
    },
    writeStep(plist, plistText(place), 0o644),
    writeStep(
      recordPath(place.places, instanceOf(place.agent)),
      environmentFile(serviceEnvironment(place)),
      PRIVATE_FILE,
    ),
    ...loadSteps(place, host),
  ];
}

/** Bootstrap refuses what is loaded already, and a changed plist is read only then. */
function loadSteps(place: ServicePlace, host: Host): Step[] {
  const hint = `look at what it said: ${logPath(place)}`;
  const bootstrap = ["bootstrap", `gui/${place.uid}`, plistPath(place)];
  return [
    attemptStep(host, "launchctl", ["bootout", targetOf(place)]),
    attemptStep(host, "launchctl", ["enable", targetOf(place)]),
    commandStep(host, "launchctl", bootstrap, hint),
  ];
}

/** It is installed. What is stopped is loaded again at the next login. */
export function runningSteps(place: ServicePlace, host: Host, action: ServiceAction): Step[] {
  const target = targetOf(place);
  const isLoaded = host("launchctl", ["print", target]).status === 0;
  if (action === "stop")
    return isLoaded ? [attemptStep(host, "launchctl", ["bootout", target])] : [];
  if (action === "restart" || !isLoaded) return loadSteps(place, host);
  const hint = `look at what it said: ${logPath(place)}`;
  return [commandStep(host, "launchctl", ["kickstart", target], hint)];
}

export function uninstallSteps(place: ServicePlace, host: Host): Step[] {
  return [
    attemptStep(host, "launchctl", ["bootout", targetOf(place)]),
    removeStep(plistPath(place)),
    removeStep(recordPath(place.places, instanceOf(place.agent))),
  ];
}

function plistPath(place: ServicePlace): string {
  return join(place.home, "Library", "LaunchAgents", `${labelOf(place)}.plist`);
}

function plistText(place: ServicePlace): string {
  const environment = {
    ...serviceEnvironment(place),
    DEADDROP_SUPERVISOR: "launchd",
    DEADDROP_LOG_FILE: logPath(place),
  };
  const words: Readonly<Record<string, string>> = {
    LABEL: xml(labelOf(place)),
    NODE: xml(place.node),
    OPTIONS: place.nodeOptions.map((option) => `<string>${xml(option)}</string>\n      `).join(""),
    PROGRAM: xml(place.program),
    HOME: xml(place.home),
    LOG: xml(logPath(place)),
    ENVIRONMENT: Object.entries(environment)
      .map(([name, value]) => `<key>${name}</key>\n      <string>${xml(value)}</string>`)
      .join("\n      "),
  };
  return template(place, "launchd", "dev.deaddrop.daemon.plist").replaceAll(
    /@([A-Z]+)@/g,
    (word, name: string) => words[name] ?? word,
  );
}

function xml(text: string): string {
  return refuseControls(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
