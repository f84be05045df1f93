import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reachSession } from "../../../src/daemon/sessions/wakers.ts";
import { until } from "../../support/processes/real-processes.ts";

// How a turn of Codex is begun: by a pane of a real tmux, or by its queue, of which a script keeps what
// it was asked.

const WHY_NOT = spawnSync("tmux", ["-V"]).status === 0 ? undefined : "tmux is not installed here";
const TEXT = "forge has 1 unread message";
const HINT = "\\033[1m› \\033[0m\\033[2mAsk Codex to do anything\\033[0m";
const DRAFT = "\\033[1m› \\033[0ma draft of mine";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-turn-"));
  mkdirSync(threads(), { recursive: true });
  writeFileSync(join(threads(), "01a1"), "");
});
afterEach(() => {
  spawnSync("tmux", ["-S", server(), "kill-server"]);
  rmSync(folder, { recursive: true, force: true });
});

const home = () => join(folder, "home");
/** Where the terminals of Codex leave a file for each thread that they begin. */
const threads = () => join(home(), "tui-thread-reference-capabilities");
const server = () => join(folder, "tmux");
const textOf = (name: string) =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "";

/** A program that is asked to queue something; `code`: how it ends. */
function queueing(code = 0): string {
  const path = join(folder, "codex");
  const asked = join(folder, "queued");
  writeFileSync(path, `#!/bin/sh\necho "$CODEX_HOME" "$@" >> ${asked}\nexit ${code}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A terminal that shows that prompt, and takes a line. */
async function paneWith(prompt: string) {
  const script = `printf '${prompt}'; touch ${folder}/shown; read -r line; echo "$line" > ${folder}/typed`;
  const tmux = (...args: readonly string[]) =>
    execFileSync("tmux", ["-S", server(), "-f", "/dev/null", ...args], { encoding: "utf8" });
  tmux("new-session", "-d", "sh", "-c", script);
  await until("it shows its prompt", () => tmux("capture-pane", "-p").includes("›"));
  return { server: server(), pane: "%0" };
}

function begin(program: string, keys?: { readonly server: string; readonly pane: string }) {
  const thread = { home: home(), newest: "01a1", namedAt: "0 99999999999" };
  const way = { by: "codex", program, ...thread, terminals: [], keys } as const;
  return reachSession(way, { tool: "codex", session: "s-1" }, TEXT);
}

const queued = () => `${home()} queue --thread s-1 --message ${TEXT}\n`;

test("an empty prompt gets keys, and nothing is queued", async ({ skip }) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  expect(await begin(queueing(), await paneWith(HINT))).toBe(true);
  await until("it was typed", () => textOf("typed") === `${TEXT}\n`);
  expect(textOf("queued")).toBe("");
});

test("behind a draft, in a pane that has gone, or without one it is queued", async ({ skip }) => {
  skip(WHY_NOT !== undefined, WHY_NOT);
  const program = queueing();
  expect(await begin(program, await paneWith(DRAFT))).toBe(true);
  expect([textOf("typed"), textOf("queued")]).toEqual(["", queued()]);
  expect(await begin(program, { server: server(), pane: "%7" })).toBe(true);
  expect(await begin(program)).toBe(true);
  expect(textOf("queued")).toBe(queued().repeat(3));
});

test("nothing is queued for a thread behind a younger one, or when that cannot be told", async ({
  skip,
}) => {
  const program = queueing();
  writeFileSync(join(threads(), "01a0"), "");
  expect(await begin(program)).toBe(true);
  expect(textOf("queued")).toBe(queued());
  writeFileSync(join(threads(), "01a2"), "");
  expect(await begin(program)).toBe(false);
  rmSync(threads(), { recursive: true });
  expect(await begin(program)).toBe(false);
  expect(textOf("queued")).toBe(queued());
  skip(WHY_NOT !== undefined, WHY_NOT);
  expect(await begin(program, await paneWith(HINT))).toBe(true);
  await until("it was typed", () => textOf("typed") === `${TEXT}\n`);
});

test("a program that fails, or is not there, has reached nobody", async () => {
  expect(await begin(queueing(1))).toBe(false);
  expect(await begin(join(folder, "none"))).toBe(false);
});
