import { join } from "node:path";
import { expect, test } from "vitest";
import type { AgentPaths } from "../../src/storage/paths.ts";
import { openHeads } from "../../src/storage/own-log/heads.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { nextPoint } from "../support/amounts.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import {
  ack,
  recoverAndCheck,
  incident,
  MINUTE,
  proposal,
  faultScene,
  say,
  SECOND,
  send,
  up,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

const PAIR = ["forge", "scribe"];
const SEEN_IN = "/wire/_coordination";

/** Some of everything has happened between forge and scribe. */
async function busyScene(): Promise<FaultScene> {
  const scene = await faultScene(PAIR);
  const { wire } = scene;
  const id = await send(scene, "forge", proposal("scribe", "Use tabs"));
  await wire.pass(5 * SECOND);
  await ack(scene, "scribe", id ?? "");
  await send(scene, "scribe", say("one"), incident("forge"));
  await wire.pass(5 * SECOND);
  await wire.rest();
  await send(scene, "scribe", say("two"));
  await send(scene, "forge", say("three"));
  await wire.pass(5 * SECOND);
  return scene;
}

function change(scene: FaultScene, path: string, to: (bytes: Buffer) => Buffer): void {
  const process = scene.wire.disk.process();
  const file = process.open(path, "read");
  const bytes = to(Buffer.from(file.read(file.stat().size, 0)));
  file.close();
  process.replace(path, bytes, 0o600);
}

function remove(scene: FaultScene, path: string): void {
  scene.wire.disk.process().remove(path);
}

const FILES: readonly (keyof AgentPaths & ("journal" | "inbox" | "checkpoint"))[] = [
  "journal",
  "inbox",
  "checkpoint",
];

for (const name of FILES) {
  test(`${name} is deleted: all of it is there again, nothing twice`, async () => {
    const scene = await busyScene();
    scene.wire.kill("forge");
    remove(scene, scene.wire.paths("forge")[name]);
    await recoverAndCheck(scene);
    await scene.wire.expectReplayAndAuditEqualLive("forge");
    await scene.checker.check();
  });
}

test("the inbox is deleted while the daemon runs", async () => {
  const scene = await busyScene();
  remove(scene, scene.wire.paths("forge").inbox);
  await send(scene, "scribe", say("four"));
  // It is noticed with the next round; a second later the daemon tries again.
  await scene.wire.pass(1_000);
  await scene.wire.pass(2_000);
  await recoverAndCheck(scene);
});

test("the inbox is cut anywhere: it is completed", async () => {
  for (const keep of [0, 1, 500, 1_000, 1_700]) {
    const scene = await busyScene();
    scene.wire.kill("forge");
    change(scene, scene.wire.paths("forge").inbox, (bytes) => bytes.subarray(0, keep));
    await recoverAndCheck(scene);
  }
});

test("a checkpoint is damaged anywhere: it is not believed", async () => {
  for (let at = 0; at < 2_000; at += 97) {
    const scene = await busyScene();
    scene.wire.kill("forge");
    change(scene, scene.wire.paths("forge").checkpoint, (bytes) => {
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes;
    });
    await recoverAndCheck(scene);
  }
});

/** What scribe's log has shown is out of forge's memory, and forge is down. */
async function settledScene(): Promise<{ scene: FaultScene; rows: string; first: string }> {
  const scene = await busyScene();
  const { wire } = scene;
  await wire.stop("forge");
  await wire.start("forge");
  const rows = join(wire.paths("forge").shownRows, "scribe_to_forge.rows");
  expect(wire.read(rows).length).toBeGreaterThan(0);
  return { scene, rows, first: wire.lines("scribe_to_forge.jsonl")[0] ?? "" };
}

/** What the journal says of scribe's lines. */
function verdictsOf(journal: string): (string | undefined)[] {
  const entries = journal.split("\n").filter((line) => line.includes('"log":"scribe_to_forge"'));
  return entries.map((line) => {
    const { verdict, reason } = JSON.parse(line) as { verdict?: string; reason?: string };
    return reason ?? verdict;
  });
}

const ROW_DAMAGE: readonly (readonly [string, (scene: FaultScene, rows: string) => void])[] = [
  ["are there", () => undefined],
  ["are deleted", remove],
  ["are cut", (scene, rows) => change(scene, rows, (bytes) => bytes.subarray(0, 30))],
  ["are zeros", (scene, rows) => change(scene, rows, (bytes) => bytes.fill(0, 24))],
  [
    "are of another log",
    (scene, rows) => change(scene, rows, (bytes) => Buffer.concat([bytes.fill(7, 0, 8)])),
  ],
];

test.each(ROW_DAMAGE)(
  "rows of what a log has shown %s: a copy is a duplicate, and nothing comes twice",
  async (_how, damage) => {
    const { scene, rows, first } = await settledScene();
    const { wire } = scene;
    const before = (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);
    await wire.stop("forge");
    damage(scene, rows);
    await wire.start("forge");
    wire.append("scribe_to_forge.jsonl", `${first}\n`);
    await wire.pass(MINUTE);
    wire.kill("forge");
    expect(verdictsOf(wire.read(wire.paths("forge").journal)).at(-1)).toBe("duplicate");
    await wire.start("forge");
    const subjects = (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);
    expect(subjects).toEqual(before);
    await wire.expectReplayAndAuditEqualLive("forge");
  },
);

test("the journal loses its tail: what is in the inbox does not come twice", async () => {
  for (let lost = 1; lost < 3_000; lost += 113) {
    const scene = await busyScene();
    scene.wire.kill("forge");
    const { journal } = scene.wire.paths("forge");
    change(scene, journal, (bytes) => bytes.subarray(0, Math.max(0, bytes.length - lost)));
    await recoverAndCheck(scene);
  }
});

test("after a lost journal the daemon dies at each operation: nothing comes twice", async () => {
  for (let at = 1; ; at = nextPoint(at)) {
    const scene = await busyScene();
    const { wire } = scene;
    wire.kill("forge");
    remove(scene, wire.paths("forge").journal);
    const process = wire.disk.process();
    process.failAt(at, "crash");
    if (await up(scene, "forge", process)) await wire.attempt("forge", (agent) => agent.tick());
    const died = !wire.isUp("forge");
    process.heal();
    await recoverAndCheck(scene);
    await wire.expectReplayAndAuditEqualLive("forge");
    if (!died) return;
  }
});

test("a checkpoint of a journal that is lost is not mixed with the one that follows", async () => {
  const scene = await busyScene();
  const { wire } = scene;
  wire.kill("forge");
  remove(scene, wire.paths("forge").journal);
  await up(scene, "forge");
  for (let more = 0; more < 10; more += 1) {
    await send(scene, "scribe", say(`more ${more}`));
    await wire.settle();
  }
  wire.kill("forge");
  await recoverAndCheck(scene);
  await wire.expectReplayAndAuditEqualLive("forge");
});

test("what is sent right after a restart is dated after all that was sent before", async () => {
  const scene = await faultScene(PAIR);
  await send(scene, "forge", say("one"), say("two"));
  scene.wire.kill("forge");
  await up(scene, "forge");
  await send(scene, "forge", say("three"));
  await recoverAndCheck(scene);
});

test("an inbox that is rebuilt holds no bytes that were never verified", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start("forge");
  const log = "scribe_to_forge";
  const honest = Buffer.from(wire.forge("scribe", log, { subject: "honest" }).line).toString();
  wire.append(`${log}.jsonl`, `${honest}\n`);
  await wire.settle();
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").inbox);
  wire.replace(`${log}.jsonl`, `${honest.replace("honest", "forged")}\n`);
  await wire.start("forge");
  expect(wire.read(wire.paths("forge").inbox)).not.toContain("forged");
});

