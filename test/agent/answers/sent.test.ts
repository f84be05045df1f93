import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { answeredBefore, receiptView, sentView } from "../../../src/agent/answers/sent.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { CoreWire, makeFolder } from "../../support/core-wire.ts";

// What an agent is told of its own messages. Spec 3.2.5; spec 8.1 of send keys.

const root = mkdtempSync(join(tmpdir(), "deaddrop-sent-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();

test("a message is stored, published everywhere, delivered, read and answered, by each addressee", async () => {
  const elsewhere = join(root, "elsewhere");
  const wire = new CoreWire(root, ["forge", "scribe", "ann"], (made, agent, ours) => [
    makeFolder(made, agent, ours, made.dir),
    ...(agent.name === "forge" ? [makeFolder(made, agent, ours, elsewhere)] : []),
  ]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const saidMs = wire.nowMs;
  const ask = forge.propose("Freeze the format.", ["scribe", "ann"]);
  const receipts = () => receiptView(forge.core, { event_id: ask.id }).receipts;
  const states = () => receipts().map(({ to, state }) => `${to} ${state}`);
  const both = (state: string, atMs: number) =>
    ["scribe", "ann"].map((to) => ({ to, state, at: iso(atMs) }));
  // Nobody else was told of it yet, and one of the two places lacks it.
  expect(receipts()).toEqual(both("stored", saidMs));
  mkdirSync(elsewhere);
  wire.nowMs += 30_000;
  forge.core.publish();
  expect(receipts()).toEqual(both("published", wire.nowMs));
  await wire.settle(1);
  scribe.core.heart.beat();
  scribe.core.publish();
  await wire.settle(1);
  expect(receipts()).toContainEqual({ to: "scribe", state: "delivered", at: iso(wire.nowMs) });
  expect(states()).toContain("ann published");
  scribe.core.markRead("all");
  wire.beat();
  await wire.settle(1);
  expect(states()).toEqual(["scribe read", "ann delivered"]);
  scribe.answer(ask, true);
  await wire.settle(1);
  expect(states()).toEqual(["scribe answered", "ann delivered"]);
  expect(receipts()[0]?.at).toBe(iso(wire.nowMs));
});

test("what was sent is listed newest first, without beats, to whom it names", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const forge = wire.agent("forge");
  const lines = [forge.say("one", { to: ["*"] }), forge.say("two", { to: ["ann"] })];
  wire.beat();
  await wire.settle();
  const sent = sentView(forge.core, {});
  expect(sent.map(({ subject, to, place }) => ({ subject, to, place }))).toEqual([
    { subject: "two", to: ["ann"], place: placeJson(lines[1] ?? fail()) },
    { subject: "one", to: ["scribe", "ann"], place: placeJson(lines[0] ?? fail()) },
  ]);
  expect(sentView(forge.core, { limit: 1 })).toEqual(sent.slice(0, 1));
  const theirs = wire.agent("ann").say("not yours");
  await wire.settle();
  for (const id of [theirs.id, "feed", sent[0]?.event_id.slice(0, 8) ?? ""])
    expect(() => receiptView(forge.core, { event_id: id })).toThrow(/no message of yours/u);
});

test("a message that is dated ahead of our clock waits for it", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  wire.nowMs += HOUR_MS;
  const line = wire.agent("forge").say("from the future");
  wire.nowMs -= HOUR_MS;
  const [receipt] = receiptView(wire.agent("forge").core, { event_id: line.id }).receipts;
  expect(receipt).toMatchObject({ to: "scribe", state: "published", waits_for: "sent_ahead" });
});

test("a repeated key gives what was sent first, and another message under it is refused", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const { core } = wire.agent("forge");
  const key = { name: "k1", digest: "d1" };
  expect(answeredBefore(core, key)).toBeUndefined();
  const draft = { type: "ship", to: ["scribe"], subject: "once", body: "" };
  const sent = core.send([draft], key);
  const [line] = sent.is === "sent" ? sent.lines : [];
  expect(answeredBefore(core, key)).toEqual([
    {
      ...{ event_id: line?.id, place: placeJson(line ?? fail()), correlation_id: line?.thread },
      ...{ timestamp: line?.thread, to: ["scribe"] },
    },
  ]);
  expect(() => answeredBefore(core, { ...key, digest: "d2" })).toThrow(
    /the key "k1" was used for something else at 2026-06-01T/u,
  );
  wire.nowMs += 24 * HOUR_MS;
  expect(answeredBefore(core, { ...key, digest: "d2" })).toBeUndefined();
});

function fail(): never {
  throw new Error("a line is missing");
}
