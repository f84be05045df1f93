import { expect, test } from "vitest";
import type { Composed } from "../../src/wire/compose.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";
import { MINUTE, SECOND } from "../support/scenes/fault-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { evidenceFor } from "../../src/storage/files/evidence.ts";

// Logs that forked, were rewritten or begin late, and what the operator decides. Spec 1.6.
const sceneOf = checkedScenes("replay");

const LOG = "scribe_to_forge";
const FILE = `${LOG}.jsonl`;

const text = ({ line }: Composed): string => `${Buffer.from(line).toString("utf8")}\n`;
const after = ({ message }: Composed) => ({ seq: message.seq ?? 0, id: message.id });

async function write(wire: SimulatedWire, ...lines: readonly Composed[]): Promise<void> {
  wire.append(FILE, lines.map(text).join(""));
  await wire.settle();
}

async function inbox(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("inbox", {})).map(({ subject }) => subject);
}

async function causes(wire: SimulatedWire): Promise<string[]> {
  return (await wire.agent("forge").view("notices", undefined)).map(({ cause }) => cause);
}

const holds = (wire: SimulatedWire) => wire.agent("forge").view("holds", { peer: "scribe" });

/** One, another one in its place, and two that follows the first. */
async function fork(wire: SimulatedWire) {
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const other = wire.forge("scribe", LOG, { subject: "another one", after: "nothing" });
  const two = wire.forge("scribe", LOG, { subject: "two", after: after(one) });
  await write(wire, one, other, two);
  return { one, other, two };
}

test("a fork: both lines are kept byte for byte before it is told, and the incident names the file", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const { one, other } = await fork(wire);
  const { holds: found } = await holds(wire);
  expect(found).toMatchObject([{ log: LOG, cause: "log_forked", taken_from: "here" }]);
  const [path = ""] = found[0]?.evidence ?? [];
  expect(path).toMatch(/\/evidence\/scribe-scribe_to_forge-1\.jsonl$/u);
  const [head, ...kept] = wire.lines(path).map((line) => JSON.parse(line) as { line: string });
  expect(head).toMatchObject({ evidence: "log_forked", peer: "scribe", log: LOG });
  expect(kept).toMatchObject([
    { which: "held", seq: 1, id: one.message.id, offset: 0, line: text(one).trimEnd() },
    { which: "other", seq: 1, id: other.message.id, line: text(other).trimEnd() },
  ]);
  const [notice] = await wire.agent("forge").view("notices", undefined);
  expect(notice?.cause).toBe("log_forked");
  expect(notice?.detail).toContain("scribe-scribe_to_forge-1.jsonl");
  expect(notice?.detail).not.toContain("/state/");
});

test("after a reset what waited and what is new comes in, what forked does not, and nothing twice", async () => {
  const wire = sceneOf(["forge", "quill", "scribe"]);
  await wire.start("forge", "quill");
  const { other, two } = await fork(wire);
  await wire.send("quill", { to: ["forge"], type: "feedback", subject: "hello", body: "x" });
  expect(await inbox(wire)).toEqual(["one", "hello"]);
  await wire.agent("forge").resetPeer("scribe");
  await wire.settle();
  expect(await inbox(wire)).toEqual(["one", "hello", "two"]);
  expect((await holds(wire)).holds).toEqual([]);
  expect(await causes(wire)).toEqual(["log_forked", "reset"]);
  // Copies of what is known, the forking line among them, hold nobody again.
  await write(wire, two, other, wire.forge("scribe", LOG, { subject: "three", after: after(two) }));
  expect(await inbox(wire)).toEqual(["one", "hello", "two", "three"]);
  const peers = await wire.agent("forge").view("peers", undefined);
  expect(peers.find(({ handle }) => handle === "scribe")?.held).toBe(false);
});

