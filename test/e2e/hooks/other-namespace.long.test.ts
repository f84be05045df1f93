import { spawnSync } from "node:child_process";
import { afterEach, expect, test, type TestContext } from "vitest";
import { eventText, hookArgs } from "../../support/processes/hook-processes.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { start, until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

/** The tool in its container: it runs one hook, says how that ended, and stays until it is killed. */
const TOOL = `
  const { spawnSync } = require("node:child_process");
  const [event, ...args] = process.argv.slice(1);
  const { status, stderr } = spawnSync(process.execPath, args, { input: event, encoding: "utf8" });
  console.log(JSON.stringify({ status, stderr }));
  setInterval(() => {}, 1000);`;

const CONTAINER = ["-rpf", "--mount-proc", "--kill-child"];

function startTool(wire: LiveWire, event: string, ...more: readonly string[]) {
  const hook = [...hookArgs(wire, "forge", "claude"), ...more];
  const args = [...CONTAINER, process.execPath, "-e", TOOL, event, ...hook];
  return start("unshare", args, { env: { ...wire.env, CLAUDE_CODE_ENTRYPOINT: "cli" } });
}

async function sessionsOf(wire: LiveWire): Promise<readonly object[]> {
  const { sessions } = await wire.json<{ sessions: readonly object[] }>("forge", "status");
  return sessions;
}

const skipWithoutNamespaces = ({ skip }: TestContext) =>
  skip(
    spawnSync("unshare", [...CONTAINER, "true"]).status !== 0,
    "unshare cannot make a PID namespace here",
  );

test("a daemon of the host keeps and wakes the session of a tool in a container", async (context) => {
  skipWithoutNamespaces(context);
  const wire = makeWire();
  const daemon = await wire.daemon("forge");
  const tool = startTool(wire, eventText({ moment: "prompt" }));
  await until("the hook has ended", () => tool.stdout().includes('"status":0'));
  expect(await sessionsOf(wire)).toMatchObject([{ session: "s-1", state: "busy" }]);

  const idle = startTool(wire, eventText({ moment: "stop" }));
  await until("the turn has ended", () => idle.stdout().includes('"status":0'));
  const waiter = startTool(wire, eventText({ moment: "stop" }), "--wait");
  await until("its waiter is known", async () => {
    const [session] = (await sessionsOf(wire)) as { wake: string | null }[];
    return session?.wake === "waiter";
  });
  await wire.run("scribe", "send", "are you there?", "a body");
  await until("the waiter wakes its session", () => waiter.stdout().includes('"status":2'));
  expect(waiter.stdout()).toContain("deaddrop inbox");
  await daemon.stop();
});