test("a peer's log that held only junk is deleted: we start all the same", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start("forge");
  wire.append("scribe_to_forge.jsonl", "junk\n");
  await wire.settle();
  wire.kill("forge");
  wire.disk.process().remove(join(SEEN_IN, "scribe_to_forge.jsonl"));
  await wire.start("forge");
  await wire.pass(MINUTE);
  expect(wire.isUp("forge")).toBe(true);
});

test("a journal does not grow by being read again", async () => {
  const scene = await busyScene();
  const { wire } = scene;
  const { journal, checkpoint } = wire.paths("forge");
  const entries = (): string[] =>
    wire.lines(journal).filter((line) => !line.includes('"started"') && !line.includes('"own"'));
  const before = entries();
  for (let restarts = 0; restarts < 3; restarts += 1) {
    wire.kill("forge");
    remove(scene, checkpoint);
    await up(scene, "forge");
    await wire.settle();
  }
  expect(entries()).toEqual(before);
});

test("a line that a power cut left as a hole is waited for, and told as nothing else", async () => {
  const scene = await faultScene(PAIR);
  const { wire } = scene;
  const log = join(SEEN_IN, "scribe_to_forge.jsonl");
  wire.kill("forge");
  const id = await send(scene, "scribe", say("one"));
  wire.kill("scribe");
  const whole = wire.read(log);
  change(scene, log, (bytes) => bytes.fill(0, bytes.length - 300, bytes.length - 100));
  await up(scene, "forge");
  await wire.pass(2 * MINUTE);
  wire.replace("scribe_to_forge.jsonl", whole);
  await recoverAndCheck(scene);
  const { receipts } = await wire.agent("scribe").view("receipt", { event_id: id ?? "" });
  expect(receipts).not.toContainEqual(expect.objectContaining({ state: "refused" }));
});

