import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runToolHook } from "../../../src/agents/hooks/run-hook.ts";
import { daemonPathsOf } from "../../../src/client/daemon-paths.ts";
import { placesFrom } from "../../../src/storage/paths.ts";
import { until } from "../../support/processes/real-processes.ts";

// A daemon that is there and does not answer: its socket takes connections, and nothing else. The limit of
// a hook, which ends its process, is the test's.

let folder = "";
let server: Server | undefined;
const held: Socket[] = [];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "deaddrop-unanswered-")));
});
afterEach(() => {
  for (const socket of held.splice(0)) socket.destroy();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a daemon that kept a hook waiting until its limit is asked again only after a minute", async () => {
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
  const wireDir = join(folder, "wire");
  mkdirSync(wireDir);
  const stateDir =
    daemonPathsOf(placesFrom(env, folder), { wireDir, handle: "forge" })?.stateDir ?? "";
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  server = createServer((socket) => void held.push(socket)).listen(join(stateDir, "daemon.sock"));
  const limits: (() => void)[] = [];
  const printed: string[] = [];
  const hook = (moment: string) =>
    runToolHook(["claude", "--as", "forge", "--wire", wireDir], {
      env,
      takesItsTime: () => undefined,
      atLimit: (run) => void limits.push(run),
      input: () => Promise.resolve(JSON.stringify({ session_id: "s", hook_event_name: moment })),
      print: (text) => Promise.resolve(void printed.push(text)),
      complain: () => Promise.resolve(),
    });

  const waiting = hook("PostToolUse");
  await until("it asks", () => held.length === 1);
  for (const moment of ["PostToolUse", "Stop"]) {
    const beside = hook(moment);
    await until("one that runs beside it asks, too", () => held.length === 2);
    held.pop()?.destroy();
    await beside;
  }
  for (const run of limits) run();
  held[0]?.destroy();
  await waiting;

  for (const moment of ["SessionStart", "PostToolUse", "Stop"]) expect(await hook(moment)).toBe(0);
  expect(held).toHaveLength(1);
  const past = Date.now() / 1_000 - 60;
  utimesSync(join(stateDir, "hook-unanswered"), past, past);
  const again = hook("PostToolUse");
  await until("it asks again", () => held.length === 2);
  held[1]?.destroy();
  expect(await again).toBe(0);
  expect(printed).toEqual([]);
});
