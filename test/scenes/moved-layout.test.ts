import { expect, test } from "vitest";
import { moveDraft } from "../../src/setup/wire/move-draft.ts";
import { readWhole } from "../../src/storage/disk/disk.ts";
import { ack, entriesOf, note, propose, statusOf } from "../support/scripts/proposal-scene.ts";
import { SimulatedWire } from "../support/scenes/simulated-wire.ts";
import { take } from "../support/scenes/taking-outboxes.ts";

const MINUTE = 60_000;

const waits = async (wire: SimulatedWire, who: string, peer: string) =>
  (await wire.agent(who).view("peers", undefined))
    .filter(({ handle }) => handle === peer)
    .flatMap((each) => (each.waits ?? []).map(({ log, because }) => `${log} ${because}`));

const subjects = async (wire: SimulatedWire, who: string): Promise<string[]> =>
  (await wire.agent(who).view("inbox", {})).map(({ subject }) => subject);

test("three agents with a log for each pair move one after the other, and decide on", async () => {
  const wire = new SimulatedWire(["forge", "mason", "scribe"], { layout: "pairwise" });
  await wire.start();
  const open = await propose(wire, "forge", ["scribe"], "begun before");
  const other = await propose(wire, "mason", ["forge"], "between others");
  await take(wire, "forge");
  await ack(wire, "scribe", open);
  await wire.pass(2 * MINUTE);
  // Scribe's word is in the log of the pair, and what decides is in the outbox of forge.
  expect(await statusOf(wire, "forge", open)).toBe("ratified");
  expect(await statusOf(wire, "mason", open)).toBe("open");
  await take(wire, "scribe", "mason");
  await ack(wire, "forge", other);
  await wire.pass(2 * MINUTE);
  for (const who of wire.roster) {
    expect(await statusOf(wire, who, open)).toBe("ratified");
    expect(await statusOf(wire, who, other)).toBe("ratified");
    await wire.expectReplayAndAuditEqualLive(who);
  }
  const all = await propose(wire, "scribe", ["forge", "mason"], "all of us", {
    body: { required: ["forge", "mason"] },
  });
  await ack(wire, "forge", all);
  await ack(wire, "mason", all);
  await wire.pass(2 * MINUTE);
  expect(await statusOf(wire, "mason", all)).toBe("ratified");
  expect(entriesOf(wire, "decisions.jsonl")).toHaveLength(3);
});

test("what an outbox says waits until its closed log has come to its end, also after a restart", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  const open = await propose(wire, "forge", ["scribe"], "begun before");
  const before = wire.read("scribe_to_forge.jsonl");
  // Scribe rejects it in the log of the pair, and agrees in its outbox, before forge reads either.
  await wire.stop("forge");
  await ack(wire, "scribe", open, { approve: false });
  await take(wire, "scribe");
  await ack(wire, "scribe", open, { approve: true });
  await take(wire, "forge");
  await wire.start("forge");
  await wire.pass(2 * MINUTE);
  expect(await statusOf(wire, "forge", open)).toBe("ratified");
  await wire.send("scribe", note(["forge"], "after"));
  await wire.rest();
  const whole = wire.read("scribe_to_forge.jsonl");
  // A copy of the folder that is older for this file alone; the journal is replayed from its beginning.
  await wire.stop("scribe");
  await wire.stop("forge");
  wire.replace("scribe_to_forge.jsonl", before);
  wire.disk.process().remove(wire.paths("forge").checkpoint);
  await wire.start("forge");
  expect(await waits(wire, "forge", "scribe")).toContain("scribe closing");
  expect(entriesOf(wire, "decisions.jsonl")).toHaveLength(1);
  wire.replace("scribe_to_forge.jsonl", whole);
  await wire.pass(2 * MINUTE);
  expect(await waits(wire, "forge", "scribe")).toEqual([]);
  expect(await statusOf(wire, "forge", open)).toBe("ratified");
  expect(entriesOf(wire, "decisions.jsonl")).toHaveLength(1);
  expect((await subjects(wire, "forge")).filter((each) => each === "after")).toHaveLength(1);
  await wire.start("scribe");
  await wire.pass(2 * MINUTE);
  await wire.expectReplayAndAuditEqualLive("forge");
});