test("zero bytes that somebody else wrote into a log hold up nothing", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start();
  wire.append("scribe_to_forge.jsonl", "\u0000\u0000\u0000\n");
  await wire.send("scribe", { to: ["forge"], type: "feedback", subject: "one", body: "x" });
  const [message] = await wire.agent("forge").view("inbox", {});
  expect(message?.subject).toBe("one");
});

test("a fork is told once and is in incident_log.jsonl at most once, wherever we die", async () => {
  for (let at = 1; ; at += 1) {
    const wire = new SimulatedWire(PAIR, { withFaults: true });
    await wire.start("forge");
    const log = "scribe_to_forge";
    const lines = [wire.forge("scribe", log, {}), wire.forge("scribe", log, { subject: "other" })];
    wire.append(
      `${log}.jsonl`,
      lines.map(({ line }) => `${Buffer.from(line).toString()}\n`).join(""),
    );
    wire.process("forge").failAt(at, "crash");
    await wire.attempt("forge", (agent) => agent.tick());
    const died = !wire.isUp("forge");
    wire.process("forge").heal();
    if (died) await wire.start("forge");
    await wire.pass(MINUTE);
    const told = wire.lines("incident_log.jsonl").filter((line) => line.includes("log_forked"));
    expect(told.length, `died at operation ${at}`).toBeLessThanOrEqual(1);
    const notices = await wire.agent("forge").view("notices", undefined);
    const causes = notices.map(({ cause }) => cause).filter((cause) => cause === "log_forked");
    expect(causes, `died at operation ${at}`).toHaveLength(1);
    const peers = await wire.agent("forge").view("peers", undefined);
    expect(peers[0]?.held, `died at operation ${at}`).toBe(true);
    if (!died) return;
  }
});

test("a line that its author has restored while others were missing counts in a replay, too", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start("forge");
  const log = "scribe_to_forge";
  const text = ({ line }: { line: Uint8Array }) => `${Buffer.from(line).toString()}\n`;
  const one = wire.forge("scribe", log, { subject: "one" });
  const two = wire.forge("scribe", log, { subject: "two", after: { seq: 1, id: one.id } });
  const three = wire.forge("scribe", log, { subject: "three", after: { seq: 2, id: two.id } });
  wire.append(`${log}.jsonl`, `${text(one)}${text(two)}{"half of":"the third"}\n`);
  await wire.pass(MINUTE);
  wire.kill("forge");
  wire.replace(`${log}.jsonl`, text(one));
  await wire.start("forge");
  wire.replace(`${log}.jsonl`, text(one) + text(two) + text(three));
  await wire.pass(MINUTE);
  const subjects = (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);
  expect(subjects).toEqual(["one", "two", "three"]);
  await wire.expectReplayEqualsLive("forge");
});

