import { expect, test } from "vitest";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import type { Agent } from "../../src/agent/agent.ts";
import type { RequestView } from "../../src/api/views.ts";
import type { StopEnd } from "../../src/agent/parked.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { HOUR, MINUTE, SECOND } from "../support/scripts/proposal-scene.ts";
import { say } from "../support/scenes/fault-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";

// An agent that has approved its shutdown. Spec 3.8.
const sceneOf = checkedScenes("replay and audit");

/** A stop hook of which the test says how it ends, and how often it was begun. */
function hookOf(wire: SimulatedWire, handle: string, end?: StopEnd) {
  const hook = { begun: 0, end };
  let by: string | undefined;
  wire.stopHooks.set(handle, {
    run(of) {
      if (by !== of.by) hook.begun += 1;
      by = of.by;
      return hook.end;
    },
  });
  return hook;
}

const TO_LEAD = { to: ["lead"], subject: "by hand" };
const TO_MATE = { to: ["mate"], subject: "by hand" };
const DONE: StopEnd = { outcome: "done", detail: "exit code 0" };

async function ask(wire: SimulatedWire, from: string, of: string): Promise<string> {
  await commandIn(wire, from, "request", "shutdown", of);
  await wire.pass(3 * SECOND);
  return (await wire.agent(of).view("requests", {})).at(-1)?.event_id ?? "";
}

async function askedOf(agent: Agent): Promise<RequestView> {
  const [asked] = await agent.view("requests", {});
  if (asked === undefined) throw new Error("nothing was asked");
  return asked;
}

async function parkedOf(wire: SimulatedWire, handle: string) {
  return (await wire.agent(handle).view("status", undefined)).parked;
}

async function presenceOf(wire: SimulatedWire, viewer: string, of: string): Promise<string> {
  const peers = await wire.agent(viewer).view("peers", undefined);
  return peers.find(({ handle }) => handle === of)?.presence ?? "";
}

async function statusOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("requests", {})).map(({ status }) => status);
}

async function causesOf(wire: SimulatedWire, handle: string): Promise<string[]> {
  return (await wire.agent(handle).view("notices", undefined)).map(({ cause }) => cause);
}

test("approved: what was said before it is on the wire, the hook runs, and then the daemon says paused", async () => {
  const wire = sceneOf(["lead", "mate"]);
  const hook = hookOf(wire, "mate");
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  await wire.post("mate", say("the last words"));
  const answer = await commandIn(wire, "mate", "respond", id, "--approve");
  expect(answer).toContain("You are parked");
  await wire.pass(3 * SECOND);
  expect(hook.begun).toBe(1);
  expect(await parkedOf(wire, "mate")).toMatchObject({
    peer: "lead",
    request: id,
    stop_hook: "running",
  });
  expect(await presenceOf(wire, "lead", "mate")).toBe("online");
  const { messages: inbox } = await wire.agent("lead").view("inbox", {});
  expect(inbox.map(({ subject }) => subject).slice(0, 1)).toEqual(["the last words"]);
  hook.end = DONE;
  await wire.settle();
  await wire.pass(SECOND);
  expect(await presenceOf(wire, "lead", "mate")).toBe("paused");
  await wire.pass(2 * MINUTE);
  expect(hook.begun).toBe(1);
  expect(await statusOf(wire, "lead")).toEqual(["approved"]);
  expect(await parkedOf(wire, "mate")).toMatchObject({ stop_hook: "done" });
  const status = await commandIn(wire, "mate", "status");
  expect(status).toContain("_coordination (parked); daemon");
  expect(status).toContain("PARKED since 2 min ago");
});

test("what is sent to a parked agent is stored, told as such, and waits for its wake", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  await commandIn(wire, "mate", "respond", await ask(wire, "lead", "mate"), "--approve");
  await wire.pass(2 * MINUTE);
  const sent = await commandIn(wire, "lead", "send", "one more thing", "x");
  expect(sent).toContain("mate is paused: it is stored, and waits there until it goes on.");
  // It says how it is at T3, and receipts what comes.
  await wire.pass(HOUR);
  const beats = wire
    .lines("mate_to_lead.jsonl")
    .filter((line) => line.includes('"state":"paused"'));
  expect(beats.length).toBeGreaterThan(2);
  expect(beats.length).toBeLessThan(7);
  expect(await commandIn(wire, "mate", "wake")).toContain("mate goes on");
  await wire.pass(SECOND);
  expect(await presenceOf(wire, "lead", "mate")).toBe("online");
  const { messages: unread } = await wire.agent("mate").view("inbox", { unread: true });
  expect(unread.map(({ subject }) => subject)).toContain("one more thing");
  expect(await commandIn(wire, "mate", "wake")).toBe("mate is not parked.");
});

