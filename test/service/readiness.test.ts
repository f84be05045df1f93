import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../src/agent/session/world.ts";
import { rotateLog } from "../../src/daemon/calendar/scheduled-tasks.ts";
import {
  type Launch,
  makeServiceManager,
  supervisedExitCode,
} from "../../src/daemon/service-manager.ts";

const unexpected = (error: Error): void => {
  throw error;
};

function recorder(): { launch: Launch; said: string[] } {
  const said: string[] = [];
  return { said, launch: (command, args) => said.push([command, ...args].join(" ")) };
}

test("every word goes through a systemd-notify that stays until it has been read", () => {
  const { launch, said } = recorder();
  const env = { NOTIFY_SOCKET: "/run/n", WATCHDOG_USEC: "120000000", WATCHDOG_PID: "42" };
  const manager = makeServiceManager(env, 42, unexpected, launch);
  manager.ready("2 peers\nonline");
  manager.alive();
  manager.stopping();
  expect(said).toEqual([
    "systemd-notify READY=1 STATUS=2 peers online",
    "systemd-notify WATCHDOG=1",
    "systemd-notify STOPPING=1",
  ]);
  expect(manager.watchdogEveryMs).toBe(60_000);
});

test("without a service manager nothing is started", () => {
  const { launch, said } = recorder();
  const manager = makeServiceManager({ WATCHDOG_USEC: "1000000" }, 42, unexpected, launch);
  manager.ready("");
  manager.alive();
  manager.stopping();
  expect(said).toEqual([]);
  expect(manager.watchdogEveryMs).toBeUndefined();
});

test.for([
  ["meant for another process", { WATCHDOG_USEC: "1000000", WATCHDOG_PID: "43" }],
  ["no number", { WATCHDOG_USEC: "soon" }],
  ["absent", {}],
] as const)("no watchdog when its time is %s", ([, env]) => {
  const { launch } = recorder();
  const manager = makeServiceManager({ NOTIFY_SOCKET: "/run/n", ...env }, 42, unexpected, launch);
  expect(manager.watchdogEveryMs).toBeUndefined();
});

test("trouble with systemd-notify is told once", () => {
  const troubles: string[] = [];
  const launch: Launch = (_command, _args, failed) => {
    failed(new Error("spawn systemd-notify ENOENT"));
  };
  const env = { NOTIFY_SOCKET: "/run/n" };
  const manager = makeServiceManager(env, 42, (error) => troubles.push(error.message), launch);
  manager.ready("");
  manager.alive();
  expect(troubles).toEqual(["spawn systemd-notify ENOENT"]);
});

test("under launchd, what a restart cannot fix ends as success", () => {
  const launchd = { DEADDROP_SUPERVISOR: "launchd" };
  expect([0, 1, 2, 4, 5, 6, 70].map((code) => supervisedExitCode(code, launchd))).toEqual([
    0, 0, 0, 0, 0, 6, 70,
  ]);
  expect([0, 2, 5, 70].map((code) => supervisedExitCode(code, {}))).toEqual([0, 2, 5, 70]);
});

test("a log rotates past its limit, in place, and the oldest goes", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-log-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, "daemon.log");
  rotateLog(path, silentLogger, 3, 2);
  expect(readdirSync(folder)).toEqual([]);
  for (const text of ["one!", "two!", "three"]) {
    writeFileSync(path, text, { flag: "a" });
    const { ino } = statSync(path);
    rotateLog(path, silentLogger, 3, 2);
    expect(statSync(path)).toMatchObject({ ino, size: 0 });
  }
  expect(readdirSync(folder).toSorted()).toEqual(["daemon.log", "daemon.log.1", "daemon.log.2"]);
  expect(readFileSync(`${path}.1`, "utf8")).toBe("three");
  expect(readFileSync(`${path}.2`, "utf8")).toBe("two!");
  writeFileSync(path, "abc");
  rotateLog(path, silentLogger, 3, 2);
  expect(readFileSync(path, "utf8")).toBe("abc");
});
