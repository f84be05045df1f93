import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { OwnLines, Transport, Urgency } from "../../src/carriers/carrier.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/wire/durations.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { CoreWire, makeFolder, type CoreAgent } from "../support/core-wire.ts";

// What an agent does of its own accord where lines come late from elsewhere.

const root = mkdtempSync(join(tmpdir(), "deaddrop-elsewhere-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** The wire's folder as a place that has to be fetched from. */
class Fetched {
  refreshes = 0;
  fetchedMs: number | undefined;
  readonly urgencies: Urgency[] = [];
  readonly transport: Transport;

  constructor(wire: CoreWire, agent: CoreAgent, ours: OwnLines) {
    const folder = makeFolder(wire, agent, ours, wire.dir);
    this.transport = {
      ...{ kind: "git", publishedThrough: 0 },
      list: () => folder.list(),
      read: (carrier, cursor, budget) => folder.read(carrier, cursor, budget),
      publish: (urgency) => {
        this.urgencies.push(urgency);
        folder.publish();
      },
      onChange: () => undefined,
      knownMs: (owner, nowMs) => (owner === agent.name ? nowMs : this.fetchedMs),
      refresh: () => {
        this.refreshes += 1;
      },
      health: () => ({ ...folder.health(), fetchedMs: this.fetchedMs }),
      start: () => undefined,
      stop: () => Promise.resolve(),
    };
  }
}

test("a deadline ends an ask only once the other's carriers were fetched after it, and asks for that fetch", async () => {
  let elsewhere: Fetched | undefined;
  const wire: CoreWire = new CoreWire(root, ["forge", "scribe"], (of, agent, ours) => {
    if (agent.name === "scribe") return [makeFolder(of, agent, ours, of.dir)];
    elsewhere = new Fetched(of, agent, ours);
    elsewhere.fetchedMs = of.nowMs;
    return [elsewhere.transport];
  });
  if (elsewhere === undefined) throw new Error("nothing is fetched");
  const [forge, fetched] = [wire.agent("forge"), elsewhere];
  await wire.settle();
  const due = new Date(wire.nowMs + 2 * MINUTE_MS).toISOString();
  const ask = forge.say("by then", {
    ...{ type: "proposal", to: ["scribe"], ackRequired: true },
    body: fromPlain({ required: ["scribe"], decision: "by then", due }),
  });
  await wire.settle();
  expect([forge.states(ask.thread), fetched.refreshes]).toEqual([["open"], 0]);
  wire.nowMs += 5 * MINUTE_MS;
  await wire.settle();
  expect(forge.states(ask.thread)).toEqual(["open"]);
  expect(fetched.refreshes).toBeGreaterThan(0);
  fetched.fetchedMs = wire.nowMs;
  await wire.settle();
  expect(forge.states(ask.thread)).toEqual(["ended"]);
  const { refreshes } = fetched;
  await wire.settle();
  expect(fetched.refreshes).toBe(refreshes);
  wire.close();
});

test("nothing counts as said live before every place of the wire was read, or cannot be read", async () => {
  let elsewhere: Fetched | undefined;
  const wire = new CoreWire(root, ["forge", "scribe"], (of, agent, ours) => {
    if (agent.name === "forge") return [makeFolder(of, agent, ours, of.dir)];
    elsewhere = new Fetched(of, agent, ours);
    return [elsewhere.transport];
  });
  if (elsewhere === undefined) throw new Error("nothing is fetched");
  await wire.settle();
  wire.agent("forge").say("old");
  await wire.settle();
  // Our own lines may be signed all the same.
  expect(wire.agent("scribe").core.readiness).toEqual({ is: "ready" });
  expect(wire.agent("scribe").mail).toEqual([]);
  elsewhere.fetchedMs = wire.nowMs;
  await wire.settle();
  wire.agent("forge").say("new");
  await wire.settle();
  const { store } = wire.agent("scribe").core;
  const lines = store.mail.after({}, 0, 10).map((n) => store.line(n));
  expect(lines.map((line) => line?.isLive)).toEqual([false, true]);
  wire.close();
});

test("others need a message at once, a receipt soon, and a beat that says nothing with the next push", async () => {
  let elsewhere: Fetched | undefined;
  const wire = new CoreWire(root, ["forge", "scribe"], (of, agent, ours) => {
    if (agent.name === "scribe") return [makeFolder(of, agent, ours, of.dir)];
    elsewhere = new Fetched(of, agent, ours);
    elsewhere.fetchedMs = of.nowMs;
    return [elsewhere.transport];
  });
  if (elsewhere === undefined) throw new Error("nothing is fetched");
  const { urgencies } = elsewhere;
  const { core } = wire.agent("forge");
  await wire.settle(6, HOUR_MS);
  urgencies.length = 0;
  wire.agent("forge").say("look");
  expect(urgencies).toEqual(["soon"]);
  core.publish();
  core.heart.beat();
  core.publish();
  expect(urgencies).toEqual(["soon", "cadence", "cadence"]);
  wire.agent("scribe").say("seen");
  elsewhere.fetchedMs = wire.nowMs + 1;
  await wire.settle(1);
  urgencies.length = 0;
  core.heart.beat();
  core.publish();
  expect(urgencies).toEqual(["receipt"]);
  wire.close();
});

test("it is known how far an author's own carriers have its chain, until one of them loses lines", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  wire.agent("forge").core.publish();
  await wire.settle();
  wire.agent("forge").say("one");
  wire.agent("forge").say("two");
  await wire.settle();
  const { chains } = wire.agent("scribe").core.store;
  const { seq } = chains.whole("forge");
  expect(seq).toBeGreaterThanOrEqual(2);
  expect(chains.carried("forge")).toBe(seq);
  writeFileSync(join(wire.dir, "outbox/forge.jsonl"), "");
  while (await wire.agent("scribe").core.round());
  expect(chains.carried("forge")).toBe(0);
  await wire.settle();
  expect(chains.carried("forge")).toBe(chains.whole("forge").seq);
  wire.close();
});
