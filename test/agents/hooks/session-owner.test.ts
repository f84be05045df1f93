import { copyFileSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sessionOwner, wakeWayOf } from "../../../src/agents/hooks/session-owner.ts";
import { TOOLS } from "../../../src/api/tool-sessions.ts";
import { isAlive, listedProcess } from "../../../src/daemon/sessions/session-process.ts";
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

describe("the way to wake a session", () => {
  const terminal = { TMUX: "/tmp/tmux-0/default,123,0", TMUX_PANE: "%4" };
  const pane = { by: "tmux", server: "/tmp/tmux-0/default", pane: "%4" };

  test("is its pane for tools that have no way of their own", () => {
    const ways = TOOLS.map((tool) => [tool, wakeWayOf(tool, self, terminal)]);
    expect(Object.fromEntries(ways)).toEqual({
      ...{ claude: undefined, opencode: undefined, codex: pane, gemini: pane },
    });
  });

  test.each([
    {},
    { TMUX: "/tmp/tmux-0/default,123,0" },
    { TMUX_PANE: "%4" },
    { TMUX: "", TMUX_PANE: "%4" },
  ])("is none outside of tmux: %j", (outside) => {
    for (const tool of TOOLS) expect(wakeWayOf(tool, self, outside)).toBeUndefined();
    expect(wakeWayOf("gemini", undefined, outside)).toBeUndefined();
  });

  test("is Codex itself while its terminal is open, and never its background process", async () => {
    const program = join(folder, "codex");
    const open = await waiting("codex");
    const owner = sessionOwner(open.pid);
    expect(wakeWayOf("codex", owner, { CODEX_HOME: "/h" })).toEqual({
      ...{ by: "codex", program, home: "/h" },
    });
    expect(wakeWayOf("codex", owner, terminal)).toMatchObject({ by: "codex", home: undefined });
    for (const word of ["app-server", "exec"]) {
      const hidden = sessionOwner((await waiting("codex", word)).pid);
      expect(wakeWayOf("codex", hidden, {})).toBeUndefined();
    }
  });
});
