import { copyFileSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  isAlive,
  listedProcess,
  sessionOwner,
} from "../../../src/daemon/sessions/session-process.ts";
import {
  killChildren,
  start,
  until,
  type Started,
} from "../../support/processes/real-processes.ts";

// Whose session a hook speaks for is told by the processes above it; these are real ones.

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-owner-")));
});
afterEach(async () => {
  await killChildren();
  rmSync(folder, { recursive: true, force: true });
});

const self = { pid: process.pid, started: listedProcess(process.pid)?.started ?? "" };
const { env } = process;

/** A program by that name which waits, with these words after its own arguments. */
async function waiting(name: string, ...words: readonly string[]): Promise<Started> {
  const program = join(folder, name);
  if (!existsSync(program)) copyFileSync(realpathSync("/bin/sh"), program);
  const script = 'echo "$$"; read -r line';
  const started = start(program, ["-c", script, name, ...words], { env });
  await until(`${name} runs`, () => started.stdout() !== "");
  return started;
}

describe("the process that a session belongs to", () => {
  test("is the first one above the hook that is no shell", async () => {
    const shell = await waiting("sh");
    const tool = await waiting("tool");
    expect(sessionOwner(process.pid)).toEqual(self);
    expect(sessionOwner(shell.pid)).toEqual(self);
    expect(sessionOwner(tool.pid)).toMatchObject({ pid: tool.pid });
  });

  test("is none where there is no such process", async () => {
    const { pid, child, ended } = await waiting("tool");
    child.kill("SIGKILL");
    await ended;
    expect(sessionOwner(pid)).toBeUndefined();
  });

  test("is alive until it ends, and a later one with its pid is another", async () => {
    const { pid, child, ended } = await waiting("a (tool) of 7 S words");
    const owner = sessionOwner(pid);
    if (owner === undefined) throw new Error("the process has no owner");
    expect(owner.pid).toBe(pid);
    expect(isAlive(owner)).toBe(true);
    expect(isAlive({ ...owner, started: `${owner.started}0` })).toBe(false);
    child.kill("SIGKILL");
    await ended;
    expect(isAlive(owner)).toBe(false);
  });
});
