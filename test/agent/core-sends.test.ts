import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { isChained, placeJson, type ChainPlace } from "../../src/wire/places.ts";
import type { HeldLine } from "../../src/store/store.ts";
import { CoreWire, makeFolder } from "../support/core-wire.ts";

// What a send does beside its lines: its key, what it marks as read, and where its lines are published.

const root = mkdtempSync(join(tmpdir(), "deaddrop-sends-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const HOUR_MS = 3_600_000;

function placeOf(line: HeldLine): ChainPlace {
  if (!isChained(line)) throw new Error("the line is in no chain");
  return line;
}

test("a key is bound with the lines of its send, for 24 hours, and is never bound twice", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const { core } = wire.agent("forge");
  const drafts = ["one", "two"].map((subject) => ({
    ...{ type: "ship", to: ["scribe"], subject, body: "" },
  }));
  const sent = core.send(drafts, { name: "k", digest: "d" });
  if (sent.is !== "sent") throw new Error(sent.is);
  const { sends } = core.store;
  const bound = { digest: "d", sentMs: wire.nowMs, ns: sent.lines.map(({ n }) => n) };
  expect(sends.find("k", wire.nowMs)).toEqual(bound);
  const { seq } = core.store.chains.whole("forge");
  expect(() => core.send(drafts, { name: "k", digest: "other" })).toThrow(/UNIQUE/u);
  expect(core.store.chains.whole("forge").seq).toBe(seq);
  wire.agent("forge").restart();
  expect(wire.agent("forge").core.store.sends.find("k", wire.nowMs)).toEqual(bound);
  wire.nowMs += 24 * HOUR_MS;
  expect(wire.agent("forge").core.store.sends.find("k", wire.nowMs)).toBeUndefined();
  expect(wire.agent("forge").core.send(drafts, { name: "k", digest: "other" }).is).toBe("sent");
});

test("of many keys the newest 4,096 are kept", () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  const { store } = wire.agent("forge").core;
  store.write(() => {
    for (let at = 0; at < 4_100; at += 1)
      store.sends.bind({ name: `k${at}`, digest: "d" }, [at], at);
  });
  const isKept = (at: number): boolean => store.sends.find(`k${at}`, at) !== undefined;
  expect([3, 4, 4_099].map(isKept)).toEqual([false, true, true]);
});

test("an answer marks the mail of its addressee up to the line that it names, and no other", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  forge.say("before");
  const ask = forge.propose("Freeze it.", ["scribe"]);
  forge.say("after");
  const told = wire.agent("ann").say("of another");
  await wire.settle();
  const unread = (): string[] => {
    const { store } = scribe.core;
    const lines = store.mail.after({ unread: true }, 0, 100).map((n) => store.line(n));
    return lines.map((line) => `${line?.author} ${line?.seq}`).toSorted();
  };
  const [ann, , , after] = unread();
  expect(unread()).toHaveLength(4);
  scribe.say("no answer to it", { to: ["forge"], correlationId: ask.thread });
  expect(unread()).toHaveLength(4);
  scribe.answer(ask, true);
  expect(unread()).toEqual([ann, after]);
  scribe.say("noted", {
    ...{ type: "ack", to: ["ann"], correlationId: told.thread },
    body: fromPlain({ about: placeJson(told) }),
  });
  expect(unread()).toEqual([after]);
});

test("a line is published once each place of the wire has it, and since then", async () => {
  const elsewhere = join(root, "elsewhere");
  const wire = new CoreWire(root, ["forge", "scribe"], (made, agent, ours) => [
    makeFolder(made, agent, ours, made.dir),
    ...(agent.name === "forge" ? [makeFolder(made, agent, ours, elsewhere)] : []),
  ]);
  await wire.settle();
  const forge = wire.agent("forge");
  const first = placeOf(forge.say("one"));
  expect(forge.core.publishedMs(first)).toBeUndefined();
  mkdirSync(elsewhere);
  wire.nowMs += 31_000;
  await wire.settle(1);
  const sinceMs = wire.nowMs;
  expect(forge.core.publishedMs(first)).toBe(sinceMs);
  await wire.settle();
  const second = placeOf(forge.say("two"));
  expect([forge.core.publishedMs(first), forge.core.publishedMs(second)]).toEqual([
    ...[sinceMs, wire.nowMs],
  ]);
  forge.restart();
  expect(forge.core.publishedMs(first)).toBe(sinceMs);
});
