import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { composeLine, nextTimestamp, type Draft } from "../../src/wire/compose.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { placeJson } from "../../src/wire/places.ts";
import { corePlace, CoreWire } from "../support/core-wire.ts";

// Agents on one wire over real files: lines go out, come in, are answered, and what was agreed is closed.

const root = mkdtempSync(join(tmpdir(), "deaddrop-core-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

test("mail arrives once, is shown read, and survives restarts of both sides", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const sent = wire.agent("forge").say("hello");
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual(["hello"]);
  for (const agent of wire.agents.values()) agent.restart();
  wire.agent("forge").core.publish();
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual(["hello"]);
  wire.beat();
  await wire.settle();
  expect(wire.agent("forge").receipt(sent, "scribe")).toBe("delivered");
  const inbox = readFileSync(wire.agent("scribe").inboxPath, "utf8");
  expect(inbox).toBe(`${Buffer.from(sent.bytes).toString()}\n`);
  wire.agent("scribe").core.markRead("all");
  wire.beat();
  await wire.settle();
  expect(wire.agent("forge").receipt(sent, "scribe")).toBe("read");
});

test("what all have agreed to is closed by the asker, and approved for everybody", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const ask = wire.agent("forge").propose("Freeze the format.", ["scribe", "ann"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, true);
  await wire.settle();
  expect(wire.agent("ann").states(ask.thread)).toEqual(["open"]);
  wire.agent("ann").answer(ask, true);
  await wire.settle();
  for (const agent of wire.agents.values())
    expect([agent.name, agent.states(ask.thread)]).toEqual([agent.name, ["approved"]]);
});

test("a rejecting answer ends what was asked", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const ask = wire.agent("forge").propose("Rewrite it.", ["scribe"]);
  await wire.settle();
  wire.agent("scribe").answer(ask, false);
  await wire.settle();
  for (const agent of wire.agents.values()) expect(agent.states(ask.thread)).toEqual(["ended"]);
});

test("the wire's folder is deleted while all run: everything is back, byte for byte", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  for (const each of ["one", "two"]) wire.agent("forge").say(each);
  wire.agent("ann").say("three");
  await wire.settle();
  const chainsOf = (): string[] =>
    ["forge", "ann"].map((name) =>
      readFileSync(join(wire.dir, "outbox", `${name}.jsonl`), "utf8")
        .split("\n")
        .filter((line) => line.includes('"seq":'))
        .join("\n"),
    );
  const before = chainsOf();
  rmSync(wire.dir, { recursive: true });
  mkdirSync(wire.dir);
  await wire.settle();
  expect(chainsOf()).toEqual(before);
  expect(wire.agent("scribe").mail.toSorted()).toEqual(["one", "three", "two"]);
});

test("an incident that is read and not acked stops the addressee until it acks", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const body = fromPlain({ severity: "high", text: "CI is red" });
  const incident = wire.agent("forge").say("red", { type: "incident", priority: "high", body });
  await wire.settle();
  const { core } = wire.agent("scribe");
  core.markRead("all");
  for (let time = 0; time < 10; time += 1) {
    wire.beat();
    await wire.settle(2, 90_000);
  }
  expect(core.safeMode).toMatchObject({ active: true, author: "forge", incident_id: incident.id });
  const { seq, id } = core.store.chains.whole("scribe");
  const tip = { author: "scribe", seq, id: String(id) };
  expect(core.history.lastBeats(tip, Infinity)[0]?.body).toMatchObject({ state: "paused" });
  const ship: Draft = { to: ["forge"], type: "ship", subject: "work", body: "" };
  expect(core.send([ship]).is).toBe("safe mode");
  expect(wire.agent("forge").core.safeMode?.incident_id).toBe(incident.id);
  wire.agent("scribe").say("ok", {
    ...{ type: "ack", correlationId: incident.thread },
    body: fromPlain({ about: placeJson(incident) }),
  });
  await wire.settle();
  for (const agent of wire.agents.values()) expect(agent.core.safeMode).toBeUndefined();
  expect(core.send([ship]).is).toBe("sent");
});

