import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installedInstances, type ServicePlace } from "../../src/cli/service/service-place.ts";
import {
  foregroundCommand,
  installService,
  serviceLogs,
  serviceStatus,
  uninstallService,
} from "../../src/cli/service/install-service.ts";
import { dropInText } from "../../src/cli/service/service-systemd.ts";
import { agentPaths } from "../../src/storage/paths.ts";
import { checkout, fakeHost, makePlace, missing } from "./place.ts";

const SHIPPED = join(checkout, "systemd/deaddrop@.service");
const INSTANCE = "7c3a91e2b4d05f16:forge";
const UNIT = `deaddrop@${INSTANCE}.service`;
const noAnalyze = missing("systemd-analyze", "--version");
const quiet = { dryRun: false, linger: false };

const unitFolder = (place: ServicePlace): string => join(place.places.configHome, "systemd/user");

function analyze(home: string, ...args: readonly string[]): { status: number; output: string } {
  const runtime = join(home, "runtime");
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const run = spawnSync("systemd-analyze", ["--user", ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: home, XDG_RUNTIME_DIR: runtime },
  });
  return { status: run.status ?? -1, output: args[0] === "verify" ? run.stderr : run.stdout };
}

test("the shipped unit: systemd-analyze verify has nothing to say", ({ skip }) => {
  skip(noAnalyze !== undefined, noAnalyze);
  const { home } = makePlace("linux");
  expect(analyze(home, "verify", SHIPPED)).toEqual({ status: 0, output: "" });
});

test("the shipped unit: an exposure of at most 2.0, with network", ({ skip }) => {
  skip(noAnalyze !== undefined, noAnalyze);
  const { home } = makePlace("linux");
  const verdict = analyze(home, "security", "--offline=true", "--threshold=20", SHIPPED);
  expect(verdict.output).toMatch(/Overall exposure level .*: [01]\.\d|: 2\.0/);
  expect(verdict.status).toBe(0);
});

test("the shipped unit: no start is cut off that reads a long history again", () => {
  const lines = readFileSync(SHIPPED, "utf8").split("\n");
  expect(lines).toContain("TimeoutStartSec=infinity");
  expect(lines).toContain("WatchdogSec=600");
});

test("the verdict on the unit can fail: an unknown key is named", ({ skip }) => {
  skip(noAnalyze !== undefined, noAnalyze);
  const place = makePlace("linux");
  const broken = join(place.home, "deaddrop@.service");
  mkdirSync(place.home, { recursive: true });
  const text = readFileSync(SHIPPED, "utf8").replace("WatchdogSec=", "WatchdogSecs=");
  cpSync(SHIPPED, broken);
  spawnSync("sh", ["-c", 'cat > "$0"', broken], { input: text });
  expect(analyze(place.home, "verify", broken).output).toContain("WatchdogSecs");
});

test.for([
  { name: "plain", wire: "_coordination", home: "home" },
  { name: "paths with spaces and signs", wire: `my "wire" 50% $HOME\\x`, home: "a home" },
])("the installed unit is as sound as the shipped one: $name", ({ wire, home }, { skip }) => {
  skip(noAnalyze !== undefined, noAnalyze);
  const place = makePlace("linux", { wire, home, handle: "f-o.r_ge" });
  installService(place, fakeHost().host, quiet);
  // systemd-analyze takes a colon in a file's name for an alias: another instance name here.
  const folder = unitFolder(place);
  cpSync(join(folder, "deaddrop@.service"), join(folder, "deaddrop@i.service"));
  const dropIn = "deaddrop@7c3a91e2b4d05f16:f-o.r_ge.service.d";
  cpSync(join(folder, dropIn), join(folder, "deaddrop@i.service.d"), { recursive: true });
  const unit = join(folder, "deaddrop@i.service");
  expect(analyze(place.home, "verify", unit)).toEqual({ status: 0, output: "" });
});

test("install writes unit, drop-in and environment, then enables and restarts", () => {
  const place = makePlace("linux");
  const { host, asked } = fakeHost({ "loginctl show-user": { stdout: "no\n" } });
  const report = installService(place, host, quiet);
  expect(report.installed).toBe(true);
  expect(asked).toEqual([
    "systemctl --user show-environment",
    "systemctl --user daemon-reload",
    `systemctl --user enable ${UNIT}`,
    `systemctl --user restart ${UNIT}`,
    "loginctl show-user operator --property=Linger --value",
  ]);
  expect(report.notes.join("\n")).toContain("loginctl enable-linger operator");

  const unit = readFileSync(join(unitFolder(place), "deaddrop@.service"), "utf8");
  expect(unit).toContain(`ExecStart=":${process.execPath}" "${checkout}/bin/deaddrop.js" "daemon"`);
  expect(unit).toMatch(/^RestartPreventExitStatus=1 2 4 5$/m);
  expect(unit).toMatch(/^NotifyAccess=all$/m);
  const records = join(place.places.configHome, "inter-agent-deaddrop/.services");
  expect(unit).toContain(`EnvironmentFile=${records}/%i.env\n`);
  const record = join(records, `${INSTANCE}.env`);
  expect(readFileSync(record, "utf8")).toContain(`DEADDROP_WIRE="${place.agent.wireDir}"\n`);
  expect(readFileSync(record, "utf8")).toContain('DEADDROP_AS="forge"\n');
  expect(statSync(record).mode & 0o777).toBe(0o600);
  const dropIn = readFileSync(join(unitFolder(place), `${UNIT}.d/paths.conf`), "utf8");
  expect(dropIn).toContain(`ReadWritePaths="-${place.agent.wireDir}"\n`);
});

