import { expect, test } from "vitest";
import { MINUTE, say, SECOND } from "../support/scenes/fault-scene.ts";
import { raise } from "../support/scenes/incident-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// `status --check` says "Nothing is wrong" only where no other view of the agent calls anything wrong.

const HOUR = 60 * MINUTE;
const check = (wire: SimulatedWire, handle = "forge") =>
  commandIn(wire, handle, "status", "--check");
const NOTHING = "Nothing is wrong.";

async function pair(): Promise<SimulatedWire> {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
  expect(await check(wire)).toBe(NOTHING);
  return wire;
}

test("an incident is wrong until it is acked, for both, each with its own command", async () => {
  const wire = await pair();
  const id = await raise(wire, "forge", "scribe", "critical");
  await wire.pass(MINUTE);
  expect(await check(wire)).toContain(
    "incident_open: critical incident of forge, open: main is broken",
  );
  expect(await check(wire, "scribe")).toMatch(/→ deaddrop incident ack <id>/);
  await wire.agent("scribe").markRead("all");
  await wire.pass(30 * MINUTE);
  expect(await check(wire)).toContain("critical incident of forge, escalated");

  await commandIn(wire, "scribe", "incident", "ack", id);
  await wire.pass(MINUTE);
  for (const each of ["forge", "scribe"]) {
    await commandIn(wire, each, "inbox", "--mark-read");
    await commandIn(wire, each, "notices", "--mark-read");
    await commandIn(wire, each, "incident", "notices", "--mark-read");
    expect(await check(wire, each)).toBe(NOTHING);
  }
});

test("a log that was deleted and put back is wrong until the operator has read the notice", async () => {
  const wire = await pair();
  await wire.send("forge", say("one"));
  await wire.pass(MINUTE);
  const file = "forge_to_scribe.jsonl";
  const chain = wire.lines(file).filter((line) => line.includes('"seq":'));
  wire.disk.process().remove(`${wire.wirePath}/${file}`);
  await wire.pass(MINUTE);
  expect(wire.lines(file)).toEqual(expect.arrayContaining(chain));
  expect(await check(wire, "scribe")).toMatch(
    /incident_notices: incident notices that no operator has read: 1, .* → deaddrop incident notices --mark-read/,
  );
  await commandIn(wire, "scribe", "incident", "notices");
  expect(await check(wire, "scribe")).not.toBe(NOTHING);
  await commandIn(wire, "scribe", "incident", "notices", "--mark-read");
  expect(await check(wire, "scribe")).toBe(NOTHING);
});

test("messages that their sender dated ahead are wrong at the sender, before and after its clock is right", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  wire.setClock("scribe", 2 * HOUR);
  await wire.start("scribe");
  await wire.send("scribe", { ...say("wrong"), to: ["forge"] });
  // A heartbeat of forge, which arrives after the message and is dated long before it.
  await wire.pass(5 * MINUTE);
  for (const text of [await check(wire, "scribe"), await commandIn(wire, "scribe", "status")]) {
    expect(text).toMatch(
      /clocks of forge and .*: its heartbeats are dated 1\d\d min behind ours.*timedatectl/,
    );
  }
  await wire.stop("scribe");
  await wire.stop("forge");
  wire.setClock("scribe", 0);
  await wire.start("scribe");
  await wire.pass(SECOND);
  for (const text of [await check(wire, "scribe"), await commandIn(wire, "scribe", "status")]) {
    expect(text).toMatch(
      /your feedback "wrong" to forge is dated 1\d\d min ahead of this machine's clock, and waits there.*deaddrop peers reset scribe/,
    );
  }
  expect(await commandIn(wire, "scribe", "sent")).toContain(
    "published: dated ahead of this clock, waits for your next line",
  );
  await wire.send("scribe", { ...say("right"), to: ["forge"] });
  await wire.start("forge");
  await wire.pass(5 * MINUTE);
  expect(await check(wire, "scribe")).not.toContain("clock");
  expect(await commandIn(wire, "scribe", "status")).not.toContain("sent_ahead");
});

test("a peer with a clock ahead is told as that, and not as silent besides", async () => {
  const wire = await pair();
  wire.setClock("scribe", 2 * HOUR);
  await wire.pass(30 * MINUTE);
  await commandIn(wire, "forge", "incident", "notices", "--mark-read");
  expect(await check(wire)).toMatch(/^clock_skew: .* dated 1\d\d min ahead of ours.*\n\(exit 1\)$/);
  const told = await wire.agent("forge").view("notices", undefined);
  expect(told.map(({ cause }) => cause)).toEqual(["clock_skew"]);
  wire.setClock("scribe", 0);
  await wire.pass(10 * MINUTE);
  expect(await check(wire)).toBe(NOTHING);
});

test("an overdue answer is wrong for who owes it and for who waits", async () => {
  const wire = await pair();
  await wire.send("forge", { ...say("look at it"), ackRequired: true });
  await wire.pass(MINUTE);
  await wire.agent("scribe").markRead("all");
  expect(await check(wire, "scribe")).toBe(NOTHING);
  await wire.pass(25 * HOUR);
  expect(await check(wire, "scribe")).toContain(
    "overdue: answers of yours that are overdue: 1, the oldest to: look at it",
  );
  expect(await check(wire)).toContain("overdue_by_peers: answers to you that are overdue: 1");
});

test("requests says what became of those that have ended", async () => {
  const wire = await pair();
  expect(await commandIn(wire, "forge", "requests")).toBe("No requests.");
  await commandIn(wire, "forge", "request", "review", "--subject", "look at it");
  await wire.pass(MINUTE);
  const [asked] = await wire.agent("scribe").view("requests", {});
  await commandIn(wire, "scribe", "respond", asked?.event_id ?? "", "--approve");
  await wire.pass(5 * MINUTE);
  expect(await commandIn(wire, "forge", "requests")).toMatch(/review +approved +forge → scribe/);
});

test("who approves its own shutdown is told of a stop hook only where one has run", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  wire.stopHooks.set("scribe", { run: () => ({ outcome: "none", detail: "" }) });
  await wire.start();
  await commandIn(wire, "forge", "request", "shutdown");
  await wire.pass(MINUTE);
  const [asked] = await wire.agent("scribe").view("requests", {});
  const said = await commandIn(wire, "scribe", "respond", asked?.event_id ?? "", "--approve");
  expect(said).toContain("You are parked");
  expect(said).not.toContain("stop hook runs");
  expect(await commandIn(wire, "scribe", "status")).toContain("there is no stop hook");
});
