import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  installService,
  runService,
  serviceLogs,
  serviceStatus,
  uninstallService,
} from "../../src/cli/service/install-service.ts";
import { checkout, fakeHost, makePlace, missing } from "./place.ts";

const noPython = missing("python3", "--version");
const LABEL = "dev.deaddrop.daemon.7c3a91e2b4d05f16.forge";
const quiet = { dryRun: false, linger: false };

/** Python's plistlib refuses malformed files, which npm's and libplist's readers do not. */
function readPlist(path: string): Record<string, unknown> {
  const script =
    "import json,plistlib,sys; print(json.dumps(plistlib.load(open(sys.argv[1],'rb'))))";
  const run = spawnSync("python3", ["-c", script, path], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as Record<string, unknown>;
}

test("the shipped plist is well formed: again on failure only, never in a hurry", ({ skip }) => {
  skip(noPython !== undefined, noPython);
  const plist = readPlist(join(checkout, "launchd/dev.deaddrop.daemon.plist"));
  expect(plist["KeepAlive"]).toEqual({ SuccessfulExit: false });
  expect(plist["ThrottleInterval"]).toBe(30);
  expect(plist["Umask"]).toBe(0o077);
});

test("the installed plist holds absolute paths, whatever signs they contain", ({ skip }) => {
  skip(noPython !== undefined, noPython);
  const place = makePlace("darwin", { wire: 'R&D <"wire"> @NODE@ $& 50%', home: "a home & more" });
  const { host, asked } = fakeHost();
  const report = installService(place, host, quiet);
  expect(report.installed).toBe(true);
  const path = join(place.home, "Library/LaunchAgents", `${LABEL}.plist`);
  const log = join(place.home, "Library/Logs/deaddrop", `${LABEL}.log`);
  expect(readPlist(path)).toMatchObject({
    Label: LABEL,
    ProgramArguments: [process.execPath, join(checkout, "bin/deaddrop.js"), "daemon"],
    EnvironmentVariables: {
      DEADDROP_WIRE: place.agent.wireDir,
      DEADDROP_AS: "forge",
      DEADDROP_SUPERVISOR: "launchd",
      DEADDROP_LOG_FILE: log,
      PATH: place.path,
    },
    WorkingDirectory: place.home,
    StandardOutPath: log,
  });
  expect(asked).toEqual([
    `launchctl bootout gui/501/${LABEL}`,
    `launchctl enable gui/501/${LABEL}`,
    `launchctl bootstrap gui/501 ${path}`,
  ]);
});

test("options of Node.js stand before the program in the plist", ({ skip }) => {
  skip(noPython !== undefined, noPython);
  const place = { ...makePlace("darwin"), nodeOptions: ["--disable-sigusr1"] };
  installService(place, fakeHost().host, quiet);
  const path = join(place.home, "Library/LaunchAgents", `${LABEL}.plist`);
  expect(readPlist(path)["ProgramArguments"]).toEqual([
    place.node,
    "--disable-sigusr1",
    place.program,
    "daemon",
  ]);
});

test("no word of the template is left in the installed plist", () => {
  const place = makePlace("darwin");
  installService(place, fakeHost().host, quiet);
  const path = join(place.home, "Library/LaunchAgents", `${LABEL}.plist`);
  const entries = readFileSync(path, "utf8").replaceAll(/<!--[^]*?-->/g, "");
  expect(entries).not.toMatch(/@[A-Z]+@/);
});

test("uninstalling removes what was installed", () => {
  const place = makePlace("darwin");
  const { host } = fakeHost();
  installService(place, host, quiet);
  uninstallService(place, host, { dryRun: false });
  expect(readdirSync(join(place.home, "Library/LaunchAgents"))).toEqual([]);
});

test("status reads launchctl's words", () => {
  const place = makePlace("darwin");
  const { host } = fakeHost({
    "launchctl print": {
      stdout: [
        `gui/501/${LABEL} = {`,
        "\tstate = running",
        "\tpid = 4711",
        "\truns = 3",
        "\tlast exit code = 70",
        "}",
      ].join("\n"),
    },
  });
  expect(serviceStatus(place, host)).toEqual({
    service: LABEL,
    installed: true,
    running: true,
    pid: 4711,
    restarts: 2,
    last_exit_code: 70,
    detail: "running",
  });
  const absent = fakeHost({ "launchctl print": { status: 113, stderr: "Could not find" } });
  expect(serviceStatus(place, absent.host)).toMatchObject({ installed: false, running: false });
  expect(serviceLogs(place, host, { lines: 20, follow: false })).toEqual({
    command: "tail",
    args: ["-n", "20", join(place.home, "Library/Logs/deaddrop", `${LABEL}.log`)],
  });
});

test("on other systems the foreground command is printed", () => {
  const place = makePlace("freebsd");
  const { host, asked } = fakeHost();
  expect(installService(place, host, quiet)).toMatchObject({ installed: false });
  expect(uninstallService(place, host, { dryRun: false }).notes.join()).toContain("freebsd");
  expect(serviceStatus(place, host).detail).toContain("foreground");
  expect(serviceLogs(place, host, { lines: 1, follow: false })).toBeUndefined();
  expect(asked).toEqual([]);
});

test("a path with a line break is refused in words", () => {
  const place = makePlace("darwin", { wire: "a\nb" });
  expect(() => installService(place, fakeHost().host, quiet)).toThrow(/control characters/);
});

test("start, stop and restart of an installed agent, loaded or not", () => {
  const place = makePlace("darwin");
  expect(() => runService(place, fakeHost().host, "start", quiet)).toThrow(
    `no service of forge is installed for ${place.agent.wireDir}`,
  );
  installService(place, fakeHost().host, quiet);
  const path = join(place.home, "Library/LaunchAgents", `${LABEL}.plist`);
  const target = `gui/501/${LABEL}`;
  const load = [
    `launchctl bootout ${target}`,
    `launchctl enable ${target}`,
    `launchctl bootstrap gui/501 ${path}`,
  ];
  const asks = (action: "start" | "stop" | "restart", isLoaded: boolean) => {
    const { host, asked } = fakeHost(isLoaded ? {} : { "launchctl print": { status: 113 } });
    expect(runService(place, host, action, quiet).installed).toBe(true);
    return asked.filter((line) => !line.startsWith("launchctl print"));
  };
  expect(asks("start", true)).toEqual([`launchctl kickstart ${target}`]);
  expect(asks("start", false)).toEqual(load);
  expect(asks("restart", true)).toEqual(load);
  expect(asks("stop", true)).toEqual([`launchctl bootout ${target}`]);
  expect(asks("stop", false)).toEqual([]);
});

test("where no manager answers, start says how to run the daemon in the foreground", () => {
  const place = makePlace("freebsd");
  const { installed, notes } = runService(place, fakeHost().host, "start", quiet);
  expect(installed).toBe(false);
  expect(notes.at(-1)).toMatch(/^run it in the foreground: .* daemon --wire .* --as forge$/);
});
