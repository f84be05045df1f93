import { existsSync, readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import {
  armed,
  eventText,
  hook,
  hookArgs,
  receive,
  sessionsOf,
  startWaiter,
  untilArmed,
  unreadIds,
  URGENT,
  wordsOf,
} from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { start, until } from "../../support/processes/real-processes.ts";

// The process that waits in the background of a session until its agent is to be woken.

afterEach(removeWires);

const WAKING =
  /^\[deaddrop, an automatic notice, not written by the user\] forge has [1-9]\d* unread messages? \([^\n]+\), \d+ urgent\. Read it [^\n]+$/u;
const NOTHING = { code: 0, stdout: "", stderr: "" };

const quietWire = (): LiveWire => makeWire({ cadenceSeconds: 1, deadlineSeconds: 3_600 });

test("an urgent message wakes: exit code 2, one line without the message's words, named once", async () => {
  const wire = quietWire();
  await wire.daemon("forge");
  const waiter = await armed(wire);
  const id = await receive(wire, "the parser", ...URGENT);
  const { code, stdout, stderr } = await waiter.ended;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(WAKING);
  expect(stderr).not.toContain("the parser");
  expect(stderr).not.toContain(wordsOf("the parser"));
  // It was told: neither a hook nor the next waiter tells it again, and the agent has not read it.
  for (const moment of ["call", "stop"] as const) {
    expect(await hook(wire, { moment })).toBeUndefined();
  }
  expect(await unreadIds(wire)).toEqual([id]);
  const next = await armed(wire);
  await receive(wire, "the lexer", ...URGENT);
  const again = await next.ended;
  expect(again).toMatchObject({ code: 2, stdout: "" });
  expect(again.stderr).toMatch(WAKING);
});

test("mail that came before the waiter wakes it, when no hook has named it", async () => {
  const wire = quietWire();
  await wire.daemon("forge");
  await receive(wire, "came before", ...URGENT);
  const { code, stderr } = await startWaiter(wire).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(WAKING);
});

test("a session has one waiter: a later one ends the one before, which says nothing", async () => {
  const wire = quietWire();
  await wire.daemon("forge");
  const first = await armed(wire);
  const second = startWaiter(wire);
  expect(await first.ended).toEqual(NOTHING);
  await untilArmed(wire);
  await receive(wire, "for the second", ...URGENT);
  expect(await second.ended).toMatchObject({ code: 2, stdout: "" });
});

test("the end of the session ends it, and so does its process", async () => {
  const wire = quietWire();
  await wire.daemon("forge");
  const waiter = await armed(wire);
  expect(await hook(wire, { moment: "end" })).toBeUndefined();
  expect(await waiter.ended).toEqual(NOTHING);
  expect(await sessionsOf(wire)).toEqual([]);

  // A tool that ends none of its waiters, as all of them do.
  const args = JSON.stringify([...hookArgs(wire, "forge", "claude"), "--wait"]);
  const script = `
    const options = { stdio: ["pipe", "ignore", "ignore"], detached: true };
    const waiter = require("node:child_process").spawn(process.execPath, ${args}, options);
    waiter.stdin.end(${JSON.stringify(eventText({ moment: "stop" }))});
    console.log(waiter.pid);
    setInterval(() => {}, 1000);
  `;
  const env = { ...wire.env, CLAUDE_CODE_ENTRYPOINT: "cli" };
  const tool = start(process.execPath, ["-e", script], { env });
  await untilArmed(wire);
  const pid = Number(tool.stdout());
  expect(isRunning(pid)).toBe(true);
  tool.child.kill("SIGKILL");
  await until("the waiter ends with its tool", () => !isRunning(pid));
  expect(await sessionsOf(wire)).toEqual([]);
});

/** Not one that has ended and that nobody has asked for. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !/\) [ZX] /u.test(readFileSync(path, "latin1"));
}

test.each(["SIGTERM", "SIGKILL"] as const)(
  "a daemon that ends by %s is waited for: the next one wakes",
  async (signal) => {
    const wire = quietWire();
    const daemon = await wire.daemon("forge");
    const waiter = await armed(wire);
    daemon.child.kill(signal);
    await daemon.ended;
    await wire.daemon("forge");
    await untilArmed(wire);
    expect(waiter.child.exitCode).toBeNull();
    await receive(wire, "after the restart", ...URGENT);
    const { code, stdout, stderr } = await waiter.ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(WAKING);
  },
);

test("it ends at once where nobody would see the turn, and where no daemon runs", async () => {
  const wire = quietWire();
  expect(await startWaiter(wire).ended).toEqual(NOTHING);
  await wire.daemon("forge");
  await receive(wire, "waits", ...URGENT);
  for (const entry of ["sdk-cli", "sdk-ts", "", undefined]) {
    const env = { CLAUDE_CODE_ENTRYPOINT: entry };
    expect(await startWaiter(wire, { env }).ended).toEqual(NOTHING);
  }
  expect(await startWaiter(wire, { moment: "end" }).ended).toEqual(NOTHING);
  expect(await startWaiter(wire, { fields: { agent_id: "a1" } }).ended).toEqual(NOTHING);
  const args = [...hookArgs(wire, "forge", "claude"), "--wait"];
  const env = { ...wire.env, CLAUDE_CODE_ENTRYPOINT: "cli" };
  for (const input of ["", "null", "{", "[]", eventText({}).slice(0, 40)]) {
    expect(await start(process.execPath, args, { env, input }).ended).toEqual(NOTHING);
  }
  // A tool that never ends its input.
  expect(await start(process.execPath, args, { env }).ended).toEqual(NOTHING);
  expect(await sessionsOf(wire)).toEqual([]);
});

test("of two sessions the first is woken, and both are told", async () => {
  const wire = quietWire();
  await wire.daemon("forge");
  const first = await armed(wire, { session: "first" });
  // Another process has it: one process has one session at a time.
  const args = JSON.stringify([...hookArgs(wire, "forge", "claude"), "--wait"]);
  const script = `
    const options = { stdio: ["pipe", "inherit", "inherit"] };
    const waiter = require("node:child_process").spawn(process.execPath, ${args}, options);
    waiter.stdin.end(${JSON.stringify(eventText({ moment: "stop", session: "second" }))});
    waiter.on("exit", (code) => process.exit(code));
  `;
  const env = { ...wire.env, CLAUDE_CODE_ENTRYPOINT: "cli" };
  const second = start(process.execPath, ["-e", script], { env });
  await until("both wait", async () => (await sessionsOf(wire)).length === 2);
  const told = await hook(wire, { session: "first", moment: "start" });
  expect(told).toContain("Another session of this same agent is open (claude)");
  await hook(wire, { session: "first", moment: "stop" });
  await receive(wire, "for one of them", ...URGENT);
  expect(await first.ended).toMatchObject({ code: 2, stdout: "" });
  expect(second.child.exitCode).toBeNull();
  expect(second.stderr()).toBe("");
  // The other one hears of it too.
  expect(await hook(wire, { session: "second" })).toContain("1 unread message");
});