test("a quiet wire does not grow in anybody's store", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  wire.agent("forge").say("one");
  await wire.settle();
  const beatOften = async (): Promise<void> => {
    for (let time = 0; time < 6; time += 1) {
      wire.beat();
      await wire.settle(2, 90_000);
    }
  };
  await beatOften();
  const held = (): number[] =>
    [...wire.agents.values()].map(
      ({ core }) => core.store.lines({ after: 0, limit: 1_000 }).length,
    );
  const before = held();
  await beatOften();
  expect(held()).toEqual(before);
});

test("a lost store is rebuilt from the carriers, and nothing is signed before our lines are back", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  wire.agent("forge").say("one");
  wire.agent("scribe").say("two");
  await wire.settle();
  const { mark } = wire.agent("forge");
  wire.agent("forge").loseStore();
  const { core } = wire.agent("forge");
  expect(core.send([{ to: ["scribe"], type: "ship", subject: "early", body: "" }]).is).toBe(
    "not ready",
  );
  // Published before our carrier is read: the store has no line of ours yet.
  core.publish();
  await wire.settle();
  expect(core.readiness).toEqual({ is: "ready" });
  const next = wire.agent("forge").say("three");
  expect(next.seq).toBeGreaterThan(mark?.seq ?? 0);
  await wire.settle();
  expect(wire.agent("forge").mail).toEqual(["two"]);
  expect(wire.agent("scribe").mail).toEqual(["one", "three"]);
  expect(wire.agent("scribe").core.store.chains.whole("forge").fork).toBeNull();
  const published = readFileSync(join(wire.dir, "forge_to_scribe.jsonl"), "utf8").split("\n");
  const chained = published.filter((line) => line.includes('"seq":'));
  expect(chained).toEqual([...new Set(chained)]);
});

test("a line of our key above our mark stops all signing, also after a restart", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  wire.agent("forge").say("one");
  await wire.settle();
  const { signer, wireId, version } = corePlace("forge", wire.names);
  const { seq, id } = wire.agent("forge").core.store.chains.whole("forge");
  const head = id === null ? undefined : { seq, id };
  const timestamp = nextTimestamp(wire.nowMs, 0, undefined);
  const stolen = composeLine(
    { to: ["scribe"], type: "ship", subject: "stolen", body: "" },
    { timestamp, wireId, version, head },
    signer,
  );
  const log = join(wire.dir, "outbox", "forge.jsonl");
  appendFileSync(log, `${Buffer.from(stolen.line).toString()}\n`);
  await wire.settle();
  const hello: Draft = { to: ["scribe"], type: "ship", subject: "two", body: "" };
  const inUse = { is: "not ready", readiness: { is: "in use", at: seq + 1 } };
  expect(wire.agent("forge").core.send([hello])).toEqual(inUse);
  wire.agent("forge").restart();
  await wire.settle();
  expect(wire.agent("forge").core.send([hello])).toEqual(inUse);
});

test("what was written before the first reading is judged after it: claims count, duties hear of it", async () => {
  const heard: (string | null)[] = [];
  const wire = new CoreWire(root, ["forge", "scribe"], undefined, ({ name }) => () => [
    {
      take: (_, line) => {
        if (name === "scribe" && line.type === "claim") heard.push(line.verdict);
      },
    },
  ]);
  while (await wire.agent("forge").core.round());
  wire.agent("forge").say("mine", { type: "claim", body: fromPlain({ paths: ["src/**"] }) });
  await wire.settle();
  const { store, history } = wire.agent("scribe").core;
  expect(store.claims.live(history, wire.nowMs).map(({ paths }) => paths)).toEqual([["src/**"]]);
  expect(heard).toEqual([null, "mail"]);
});