test("a line after the closing line is refused, kept, and forks nothing", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  await take(wire, "forge", "scribe");
  await wire.send("scribe", note(["forge"], "in the outbox"));
  await wire.stop("scribe");
  for (const subject of ["one more", "another one more"]) {
    const { line } = wire.forge("scribe", "scribe_to_forge", { subject });
    wire.append("scribe_to_forge.jsonl", `${Buffer.from(line).toString("utf8")}\n`);
  }
  await wire.pass(2 * MINUTE);
  expect(await subjects(wire, "forge")).toEqual(["in the outbox"]);
  const kept = wire.lines(wire.paths("forge").quarantine);
  expect(kept.filter((each) => each.includes('"closed_log"'))).toHaveLength(2);
  const { holds } = await wire.agent("forge").view("holds", { peer: "scribe" });
  expect(holds).toEqual([]);
  await wire.expectEveryReaderAgrees("forge");
});

test("what was said while we read the logs of the pair alone comes when our operator takes the layout", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  await take(wire, "forge");
  await wire.send("forge", note(["scribe"], "in the outbox"));
  await wire.send("scribe", note(["forge"], "in the log of the pair"));
  await wire.pass(2 * MINUTE);
  expect(await subjects(wire, "scribe")).toEqual([]);
  expect(await subjects(wire, "forge")).toEqual(["in the log of the pair"]);
  await take(wire, "scribe");
  await wire.pass(2 * MINUTE);
  expect(await subjects(wire, "scribe")).toEqual(["in the outbox"]);
  const sent = await wire.agent("forge").view("sent", {});
  expect(sent[0]?.receipts.map(({ state }) => state)).toEqual(["delivered"]);
  for (const who of wire.roster) await wire.expectReplayAndAuditEqualLive(who);
});

test("no beat names a closed log once it has been read to its end", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  await wire.send("scribe", note(["forge"], "unread"));
  await take(wire, "forge", "scribe");
  const named = () =>
    wire.lines("outbox/forge.jsonl").flatMap((line) => {
      const { body } = JSON.parse(line) as { body: { heads?: Record<string, unknown> } };
      return body.heads === undefined ? [] : [Object.keys(body.heads)];
    });
  await wire.pass(5 * MINUTE);
  expect(named().at(-1)).toContain("scribe_to_forge");
  await wire.agent("forge").markRead("all");
  await wire.pass(20 * MINUTE);
  expect(named().at(-1)).toEqual(["scribe"]);
});

test("an agent whose pinned configuration is put back from before its move writes nothing until that is taken again", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  const { pinnedConfig } = wire.paths("forge");
  const before = readWhole(wire.disk.process(), pinnedConfig) ?? new Uint8Array(0);
  const { subject, body } = moveDraft("scribe");
  await ack(wire, "scribe", await propose(wire, "forge", ["scribe"], subject, { body }));
  await wire.pass(2 * MINUTE);
  await take(wire, "forge", "scribe");
  const [closed, outbox] = [wire.read("forge_to_scribe.jsonl"), wire.read("outbox/forge.jsonl")];
  await wire.stop("forge");
  wire.disk.process().replace(pinnedConfig, before, 0o600);
  await wire.start("forge");
  await wire.pass(5 * MINUTE);
  await expect(wire.send("forge", note(["scribe"], "to the closed log"))).rejects.toThrow(
    "has moved to it",
  );
  expect(wire.read("forge_to_scribe.jsonl")).toBe(closed);
  const troubles = await wire.agent("forge").view("troubles", undefined);
  expect(troubles).toContainEqual(
    expect.objectContaining({ what: "sending", end: "deaddrop layout accept" }),
  );
  await take(wire, "forge");
  await wire.send("forge", note(["scribe"], "in the outbox again"));
  await wire.pass(2 * MINUTE);
  expect(wire.read("outbox/forge.jsonl").startsWith(outbox)).toBe(true);
  expect(await subjects(wire, "scribe")).toContain("in the outbox again");
  await wire.expectReplayAndAuditEqualLive("scribe");
});

test("an audit reads an outbox after its closed logs, although its author's clock was set back before the move", async () => {
  const wire = new SimulatedWire(["forge", "scribe"], {});
  await wire.start();
  await wire.pass(90 * MINUTE);
  const open = await propose(wire, "scribe", ["forge"], "before the move");
  await ack(wire, "forge", open);
  await wire.settle();
  wire.setClock("scribe", -60 * MINUTE);
  await wire.pass(2 * MINUTE);
  expect(await statusOf(wire, "scribe", open)).toBe("ratified");
  await take(wire, "forge", "scribe");
  await wire.send("scribe", note(["forge"], "dated an hour before"));
  await wire.pass(20 * MINUTE);
  await wire.expectReplayAndAuditEqualLive("forge");
});