test("options of Node.js stand before the program in unit and in the foreground command", () => {
  const place = { ...makePlace("linux"), nodeOptions: ["--disable-sigusr1"] };
  installService(place, fakeHost().host, quiet);
  const unit = readFileSync(join(unitFolder(place), "deaddrop@.service"), "utf8");
  expect(unit).toContain(`"--disable-sigusr1" "${checkout}/bin/deaddrop.js" "daemon"`);
  expect(foregroundCommand(place)).toContain(" --disable-sigusr1 ");
});

test("a wire below /tmp is not hidden by a private /tmp; one elsewhere keeps it private", () => {
  const place = makePlace("linux");
  const places = { configHome: "/srv/c", stateHome: "/srv/s" };
  const at = (wireDir: string, program = "/opt/deaddrop/bin/deaddrop.js"): string => {
    const agent = agentPaths(places, { ...place.agent, wireDir });
    return dropInText({ ...place, places, agent, node: "/usr/bin/node", program });
  };
  expect(at("/srv/wire")).toBe(
    [
      "[Service]",
      'ReadWritePaths="-/srv/wire"',
      'ReadWritePaths="-/srv/c/inter-agent-deaddrop"',
      'ReadWritePaths="-/srv/s/inter-agent-deaddrop"',
      "",
    ].join("\n"),
  );
  expect(at("/tmp/wire")).toContain("PrivateTmp=no\n");
  expect(at("/srv/wire", "/tmp/checkout/bin/deaddrop.js")).toContain("PrivateTmp=no\n");
  expect(at("/tmpfoo/wire")).not.toContain("PrivateTmp");
});

test("installing twice writes nothing twice, and uninstalling leaves nothing", () => {
  const place = makePlace("linux", { wire: `my "wire" 50% $HOME\\x` });
  const { host } = fakeHost();
  installService(place, host, quiet);
  const again = installService(place, host, quiet);
  expect(again.steps.filter(({ step }) => step.startsWith("write")).map((s) => s.outcome)).toEqual([
    "already",
    "already",
    "already",
  ]);
  expect(installedInstances(place.places)).toEqual([
    { handle: "forge", wire: "7c3a91e2b4d05f16", wire_dir: place.agent.wireDir },
  ]);
  uninstallService(place, host, { dryRun: false });
  expect(readdirSync(unitFolder(place))).toEqual([]);
  expect(installedInstances(place.places)).toEqual([]);
  uninstallService(place, host, { dryRun: false });
});

test("the template stays as long as another agent of this user is installed", () => {
  const place = makePlace("linux");
  const { host } = fakeHost();
  installService(place, host, quiet);
  const other = { ...place, agent: { ...place.agent, handle: "scribe" } };
  installService(other, host, quiet);
  uninstallService(place, host, { dryRun: false });
  expect(existsSync(join(unitFolder(place), "deaddrop@.service"))).toBe(true);
  uninstallService(other, host, { dryRun: false });
  expect(existsSync(join(unitFolder(place), "deaddrop@.service"))).toBe(false);
});

test("a dry run names every step and touches nothing", () => {
  const place = makePlace("linux");
  const { host, asked } = fakeHost();
  const report = installService(place, host, { dryRun: true, linger: true });
  expect(report.steps.map(({ outcome }) => outcome)).toEqual(report.steps.map(() => "would"));
  expect(report.steps.map(({ step }) => step).at(-1)).toBe("loginctl enable-linger operator");
  expect(existsSync(place.home)).toBe(false);
  expect(asked.filter((line) => /daemon-reload|enable-linger|restart/.test(line))).toEqual([]);
});

test("without a user manager it prints the foreground command instead", () => {
  const place = makePlace("linux", { wire: "my wire" });
  const { host } = fakeHost({
    "systemctl --user show-environment": { status: 1, stderr: "Failed to connect to bus" },
  });
  const report = installService(place, host, quiet);
  expect(report).toMatchObject({ installed: false, steps: [] });
  expect(report.notes.join("\n")).toContain(
    `daemon --wire '${place.agent.wireDir}' --as ${place.agent.handle}`,
  );
  expect(foregroundCommand(place)).toContain(process.execPath);
});

test("a manager that refuses is quoted, with where to look", () => {
  const place = makePlace("linux");
  const { host } = fakeHost({
    "systemctl --user restart": { status: 1, stderr: "Job failed.\n" },
  });
  expect(() => installService(place, host, quiet)).toThrow(
    expect.objectContaining({
      exitCode: 2,
      message: `systemctl --user restart ${UNIT}: exit code 1: Job failed.`,
      hint: `look at what it said: journalctl --user --unit=${UNIT}`,
    }),
  );
});

test("status and logs", () => {
  const place = makePlace("linux");
  const { host } = fakeHost({
    "systemctl --user show ": {
      stdout: [
        "MainPID=4711",
        "NRestarts=1",
        "ExecMainStatus=0",
        "StatusText=2 peers online",
        "LoadState=loaded",
        "ActiveState=active",
        "SubState=running",
        "UnitFileState=enabled",
        "",
      ].join("\n"),
    },
  });
  expect(serviceStatus(place, host)).toEqual({
    service: UNIT,
    installed: true,
    running: true,
    pid: 4711,
    restarts: 1,
    last_exit_code: 0,
    detail: "2 peers online",
  });
  expect(serviceLogs(place, host, { lines: 50, follow: true })).toEqual({
    command: "journalctl",
    args: ["--user", `--unit=${UNIT}`, "--lines=50", "--output=cat", "--follow"],
  });
});