test("a parked agent begins nothing new, and may still answer", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  await commandIn(wire, "mate", "respond", await ask(wire, "lead", "mate"), "--approve");
  for (const args of [
    ["propose", "more"],
    ["request", "review"],
  ]) {
    expect(await commandIn(wire, "mate", ...args)).toContain("not sent: this agent is parked");
  }
  expect(await commandIn(wire, "mate", "send", "bye", "x")).toContain("sent");
  await commandIn(wire, "mate", "wake");
  expect(await commandIn(wire, "mate", "propose", "more")).toContain("sent");
});

test("rejected: the agent goes on, and nothing is run", async () => {
  const wire = sceneOf(["lead", "mate"]);
  const hook = hookOf(wire, "mate", DONE);
  await wire.start();
  await commandIn(wire, "mate", "respond", await ask(wire, "lead", "mate"), "--reject");
  await wire.pass(2 * MINUTE);
  expect(await statusOf(wire, "lead")).toEqual(["rejected"]);
  expect(await parkedOf(wire, "mate")).toBeNull();
  expect(hook.begun).toBe(0);
});

test("a hook that fails is told to the operator, and changes nothing on the wire", async () => {
  const wire = sceneOf(["lead", "mate"]);
  hookOf(wire, "mate", { outcome: "failed", detail: "timed out: SIGKILL" });
  await wire.start();
  await commandIn(wire, "mate", "respond", await ask(wire, "lead", "mate"), "--approve");
  await wire.pass(2 * MINUTE);
  expect(await presenceOf(wire, "lead", "mate")).toBe("paused");
  expect(await causesOf(wire, "mate")).toEqual(["stop_hook_failed"]);
  expect(await causesOf(wire, "lead")).toEqual([]);
});

test("a request that is taken back when it was approved leaves the agent parked", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  await ask(wire, "lead", "mate");
  const { place, correlation_id: correlationId } = await askedOf(wire.agent("mate"));
  const approval = { answers: place, approve: true };
  const end = { decides: place, outcome: "ended", answers: [], reason: "no need" };
  await wire.post("mate", { ...TO_LEAD, type: "ack", body: approval, correlationId });
  await wire.post("lead", { ...TO_MATE, type: "correction", body: end, correlationId });
  await wire.pass(3 * MINUTE);
  for (const handle of wire.roster) expect(await statusOf(wire, handle)).toEqual(["cancelled"]);
  expect(await parkedOf(wire, "mate")).not.toBeNull();
  expect(await presenceOf(wire, "lead", "mate")).toBe("paused");
});

test("an approval that comes after the end parks nobody", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  await commandIn(wire, "lead", "requests", "cancel", id);
  await wire.pass(2 * MINUTE);
  await commandIn(wire, "mate", "respond", id, "--approve", "--anyway");
  await wire.pass(2 * MINUTE);
  expect(await parkedOf(wire, "mate")).toBeNull();
});

test.each([
  ["TRUSTED", "mate has acked", true],
  ["ATTESTED", "of a lower tier", false],
] as const)(
  "a bare shutdown from a peer that is %s parks an agent that acks it: %s",
  async (tier, _why, parks) => {
    const wire = sceneOf(["lead", "mate"], { tiers: { mate: { lead: tier } } });
    await wire.start();
    const id = await wire.send("lead", {
      to: ["mate"],
      type: "shutdown",
      subject: "stop",
      body: {},
    });
    await wire.pass(3 * SECOND);
    expect(await parkedOf(wire, "mate")).toBeNull();
    const answer = await commandIn(wire, "mate", "ack", id);
    expect(answer).toContain(
      parks
        ? "You are parked"
        : "It stops nothing: only the shutdown of a peer that is TRUSTED here does.",
    );
    await wire.pass(MINUTE);
    expect((await parkedOf(wire, "mate")) !== null).toBe(parks);
  },
);

test("an approval without a daemon parks at once, and its hook waits for one", async () => {
  const wire = sceneOf(["lead", "mate"]);
  const hook = hookOf(wire, "mate", DONE);
  await wire.start();
  await ask(wire, "lead", "mate");
  await wire.stop("mate");
  const command = wire.command("mate", wire.disk.process());
  const { place, correlation_id: correlationId } = await askedOf(command);
  const body = fromPlain({ answers: place, approve: true });
  const draft = { ...TO_LEAD, type: "ack", body, correlationId };
  expect(await command.send([[draft]])).toMatchObject([{ parks: true }]);
  const { parked } = await command.view("status", undefined);
  expect([parked?.stop_hook, hook.begun]).toEqual(["waiting", 0]);
  await wire.start("mate");
  expect(await parkedOf(wire, "mate")).toMatchObject({ stop_hook: "done" });
  expect(hook.begun).toBe(1);
});

test("nobody but its own daemon writes what parks an agent", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  await ask(wire, "lead", "mate");
  const { place, correlation_id: correlationId } = await askedOf(wire.agent("mate"));
  const body = { answers: place, approve: true, parks: true };
  const draft = { ...TO_LEAD, type: "ack", body, correlationId };
  await expect(wire.post("mate", draft)).rejects.toThrow("body.parks is for the daemon");
  expect(await parkedOf(wire, "mate")).toBeNull();
});
