import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Runs the usual commands and the hook once, on a wire of its own, and keeps what V8 has compiled for them
 * beside the files that they were read from. It fits the Node.js that made it.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const BIN = join(ROOT, "bin", "deaddrop.js");
const HOOK_CACHE = join(ROOT, "build", "hook-cache.js");
const AT = ["--wire", "wire", "--as", "forge"];

const home = mkdtempSync(join(tmpdir(), "deaddrop-build-"));
const env = { PATH: process.env.PATH, HOME: home };
const { main, load, scripts } = createRequire(import.meta.url)("../bin/commands.js").openCommands(
  join(ROOT, "."),
);

async function run(...args) {
  let said = "";
  const screen = { value: { write: (text) => (said += text) } };
  const cli = Object.create(load("dist/cli/context.js").processCli(), {
    env: { value: env },
    cwd: { value: home },
    stdin: { value: (async function* nothing() {})() },
    stdout: screen,
    stderr: screen,
    exitCode: { value: 0, writable: true },
  });
  const code = await main(args, cli);
  if (code !== 0) throw new Error(`deaddrop ${args.join(" ")} ended with ${code}: ${said}`);
}

async function startDaemon() {
  const args = [BIN, "daemon", ...AT];
  const daemon = spawn(process.execPath, args, {
    cwd: home,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const text of daemon.stdout.setEncoding("utf8")) {
    said += text;
    if (said.includes('"the daemon runs"')) break;
  }
  if (daemon.exitCode !== null) throw new Error(`the daemon ended: ${said}`);
  return daemon;
}

/** It ends its process, so it has one of its own. */
function runHook(...args) {
  const event = { hook_event_name: "UserPromptSubmit", session_id: "build" };
  execFileSync(process.execPath, [HOOK_CACHE, ...args], {
    cwd: home,
    env,
    input: JSON.stringify(event),
  });
}

/** Written at once: what later commands compile would make it larger for all of them. */
function keep(name) {
  const path = join(ROOT, "dist", "commands", `${name}.js`);
  writeFileSync(`${path}.new`, scripts.get(name).createCachedData());
  // Whole or not there: a command may be reading it just now.
  renameSync(`${path}.new`, `${path}.cache`);
}

async function runTheFrequent() {
  const daemon = await startDaemon();
  try {
    await run("send", ...AT, "subject", "body");
    await run("inbox", ...AT);
    await run("status", ...AT);
    runHook("claude", ...AT);
  } finally {
    daemon.kill();
    await once(daemon, "exit");
  }
}

const pair = ["--local-pair", "--me", "forge", "--peer", "scribe", "--wire", "wire"];
try {
  execFileSync(process.execPath, [BIN, "init", ...pair], { cwd: home, env });
  await runTheFrequent();
  keep("first");
  await run("send", ...AT, "without a daemon");
  await run("inbox", ...AT);
  await run("help");
  keep("rest");
} finally {
  rmSync(home, { recursive: true, force: true });
}
