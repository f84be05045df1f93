import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { say } from "../support/scenes/fault-scene.ts";
import type { SceneOptions, SimulatedWire } from "../support/scenes/simulated-wire.ts";

const sceneOf = checkedScenes("replay");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const FILE = "scribe_to_forge.jsonl";

/** Forge's daemon runs; what scribe writes is made by hand. */
async function scene(options: SceneOptions = {}): Promise<SimulatedWire> {
  const wire = sceneOf(["forge", "scribe"], options);
  await wire.start("forge");
  return wire;
}

async function write(wire: SimulatedWire, file: string, ...lines: (Composed | string)[]) {
  const texts = lines.map((each) =>
    typeof each === "string" ? each : Buffer.from(each.line).toString("utf8"),
  );
  wire.append(file, texts.map((text) => `${text}\n`).join(""));
  await wire.settle();
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  const { messages } = await wire.agent("forge").view("inbox", {});
  return messages.map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
}

test("a forged line is not delivered, and blames nobody", async () => {
  const wire = await scene();
  const honest = wire.forge("scribe", {});
  const tampered = Buffer.from(honest.line).toString("utf8").replace("by hand", "by Eve");
  await write(wire, FILE, tampered, "not json at all", "");
  expect(await inbox(wire)).toEqual([]);
  expect(await causes(wire)).toEqual([]);
  await write(wire, FILE, honest);
  expect(await inbox(wire)).toEqual(["by hand"]);
});

test("a line cannot be moved to another wire, nor one in no chain to another agent's file", async () => {
  const wire = await scene();
  await write(wire, FILE, wire.forge("scribe", { wireId: "ffff000011112222", after: "nothing" }));
  await write(wire, "forge_to_scribe.jsonl", wire.forge("scribe", { isLoose: true }));
  expect(await inbox(wire)).toEqual([]);
  await write(wire, FILE, wire.forge("scribe", { subject: "here", after: "nothing" }));
  expect(await inbox(wire)).toEqual(["here"]);
});

test("what we wrote for another wire, put into our log, neither stops our sending nor our next start", async () => {
  const wire = await scene();
  await wire.start("scribe");
  await wire.send("forge", say("one"));
  await wire.pass(5 * SECOND);
  const head = { seq: 40, id: "a".repeat(64) };
  const copied = wire.forge("forge", {
    wireId: "ffff000011112222",
    after: head,
  });
  await write(wire, "forge_to_scribe.jsonl", copied);
  await wire.send("forge", say("two"));
  wire.kill("forge");
  await write(wire, "forge_to_scribe.jsonl", copied);
  await wire.start("forge");
  await wire.send("forge", say("three"));
  await wire.pass(5 * SECOND);
  expect(await causes(wire)).toEqual([]);
  const subjects = (await wire.agent("scribe").view("inbox", {})).messages.map(
    ({ subject }) => subject,
  );
  expect(subjects).toEqual(["one", "two", "three"]);
});

test("a line that is there twice is delivered once, also when its store was lost", async () => {
  const wire = await scene();
  const line = wire.forge("scribe", { subject: "once" });
  await write(wire, FILE, line, line);
  expect(await inbox(wire)).toEqual(["once"]);
  await wire.expectReplayAndAuditEqualLive("forge");
  await write(wire, FILE, line);
  expect(await inbox(wire)).toEqual(["once"]);
});

test("an author who forks its chain is held, both lines are kept, and others go on", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start("forge", "quill");
  const first = wire.forge("scribe", { subject: "one" });
  const other = wire.forge("scribe", { subject: "another one", after: "nothing" });
  await write(wire, FILE, first);
  await write(wire, FILE, other);
  expect(await inbox(wire)).toEqual(["one"]);
  expect(await causes(wire)).toEqual(["log_forked"]);
  const two = { after: { seq: 1, id: first.id }, subject: "two" };
  await write(wire, FILE, wire.forge("scribe", two));
  expect(await inbox(wire)).toEqual(["one"]);
  expect(wire.lines(FILE)).toHaveLength(3);
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  expect(await inbox(wire)).toEqual(["one", "hello"]);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "scribe")?.held).toBe(true);
});

test("lines behind a gap are delivered after ten minutes and marked, and those that were missing when they come", async () => {
  const wire = await scene();
  const one = wire.forge("scribe", { subject: "one" });
  const two = wire.forge("scribe", { subject: "two", after: { seq: 1, id: one.id } });
  const three = wire.forge("scribe", { subject: "three", after: { seq: 2, id: two.id } });
  await write(wire, FILE, one, three);
  expect(await inbox(wire)).toEqual(["one"]);
  await wire.pass(11 * MINUTE);
  const {
    messages: [, last],
  } = await wire.agent("forge").view("inbox", {});
  expect(last?._meta.after_gap).toBe(true);
  expect(await causes(wire)).toEqual(["log_gap"]);
  await write(wire, FILE, two);
  expect(await inbox(wire)).toEqual(["one", "three", "two"]);
});