test("who forks again is held again, and the first evidence stays", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const { two } = await fork(wire);
  await wire.agent("forge").resetPeer("scribe");
  await wire.settle();
  await write(
    wire,
    wire.forge("scribe", LOG, {
      subject: "not two",
      after: { seq: 1, id: two.message.prev ?? "" },
    }),
  );
  const { holds: found, evidence } = await holds(wire);
  expect(found).toMatchObject([{ cause: "log_forked" }]);
  expect(evidence.map((path) => path.slice(path.lastIndexOf("/") + 1))).toEqual([
    "scribe-scribe_to_forge-1.jsonl",
    "scribe-scribe_to_forge-2.jsonl",
  ]);
});

test("a log that begins late waits; after a reset it is taken from there, and its archive may follow", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start("forge");
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const two = wire.forge("scribe", LOG, { subject: "two", after: after(one) });
  const three = wire.forge("scribe", LOG, { subject: "three", after: after(two) });
  await write(wire, two, three);
  expect(await inbox(wire)).toEqual([]);
  expect((await holds(wire)).holds).toMatchObject([{ log: LOG, cause: "log_gap" }]);
  await wire.agent("forge").resetPeer("scribe");
  await wire.settle();
  expect(await inbox(wire)).toEqual(["two", "three"]);
  await write(wire, one);
  expect(await inbox(wire)).toEqual(["two", "three", "one"]);
  expect((await holds(wire)).holds).toEqual([]);
});

test("a hold of a rewritten log outlives the checkpoint and the old bytes; a reset reads what is there", async () => {
  // What its author has destroyed cannot be replayed: threads of it are gone without the checkpoint.
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const two = wire.forge("scribe", LOG, { subject: "two", after: after(one) });
  await write(wire, one, two);
  const whole = wire.read(FILE);
  const other = wire.forge("scribe", LOG, { subject: "never two", after: after(one) });
  wire.replace(FILE, text(one) + text(other));
  await wire.pass(MINUTE);
  expect(await causes(wire)).toEqual(["log_rewritten"]);
  const { holds: found } = await holds(wire);
  expect(found).toMatchObject([{ log: LOG, cause: "log_rewritten", taken_from: "beginning" }]);
  const kept = wire.lines(found[0]?.evidence[0] ?? "").slice(1);
  expect(kept.map((line) => JSON.parse(line) as object)).toMatchObject([
    { which: "held", id: two.message.id, line: text(two).trimEnd() },
    { which: "other", id: other.message.id, line: text(other).trimEnd() },
  ]);

  // Its author puts it back and we start without a checkpoint: the operator has not decided yet.
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  wire.replace(FILE, whole);
  await wire.start("forge");
  expect((await holds(wire)).holds).toMatchObject([{ cause: "log_rewritten" }]);
  wire.replace(FILE, text(one) + text(other));

  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(MINUTE);
  expect(await inbox(wire)).toEqual(["one", "two", "never two"]);
  await write(wire, wire.forge("scribe", LOG, { subject: "three", after: after(other) }));
  expect(await inbox(wire)).toEqual(["one", "two", "never two", "three"]);
  const [thread] = await wire.agent("forge").view("thread", { id: other.message.id });
  expect(thread?.messages.map(({ subject }) => subject)).toContain("never two");

  // The same after a restart without checkpoint, and copies of what was known are no news.
  wire.kill("forge");
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  await wire.start("forge");
  await write(wire, two);
  expect(await inbox(wire)).toEqual(["one", "two", "never two", "three"]);
  expect((await holds(wire)).holds).toEqual([]);
  expect(await causes(wire)).toEqual(["log_rewritten", "reset"]);
});

