import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { eventText, hookArgs } from "../support/processes/hook-processes.ts";
import { makeWire, removeWires } from "../support/processes/live-wire.ts";
import { BIN, start, until } from "../support/processes/real-processes.ts";

afterEach(removeWires);

test("`deaddrop mcp` ends with its client though a wrapper holds its standard input open", async () => {
  const wire = makeWire();
  const place = (name: string) => join(wire.folder, name);
  const [fifo, holder, ended] = [place("in"), place("holder"), place("ended")];
  const server = `"${process.execPath}" "${BIN}" mcp --as forge --wire "${wire.dir}"`;
  const wrapper = `mkfifo ${fifo}; sleep 3600 >${fifo} & echo $! >${holder}; ${server} <${fifo}; echo >${ended}`;
  const client = `require("node:child_process").spawn("sh", ["-c", ${JSON.stringify(wrapper)}])
    .stdout.pipe(process.stdout); setInterval(() => {}, 1000)`;
  const tool = start(process.execPath, ["-e", client], { env: wire.env });
  await until("the wrapper runs", () => existsSync(holder) && readPid(holder) > 0);
  try {
    writeFileSync(fifo, `${JSON.stringify(INITIALIZE)}\n`);
    await until("the server answers", () => tool.stdout().includes("serverInfo"));
    expect(existsSync(ended)).toBe(false);
    tool.child.kill("SIGKILL");
    await until("the server has ended", () => existsSync(ended));
  } finally {
    process.kill(readPid(holder));
  }
});

test("a hook of a session whose wire or folder was removed says so", async () => {
  const wire = makeWire();
  const args = hookArgs(wire, "forge", "claude");
  const input = eventText({ moment: "prompt" });
  const folder = join(wire.folder, "session");
  mkdirSync(folder);
  const inside = [process.execPath, "-e", REMOVES_ITS_FOLDER, folder, ...args] as const;
  const [program, ...rest] = inside;
  const moved = await start(program, rest, { env: wire.env, input }).ended;
  expect(moved.stdout).toContain("the folder of this session no longer exists");
  expect(moved.code).toBe(0);

  rmSync(wire.dir, { recursive: true });
  const gone = await start(process.execPath, args, { env: wire.env, input }).ended;
  expect(gone.stdout).toContain("the wire's folder");
  expect(gone.stdout).toContain("no longer exists");
  expect(gone.code).toBe(0);
});

test("a command in a folder that was removed says so", async () => {
  const wire = makeWire();
  const folder = join(wire.folder, "session");
  mkdirSync(folder);
  const args = ["-e", REMOVES_ITS_FOLDER, folder, BIN, "status"];
  const { code, stderr } = await start(process.execPath, args, { env: wire.env }).ended;
  expect(stderr).toContain("the current folder no longer exists");
  expect(code).toBe(2);
});

const INITIALIZE = {
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: {
    ...{ protocolVersion: "2025-06-18", capabilities: {} },
    clientInfo: { name: "a test", version: "1" },
  },
};

/** Goes into a folder, removes it, and runs our program there. */
const REMOVES_ITS_FOLDER = `
  const [folder, program, ...args] = process.argv.slice(1);
  process.chdir(folder);
  require("node:fs").rmdirSync(folder);
  process.argv.splice(1, Infinity, program, ...args);
  require(program);`;

function readPid(path: string): number {
  return Number(readFileSync(path, "utf8"));
}
