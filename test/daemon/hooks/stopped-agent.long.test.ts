import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import type { PeerView, RequestView, StatusView } from "../../../src/api/views.ts";
import { makeWire, removeWires, type LiveWire } from "../../support/processes/live-wire.ts";
import { until } from "../../support/processes/real-processes.ts";

afterEach(removeWires);

interface Sent {
  readonly messages: readonly { readonly event_id: string }[];
}

const parkedOf = async (wire: LiveWire, handle: string): Promise<StatusView["parked"]> =>
  (await wire.json<StatusView>(handle, "status")).parked;

const presenceOf = async (wire: LiveWire, viewer: string): Promise<string | undefined> =>
  (await wire.json<PeerView[]>(viewer, "peers"))[0]?.presence;

it("an agent that approves its shutdown is ended by its own operator's command, and its daemon stays", async () => {
  const wire = makeWire({ cadenceSeconds: 1 });
  await wire.daemon("forge");
  const scribes = await wire.daemon("scribe");
  // The agent: a process that does nothing but live.
  const agent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const ended = once(agent, "exit");
  await wire.run(
    "scribe",
    "config",
    "set",
    "hooks.on_stop",
    JSON.stringify(["kill", `${agent.pid}`]),
    ...["--yes", "--reason", "the agent ends with it"],
  );

  const asked = await wire.json<Sent>("forge", "request", "shutdown", "scribe");
  const id = asked.messages[0]?.event_id ?? "";
  await until("scribe is asked", async () => {
    const requests = await wire.json<RequestView[]>("scribe", "requests");
    return requests.some(({ event_id }) => event_id === id);
  });
  await wire.run("scribe", "ship", "all of it", "--state", "done", "--digest", "ab".repeat(32));
  const approved = await wire.run("scribe", "respond", id, "--approve");
  expect(approved.stdout).toContain("You are parked");
  const [, signal] = (await ended) as [number | null, string | null];
  expect(signal).toBe("SIGTERM");

  await until("forge knows", async () => (await presenceOf(wire, "forge")) === "paused");
  const lines = wire.lines("scribe_to_forge.jsonl").filter(({ type }) => type !== "heartbeat");
  expect(lines.map(({ type }) => type).slice(-2)).toEqual(["ship", "ack"]);
  await until("it is settled", async () => {
    const [request] = await wire.json<RequestView[]>("forge", "requests", "--all");
    return request?.status === "approved";
  });

  // Nothing of it is in memory alone.
  scribes.child.kill("SIGKILL");
  await scribes.ended;
  await wire.daemon("scribe");
  expect(await parkedOf(wire, "scribe")).toMatchObject({ peer: "forge", stop_hook: "done" });
  expect((await wire.run("scribe", "propose", "more")).stderr).toContain("this agent is parked");
  const said = await wire.run("forge", "send", "one more thing", "x");
  expect(said.stdout).toContain("scribe is paused: it is stored");
  await wire.run("scribe", "wake");
  await until("forge sees it back", async () => (await presenceOf(wire, "forge")) === "online");
  expect(await parkedOf(wire, "scribe")).toBeNull();
});
