import { join } from "node:path";
import { expect, test } from "vitest";
import type { TroubleCode } from "../../src/api/troubles.ts";
import type { Composed } from "../../src/wire/compose.ts";
import { ignored } from "../support/scenes/incident-scene.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";

// What `status --check` and `doctor` say is wrong now, and that they say nothing once it is over.

const sceneOf = checkedScenes("replay");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

const textOf = (...lines: readonly Composed[]): string =>
  lines.map(({ line }) => `${Buffer.from(line).toString("utf8")}\n`).join("");

/** Without what the operator is told of it besides: nothing-wrong.test.ts. */
async function troubles(wire: SimulatedWire, handle = "forge") {
  const all = await wire.agent(handle).view("troubles", undefined);
  return all.filter(({ code }) => !code.startsWith("incident"));
}

/** Each as what it is and what ends it. */
async function wrong(wire: SimulatedWire): Promise<(readonly [TroubleCode, string])[]> {
  return (await troubles(wire)).map(({ code, end }) => [code, end] as const);
}

/** forge's daemon, and a log of scribe with two lines that it has read. */
async function reader(wire = sceneOf(["forge", "scribe"])) {
  await wire.start("forge");
  const one = wire.forge("scribe", { subject: "one" });
  const { id } = one;
  const two = wire.forge("scribe", { subject: "two", after: { seq: 1, id } });
  wire.append(FILE, textOf(one, two));
  await wire.pass(SECOND);
  expect(await troubles(wire)).toEqual([]);
  return { wire, one, two };
}

test("a line that is missing is trouble until it is there, wherever it stands", async () => {
  const { wire, two } = await reader();
  const three = wire.forge("scribe", { subject: "three" });
  const four = wire.forge("scribe", { subject: "four", after: { seq: 3, id: three.id } });
  wire.append(FILE, `${"\0".repeat(three.line.length)}\n${textOf(four)}`);
  await wire.pass(5 * SECOND);
  expect(await troubles(wire)).toMatchObject([
    {
      code: "log_gap",
      detail: expect.stringContaining("lines of scribe behind line 2 are missing") as string,
      end: "start the daemon of scribe, which publishes them again: deaddrop daemon --as scribe, where scribe runs",
    },
  ]);
  const [peer] = await wire.agent("forge").view("peers", undefined);
  expect(peer?.waits).toMatchObject([{ code: "log_gap" }]);
  wire.replace(FILE, textOf(four, three, two));
  await wire.pass(5 * SECOND);
  expect(await troubles(wire)).toEqual([]);
});

test("a peer's log that is no file is trouble until it is moved away", async () => {
  const { wire, one, two } = await reader();
  const path = join(wire.wirePath, FILE);
  const disk = wire.disk.process();
  disk.remove(path);
  disk.makeFolder(path, 0o700);
  await wire.pass(MINUTE);
  expect(await wrong(wire)).toEqual([["log_unreadable", expect.stringContaining("move it away")]]);
  disk.remove(path);
  wire.replace(FILE, textOf(one, two));
  await wire.pass(MINUTE);
  expect(await troubles(wire)).toEqual([]);
});

test("an author who rewrote its log is held, which is trouble until the operator has decided", async () => {
  // What its author has destroyed cannot be replayed.
  const { wire, one } = await reader(new SimulatedWire(["forge", "scribe"]));
  const { id } = one;
  const other = wire.forge("scribe", { subject: "never two", after: { seq: 1, id } });
  wire.replace(FILE, textOf(one, other));
  await wire.pass(MINUTE);
  expect(await wrong(wire)).toEqual([["peer_held", "deaddrop peers reset scribe"]]);
  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(MINUTE);
  expect(await troubles(wire)).toEqual([]);
});

test("a silent peer is trouble; nobody who does not listen calls a peer silent", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.pass(MINUTE);
  wire.kill("scribe");
  await wire.pass(15 * MINUTE);
  const [silent, ...others] = await troubles(wire);
  expect(others).toEqual([]);
  expect(silent).toMatchObject({
    code: "peer_silent",
    end: "have its operator run deaddrop doctor as scribe, where scribe runs",
    since: expect.any(String) as string,
  });

  wire.kill("forge");
  const command = wire.command("forge", wire.disk.process());
  const alone = await command.view("troubles", undefined);
  expect(alone.map(({ code, end }) => [code, end])).toEqual([
    ["no_daemon", expect.stringContaining("deaddrop daemon --detach")],
    ["incident_notices", "deaddrop incident notices --mark-read"],
  ]);
  command.close();
});

test("what the wire says and we have not accepted is trouble, however it reads", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const before = wire.read("config.json");
  wire.replace(
    "config.json",
    JSON.stringify({
      ...(JSON.parse(before) as object),
      domains: { "the core": { owner: "scribe", paths: ["src/**"] } },
    }),
  );
  expect(await troubles(wire)).toMatchObject([
    {
      code: "config_drift",
      detail: expect.stringContaining("the core") as string,
      end: "deaddrop config accept",
    },
  ]);
  wire.replace("config.json", "{");
  expect(await troubles(wire)).toMatchObject([{ code: "config_drift" }]);
  wire.replace("config.json", before);
  expect(await troubles(wire)).toEqual([]);
});

test("safe mode is trouble for both, with the command that ends it for each; so are unread notices", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await ignored(wire);
  await wire.pass(30 * MINUTE);
  // Each agent was told of it, and has not read that.
  const unread = { code: "notices", end: "deaddrop inbox notices --unread --mark-read" };
  expect(await troubles(wire, "forge")).toMatchObject([
    { code: "safe_mode", end: expect.stringMatching(/^deaddrop incident resolve /) as string },
    unread,
  ]);
  expect(await troubles(wire, "scribe")).toMatchObject([
    { code: "safe_mode", end: expect.stringMatching(/^deaddrop incident ack /) as string },
    unread,
  ]);
  await wire.agent("scribe").markRead("all");
  expect((await troubles(wire, "scribe")).map(({ code }) => code)).toEqual(["safe_mode"]);
});

test("our own log in which another program has written stops the sending, which is trouble", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "one", body: "x" });
  const own = "forge_to_scribe.jsonl";
  const again = wire.forge("forge", { subject: "not ours", to: ["scribe"] });
  wire.append(own, textOf(again));
  await wire.pass(MINUTE);
  expect(await wrong(wire)).toEqual([["identity_in_use", "deaddrop key reclaim"]]);
});
