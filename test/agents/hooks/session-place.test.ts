import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { codexPlace, sessionPlace } from "../../../src/agents/hooks/session-place.ts";
import {
  MOMENTS,
  TOOLS,
  type Moment,
  type SessionProcess,
} from "../../../src/api/tool-sessions.ts";
import { listedProcess, sessionOwner } from "../../../src/daemon/sessions/session-process.ts";
import { killChildren, start, until } from "../../support/processes/real-processes.ts";

// Where a session is, told by processes; these are real ones, in terminals of tmux where they have one.

let folder = "";
const home = process.cwd();
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-place-")));
  for (const name of ["here", "elsewhere"]) mkdirSync(join(folder, name));
  process.chdir(join(folder, "here"));
});
afterEach(async () => {
  process.chdir(home);
  // It may have ended, or never been there.
  spawnSync("tmux", ["-S", join(folder, "tmux"), "kill-server"]);
  await killChildren();
  rmSync(folder, { recursive: true, force: true });
});

const self = { pid: process.pid, started: listedProcess(process.pid)?.started ?? "" };
const TERMINAL = { TMUX: "/tmp/tmux-0/default,123,0", TMUX_PANE: "%4" };
const PANE = { server: "/tmp/tmux-0/default", pane: "%4" };
const WRITTEN: readonly Moment[] = ["start", "resume", "prompt"];

/** A program that waits, by the name that Codex has. */
function codexProgram(): string {
  const program = join(folder, "codex");
  if (!existsSync(program)) copyFileSync(realpathSync("/bin/sh"), program);
  return program;
}

const WHY_NOT = spawnSync("tmux", ["-V"]).status === 0 ? undefined : "tmux is not installed here";
const SCRIPT = 'echo "$$" > "$1"; read -r line';

async function ownerIn(file: string): Promise<SessionProcess> {
  await until("it runs", () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  const owner = sessionOwner(Number(readFileSync(file, "utf8")));
  if (owner === undefined) throw new Error("it has no owner");
  return owner;
}

let count = 0;

/** Codex without a terminal, with that word among its arguments. */
function hidden(word: string): Promise<SessionProcess> {
  const file = join(folder, `${(count += 1)}`);
  start(codexProgram(), ["-c", SCRIPT, "codex", file, word], { env: process.env });
  return ownerIn(file);
}

function tmux(...args: readonly string[]): void {
  execFileSync("tmux", ["-S", join(folder, "tmux"), "-f", "/dev/null", ...args]);
}

/** Codex in a terminal of its own. */
function shown(at: "here" | "elsewhere", ...words: readonly string[]): Promise<SessionProcess> {
  const file = join(folder, `${(count += 1)}`);
  const command = [codexProgram(), "-c", SCRIPT, "codex", file, ...words];
  tmux("new-session", "-d", "-c", join(folder, at), ...command);
  return ownerIn(file);
}

function place(owner: SessionProcess | undefined, moment: Moment = "prompt", env = {}) {
  return codexPlace(owner, { moment, env, keys: PANE });
}

const NOWHERE = { process: undefined, wake: undefined };

describe("a session of a tool that is not Codex", () => {
  test("is woken through its pane, unless the tool has a way of its own", () => {
    const tools = TOOLS.filter((tool) => tool !== "codex");
    const ways = tools.map((tool) => [tool, sessionPlace(tool, "call", TERMINAL).wake]);
    const pane = { by: "tmux", ...PANE };
    expect(Object.fromEntries(ways)).toEqual({
      claude: undefined,
      opencode: undefined,
      kilo: undefined,
      pi: undefined,
      cline: undefined,
      gemini: pane,
      copilot: pane,
      qwen: undefined,
    });
    const inbox = { QWEN_CODE_MESSAGING_SOCKET: "/run/7.sock", QWEN_CODE_MESSAGING_TOKEN: "0a" };
    const { wake } = sessionPlace("qwen", "call", { ...TERMINAL, ...inbox });
    expect(wake).toEqual({ by: "qwen", socket: "/run/7.sock", token: "0a" });
    for (const tool of tools) {
      expect(sessionPlace(tool, "call", {}).process).toEqual(sessionOwner());
    }
  });

  test.each([
    {},
    { TMUX: "/tmp/tmux-0/default,123,0" },
    { TMUX_PANE: "%4" },
    { TMUX: "", TMUX_PANE: "%4" },
  ])("has no pane outside of tmux: %j", (outside) => {
    for (const tool of TOOLS) expect(sessionPlace(tool, "prompt", outside).wake).toBeUndefined();
  });
});

describe("a session of Codex", () => {
  test("alone is in the terminal of its process, and on its screen when its person has just written", async ({
    skip,
  }) => {
    skip(WHY_NOT !== undefined, WHY_NOT);
    const owner = await shown("elsewhere");
    const way = { by: "codex", program: codexProgram(), terminals: [owner], keys: PANE };
    const codexHome = join(folder, "codex-home");
    const threads = join(codexHome, "tui-thread-reference-capabilities");
    mkdirSync(threads, { recursive: true });
    for (const thread of ["01a3", "01a1"]) writeFileSync(join(threads, thread), "");
    for (const moment of MOMENTS) {
      const { process: itsOwn, wake } = place(owner, moment, { CODEX_HOME: codexHome });
      const seen = { ...way, home: codexHome, newest: "01a3", namedAt: self.started };
      expect([itsOwn, wake]).toEqual([owner, WRITTEN.includes(moment) ? seen : undefined]);
    }
    expect(place(owner).wake).toMatchObject({ ...way, home: undefined });
  });

  test("without a terminal is not woken, and one that cannot be looked at neither", async () => {
    for (const word of ["exec", "mcp-server", "queue"]) {
      const owner = await hidden(word);
      expect(place(owner)).toEqual({ process: owner, wake: undefined });
    }
    expect(place(self)).toEqual({ process: self, wake: undefined });
    expect(place(undefined)).toEqual(NOWHERE);
    expect(sessionPlace("codex", "prompt", TERMINAL).wake).toBeUndefined();
  });

  test("in the background is in the one terminal in its folder, when its person has just written", async ({
    skip,
  }) => {
    skip(WHY_NOT !== undefined, WHY_NOT);
    const background = await hidden("app-server");
    expect(place(background)).toEqual(NOWHERE);
    await shown("elsewhere");
    await shown("here", "exec");
    await hidden("no words of Codex");
    expect(place(background)).toEqual(NOWHERE);
    const terminal = await shown("here");
    for (const moment of MOMENTS) {
      const way = { by: "codex", program: codexProgram(), home: undefined, keys: undefined };
      const seen = { process: terminal, wake: { ...way, terminals: [terminal] } };
      expect(place(background, moment)).toMatchObject(WRITTEN.includes(moment) ? seen : NOWHERE);
    }
  });

  test("in the background may be in each of several terminals, and belongs to none", async ({
    skip,
  }) => {
    skip(WHY_NOT !== undefined, WHY_NOT);
    const background = await hidden("app-server");
    const both = [await shown("here"), await shown("here")];
    const { process: itsOwn, wake } = place(background);
    expect(itsOwn).toBeUndefined();
    const terminals = wake?.by === "codex" ? wake.terminals : [];
    expect(new Set(terminals)).toEqual(new Set(both));
  });
});
