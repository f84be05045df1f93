import { expect, test } from "vitest";
import type { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import type { StopEnd } from "../../src/protocol/requests/parking.ts";
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
    isRunning: (of) => by === of && hook.end === undefined,
  });
  return hook;
}

const DONE: StopEnd = { outcome: "done", detail: "exit code 0" };

async function ask(wire: SimulatedWire, from: string, of: string): Promise<string> {
  await commandIn(wire, from, "request", "shutdown", of);
  await wire.pass(3 * SECOND);
  return (await wire.agent(of).view("requests", {})).at(-1)?.event_id ?? "";
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
  const inbox = await wire.agent("lead").view("inbox", {});
  expect(inbox.map(({ subject }) => subject).slice(0, 1)).toEqual(["the last words"]);
  hook.end = DONE;
  await wire.settle();
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
  await wire.settle();
  expect(await presenceOf(wire, "lead", "mate")).toBe("online");
  const unread = await wire.agent("mate").view("inbox", { unread: true });
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
    expect(await commandIn(wire, "mate", ...args)).toContain(
      "mate is parked and begins nothing new",
    );
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

test("a request that is taken back when it was approved leaves the agent parked, and both are told", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  const { correlation_id: correlationId, request_id } =
    (await wire.agent("mate").view("requests", {}))[0] ?? {};
  if (correlationId === undefined) throw new Error("nothing was asked");
  const approval = { acks: id, request_id, approve: true };
  const thread = { correlationId };
  await wire.post("mate", { to: ["lead"], type: "ack", subject: "yes", body: approval, ...thread });
  const end = { cancels: id };
  await wire.post("lead", {
    to: ["mate"],
    type: "correction",
    subject: "no",
    body: end,
    ...thread,
  });
  await wire.settle();
  await wire.pass(3 * MINUTE);
  expect(await statusOf(wire, "mate")).toEqual(["cancelled"]);
  expect(await presenceOf(wire, "lead", "mate")).toBe("paused");
  const last = async (handle: string) =>
    (await wire.agent(handle).view("agent_notices", {})).at(-1)?.text;
  expect(await last("mate")).toContain("You are parked all the same, until `deaddrop wake`.");
  expect(await last("lead")).toContain("It is parked all the same, until it is woken there.");
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

test("while words of the agent wait for the disk its approval is not sent", async () => {
  const wire = sceneOf(["lead", "mate"]);
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  const process = wire.process("mate");
  process.standing = (path, how) =>
    path.endsWith("mate_to_lead.jsonl") && how === "write" ? "ENOSPC" : undefined;
  expect(await commandIn(wire, "mate", "send", "the last words", "x")).toContain("queued");
  const refused = await commandIn(wire, "mate", "respond", id, "--approve");
  expect(refused).toContain("not sent");
  expect(await parkedOf(wire, "mate")).toBeNull();
  process.standing = undefined;
  await wire.pass(2 * MINUTE);
  expect(await commandIn(wire, "mate", "respond", id, "--approve")).toContain("You are parked");
  await wire.pass(MINUTE);
  const said = wire.lines("mate_to_lead.jsonl").filter((line) => !line.includes('"heartbeat"'));
  expect(said.map((line) => line.includes("the last words"))).toEqual([true, false]);
});

test("an approval without a daemon parks at once, and its hook waits for one", async () => {
  const wire = sceneOf(["lead", "mate"]);
  const hook = hookOf(wire, "mate", DONE);
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  await wire.stop("mate");
  const command = wire.command("mate", wire.disk.process());
  const { correlation_id: correlationId, request_id } =
    (await command.view("requests", {}))[0] ?? {};
  if (correlationId === undefined) throw new Error("nothing was asked");
  const body = fromPlain({ acks: id, request_id, approve: true });
  const draft = { to: ["lead"], type: "ack", subject: "yes", body, correlationId };
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
  const id = await ask(wire, "lead", "mate");
  const body = { acks: id, approve: true, parks: true };
  const { correlation_id: correlationId } = await wire.agent("mate").view("resolve_id", { id });
  const draft = { to: ["lead"], type: "ack", subject: "stop", body, correlationId };
  await expect(wire.post("mate", draft)).rejects.toThrow("body.parks is for the daemon");
  expect(await parkedOf(wire, "mate")).toBeNull();
});

test("paused while our own log is not read for a moment: said once when it is, and not in each round", async () => {
  const wire = sceneOf(["lead", "mate"]);
  const hook = hookOf(wire, "mate");
  await wire.start();
  const id = await ask(wire, "lead", "mate");
  await commandIn(wire, "mate", "respond", id, "--approve");
  await wire.pass(3 * SECOND);
  const said = (): number =>
    wire.lines("mate_to_lead.jsonl").filter((line) => line.includes('"state":"paused"')).length;
  const mate = wire.process("mate");
  let reads = 0;
  // The first read is the writer's; those after it read back what was written, a little later again.
  mate.standing = (path, how) =>
    how === "read" && path.endsWith("/mate_to_lead.jsonl") && ++reads > 1 ? "EIO" : undefined;
  await wire.post("mate", say("no more than this"));
  await wire.agent("mate").tick();
  mate.standing = undefined;
  expect(mate.refused.size).toBe(1);
  hook.end = DONE;
  for (let round = 0; round < 10; round += 1) await wire.agent("mate").tick();
  expect(said()).toBe(0);
  await wire.pass(2 * SECOND);
  expect(said()).toBe(1);
  expect(await presenceOf(wire, "lead", "mate")).toBe("paused");
});
