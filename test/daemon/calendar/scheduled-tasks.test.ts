import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent } from "../../../src/agent/agent.ts";
import { scheduleTasks } from "../../../src/daemon/calendar/scheduled-tasks.ts";

const PAST_LIMIT = Buffer.alloc(10 * 1024 * 1024 + 1);

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-tasks-"));
  path = join(folder, "daemon.log");
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function start(env: NodeJS.ProcessEnv) {
  const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const agent = { place: { store: { peers: new Map() } } } as unknown as Agent;
  const work = { newDay: vi.fn(async () => {}), night: vi.fn(async () => {}) };
  return { log, work, tasks: scheduleTasks(agent, log, env, work) };
}

describe("under launchd", () => {
  const launchd = () => ({ DEADDROP_SUPERVISOR: "launchd", DEADDROP_LOG_FILE: path });

  test("the log rotates when the daemon starts, then every minute, until it stops", async () => {
    writeFileSync(path, PAST_LIMIT);
    const { tasks } = start(launchd());
    expect(readdirSync(folder).toSorted()).toEqual(["daemon.log", "daemon.log.1"]);
    expect(statSync(path).size).toBe(0);

    writeFileSync(path, PAST_LIMIT);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(readdirSync(folder)).toContain("daemon.log.2");
    expect(statSync(path).size).toBe(0);

    tasks.stop();
    writeFileSync(path, PAST_LIMIT);
    await vi.advanceTimersByTimeAsync(121_000);
    expect(statSync(path).size).toBe(PAST_LIMIT.length);
  });

  test("a log that cannot be rotated is told and stops nothing", () => {
    writeFileSync(path, PAST_LIMIT);
    // A folder where the oldest log goes.
    writeFileSync(`${path}.4`, "old\n");
    mkdirSync(`${path}.5`);
    const { log, tasks } = start(launchd());
    expect(log.warn).toHaveBeenCalledWith(
      { detail: expect.stringContaining("EISDIR") },
      "the log file could not be rotated",
    );
    tasks.stop();
  });
});

test("a new day and each night have their work, in UTC", async () => {
  vi.setSystemTime(Date.parse("2026-12-31T23:59:30Z"));
  const { work, tasks } = start({});
  await vi.advanceTimersByTimeAsync(3 * 60_000);
  expect(work.newDay).toHaveBeenCalledTimes(1);
  expect(work.night).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(4 * 3_600_000);
  expect(work.night).toHaveBeenCalledTimes(1);
  tasks.stop();
  await vi.advanceTimersByTimeAsync(24 * 3_600_000);
  expect(work.newDay).toHaveBeenCalledTimes(1);
});