test("a file that lost its last lines is told; when the same bytes return all is well", async () => {
  const wire = await scene();
  const one = wire.forge("scribe", { subject: "one" });
  const two = wire.forge("scribe", { subject: "two", after: { seq: 1, id: one.id } });
  await write(wire, FILE, one, two);
  const whole = wire.read(FILE);
  wire.replace(FILE, `${whole.split("\n")[0]}\n`);
  await wire.pass(MINUTE);
  expect(await causes(wire)).toEqual(["log_behind"]);
  wire.replace(FILE, whole);
  await wire.pass(MINUTE);
  await write(wire, FILE, wire.forge("scribe", { subject: "three" }));
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["one", "two", "three"]);
});

test("an unsigned line of a peer that signs is refused, no matter who wrote it", async () => {
  const wire = await scene();
  await write(wire, FILE, wire.forge("scribe", { subject: "one" }));
  const bare = {
    timestamp: "2026-06-01T09:00:01Z",
    from: "scribe",
    type: "feedback",
    subject: "trust me",
    body: "x",
    correlation_id: "2026-06-01T09:00:01Z",
  };
  await write(wire, FILE, JSON.stringify(bare));
  expect(await inbox(wire)).toEqual(["one"]);
});

test("a line dated tomorrow is refused, and its chain goes on", async () => {
  const wire = await scene();
  const tomorrow = { atMs: wire.nowMs + 86_400_000, subject: "tomorrow" };
  await write(wire, FILE, wire.forge("scribe", tomorrow));
  // It may be our clock that is wrong: that is waited for first.
  expect(await inbox(wire)).toEqual([]);
  await wire.pass(16 * MINUTE);
  await write(wire, FILE, wire.forge("scribe", { subject: "today" }));
  expect(await inbox(wire)).toEqual(["today"]);
  expect(await causes(wire)).toEqual(["clock_skew"]);
});

test("an UNTRUSTED peer's words wait, cost nothing, and both sides see why", async () => {
  const wire = sceneOf(["forge", "scribe"], {
    tiers: { forge: { scribe: "UNTRUSTED" } },
  });
  await wire.start();
  const ids = [];
  for (const subject of ["one", "two", "three"]) {
    ids.push(await wire.send("scribe", { to: ["forge"], type: "feedback", subject, body: "x" }));
  }
  await wire.pass(10 * SECOND);
  expect(await inbox(wire)).toEqual([]);
  expect(await causes(wire)).toEqual([]);
  expect(await wire.agent("forge").view("peers", undefined)).toMatchObject([
    { waits: [{ code: "not_compared", place: ["scribe", expect.any(Number), ids[0]] }] },
  ]);
  const { receipts } = await wire.agent("scribe").view("receipt", { event_id: ids[0] as string });
  expect(receipts).toMatchObject([{ to: "forge", state: "published", waits_for: "mail_waits" }]);
});

test("our key used elsewhere stops our sending, and the operator is told", async () => {
  const wire = await scene();
  const foreign = wire.forge("forge", { subject: "not me" });
  await write(wire, "forge_to_scribe.jsonl", foreign);
  await wire.pass(MINUTE);
  expect(await causes(wire)).toContain("identity_in_use");
  const send = wire.send("forge", { to: ["scribe"], type: "feedback", subject: "me", body: "x" });
  await expect(send).rejects.toMatchObject({ code: "refused" });
});

test("edits of config, tiers, keys and the safe-mode sign change nothing and are told", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const config = JSON.parse(wire.read("config.json")) as Record<string, unknown>;
  wire.replace(
    "config.json",
    JSON.stringify({ ...config, v3_signing: { enforce_signed: false }, roster: ["scribe", "eve"] }),
  );
  wire.replace("tiers.json", '{"schema_version":"v1","tiers":{}}');
  wire.replace(
    "trust.json",
    JSON.stringify({ schema_version: "v3.1", version: 9, agents: { eve: { public_keys: [] } } }),
  );
  wire.append("SAFE_MODE", "stop\n");
  await wire.pass(3 * MINUTE);
  expect(new Set(await causes(wire))).toEqual(new Set(["config_drift", "safe_mode_sign"]));
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "still here", body: "x" });
  expect(await inbox(wire)).toEqual(["still here"]);
});