/** Three requests of scribe's are in forge's inbox; the log that had them is taken away, and kept. */
async function lostRequests(): Promise<{ wire: SimulatedWire; whole: string; ids: string[] }> {
  const wire = new SimulatedWire(PAIR);
  await wire.start("forge");
  const log = "scribe_to_forge";
  const ids: string[] = [];
  let whole = "";
  for (const [at, subject] of ["one", "two", "three"].entries()) {
    const id = ids.at(-1);
    const after = id === undefined ? {} : { after: { seq: at, id } };
    const made = wire.forge("scribe", log, { type: "request", subject, ...after });
    ids.push(made.id);
    whole += `${Buffer.from(made.line).toString()}\n`;
  }
  wire.append(`${log}.jsonl`, whole);
  await wire.pass(MINUTE);
  return { wire, whole, ids };
}

test("what our agent has answered stays read when its log loses it and is given it back", async () => {
  const { wire, whole, ids } = await lostRequests();
  const second = ids[1] ?? "";
  const { correlation_id: correlationId } = await wire
    .agent("forge")
    .view("resolve_id", { id: second });
  const reply = { type: "ack", subject: "ack", body: fromPlain({ acks: second }), correlationId };
  await wire.agent("forge").send([[{ to: ["scribe"], ...reply }]]);
  await wire.pass(MINUTE);
  const unread = async () => (await wire.agent("forge").view("status", undefined)).unread;
  expect(await unread()).toBe(1);
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  wire.replace("scribe_to_forge.jsonl", "");
  await wire.start("forge");
  wire.replace("scribe_to_forge.jsonl", whole);
  await wire.pass(MINUTE);
  expect(await unread()).toBe(1);
  await wire.expectReplayEqualsLive("forge");
});

test.each(["while the daemon is down", "while it runs"])(
  "an inbox that is deleted when a log lacks its lines gets them when they come back: %s",
  async (when) => {
    const { wire, whole } = await lostRequests();
    await wire.rest();
    if (when === "while the daemon is down") wire.kill("forge");
    wire.replace("scribe_to_forge.jsonl", "");
    wire.disk.process().remove(wire.paths("forge").inbox);
    if (when === "while the daemon is down") await wire.start("forge");
    else await wire.rest();
    wire.replace("scribe_to_forge.jsonl", whole);
    await wire.pass(MINUTE);
    const { inbox } = wire.paths("forge");
    const file = wire.disk.process().open(inbox, "read");
    const text = Buffer.from(file.read(file.stat().size, 0)).toString("utf8");
    const subjects = [...text.matchAll(/"subject":"([^"]+)"/g)].map(([, subject]) => subject);
    expect(subjects).toEqual(["one", "two", "three"]);
    await wire.expectReplayEqualsLive("forge");
  },
);

test("what was read while its log lacked it stays read after a start from a checkpoint of then", async () => {
  const { wire, whole } = await lostRequests();
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  wire.replace("scribe_to_forge.jsonl", whole.slice(0, whole.indexOf("\n") + 1));
  await wire.start("forge");
  await wire.agent("forge").markRead("all");
  await wire.agent("forge").sync();
  expect(wire.disk.lookUp(wire.paths("forge").checkpoint)).toBeDefined();
  wire.replace("scribe_to_forge.jsonl", whole);
  // Before our next heartbeat says how far has been read.
  await wire.pass(2 * SECOND);
  const unread = async () => (await wire.agent("forge").view("status", undefined)).unread;
  expect(await unread()).toBe(0);
  wire.kill("forge");
  await wire.start("forge");
  expect(await unread()).toBe(0);
  await wire.expectReplayEqualsLive("forge");
});

test("a daemon that dies before heads.json is written finds the heads in its journal", async () => {
  const wire = new SimulatedWire(PAIR);
  await wire.start();
  const { heads } = wire.paths("forge");
  const remembered = () => openHeads(wire.disk.process(), heads).peer("scribe_to_forge");
  await wire.post("scribe", { ...say("one"), body: { text: "one" } });
  await wire.agent("forge").tick();
  const last = wire.head("scribe_to_forge");
  expect(remembered()?.seq ?? 0).toBeLessThan(last?.seq ?? 0);
  wire.kill("forge");
  await wire.start("forge");
  await wire.rest();
  expect(remembered()?.seq).toBeGreaterThanOrEqual(last?.seq ?? 0);
});