test("receipts over a log that began again count the lines that its author has", async () => {
  const wire = new SimulatedWire(["forge", "scribe"]);
  await wire.start("forge");
  const one = wire.forge("scribe", LOG, { subject: "one" });
  const two = wire.forge("scribe", LOG, { subject: "two", after: after(one) });
  await write(wire, one, two);
  await wire.pass(5 * SECOND);
  const anew = wire.forge("scribe", LOG, { subject: "anew", after: "nothing" });
  wire.replace(FILE, text(anew));
  await wire.pass(MINUTE);
  await wire.agent("forge").resetPeer("scribe");
  await wire.pass(5 * SECOND);
  await wire.agent("forge").markRead("all");
  await wire.pass(10 * MINUTE);
  const beat = wire.lines("forge_to_scribe.jsonl").at(-1) ?? "";
  const { body } = JSON.parse(beat) as { body: { heads: Record<string, object> } };
  const head = { lines: 1, seq: 1, event_id: anew.message.id, read_lines: 1, refused: [] };
  expect(body.heads[LOG]).toEqual(head);
  expect(await inbox(wire)).toEqual(["one", "two", "anew"]);
});

test("our key used elsewhere: a restart does not talk it away, and reclaiming it goes on after the last line", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  await wire.send("forge", { to: ["scribe"], type: "feedback", subject: "before", body: "x" });
  // Beats name places in other logs, which are further on than our own.
  for (const subject of ["a", "b", "c", "d", "e", "f"]) {
    await wire.send("scribe", { to: ["forge"], type: "feedback", subject, body: "x" });
  }
  await wire.pass(MINUTE);
  const foreign = wire.forge("forge", "forge_to_scribe", { subject: "by the other copy" });
  wire.append("forge_to_scribe.jsonl", text(foreign));
  await wire.pass(MINUTE);
  const say = { to: ["scribe"], type: "feedback", subject: "me again", body: "x" };
  await expect(wire.send("forge", say)).rejects.toMatchObject({ code: "storage" });
  await wire.rest();
  wire.kill("forge");
  await wire.start("forge");
  await expect(wire.send("forge", say)).rejects.toMatchObject({ code: "storage" });

  const answer = await wire.agent("forge").reclaim();
  expect(answer).toMatchObject({ logs: [{ log: "forge_to_scribe" }], given_up: [] });
  await wire.send("forge", say);
  await wire.pass(5 * SECOND);
  const got = (await wire.agent("scribe").view("inbox", {})).map(({ subject }) => subject);
  expect(got).toEqual(["before", "by the other copy", "me again"]);
  const told = await wire.agent("scribe").view("notices", undefined);
  expect(told.map(({ cause }) => cause)).toEqual([]);
  expect(await causes(wire)).toEqual(["identity_in_use", "reset"]);
});

test("our own log forked by another copy: after both operators have decided it goes on", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const own = "forge_to_scribe";
  const before = wire.head(own);
  const say = (subject: string) => ({ to: ["scribe"], type: "feedback", subject, body: "x" });
  await wire.send("forge", say("mine"));
  const theirs = wire.forge("forge", own, {
    subject: "theirs",
    ...(before === undefined ? {} : { after: before }),
  });
  const next = wire.forge("forge", own, { subject: "theirs too", after: after(theirs) });
  const last = wire.forge("forge", own, { subject: "theirs at last", after: after(next) });
  wire.append(`${own}.jsonl`, [theirs, next, last].map(text).join(""));
  await wire.pass(MINUTE);
  expect(await causes(wire)).toEqual(["identity_in_use"]);
  // What is in our own log is there for us to read: evidence is kept of peers.
  const { paths } = wire.agent("forge").place;
  expect(evidenceFor(wire.disk.process(), paths.evidence, "forge", own)).toEqual([]);
  const scribe = wire.agent("scribe");
  expect((await scribe.view("peers", undefined))[0]?.held).toBe(true);
  await wire.agent("forge").reclaim();
  await scribe.resetPeer("forge");
  await wire.settle();
  await wire.send("forge", say("mine again"));
  await wire.pass(5 * SECOND);
  const got = (await scribe.view("inbox", {})).map(({ subject }) => subject);
  expect(got).toEqual(["mine", "theirs too", "theirs at last", "mine again"]);
  expect((await scribe.view("peers", undefined))[0]?.held).toBe(false);
});
