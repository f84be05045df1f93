import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { growthView } from "../../../src/agent/answers/growth.ts";
import { statsView } from "../../../src/agent/answers/stats.ts";
import { Database } from "../../../src/store/database.ts";
import { Store } from "../../../src/store/store.ts";
import { CoreWire } from "../../support/core-wire.ts";

// The record of a wire in numbers, and what of it grows.

const root = mkdtempSync(join(tmpdir(), "deaddrop-stats-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

const DAY_MS = 86_400_000;

test("lines are counted once, by type, and asks by what became of them", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  const [forge, scribe] = [wire.agent("forge"), wire.agent("scribe")];
  const [yes, no] = [
    forge.propose("Freeze it.", ["scribe"]),
    forge.propose("Drop it.", ["scribe"]),
  ];
  forge.propose("Think about it.", ["scribe"]);
  await wire.settle();
  scribe.answer(yes, true);
  scribe.answer(no, false);
  wire.nowMs += 2 * DAY_MS;
  scribe.say("later", { to: ["forge"] });
  await wire.settle();
  for (const agent of [forge, scribe]) agent.restart();
  await wire.settle();
  for (const { core } of [forge, scribe]) {
    const stats = statsView(core, []);
    const { by_type: types, messages, heartbeat_share: share } = stats;
    expect(types).toMatchObject({ proposal: 3, ack: 2, ship: 1, correction: 3 });
    expect(messages).toBe(9 + (types["heartbeat"] ?? 0));
    expect(share).toBeCloseTo((types["heartbeat"] ?? 0) / messages);
    expect(stats).toMatchObject({ proposal_ack_pairs: 1, disagreements: 1, decisions: 1, days: 3 });
    expect(stats).toMatchObject({ incidents: 0, incidents_acked_in_time: 0 });
  }
});

test("a peer that invents types adds no rows without end", () => {
  const store = new Store(Database.open(":memory:"));
  store.write(() => {
    for (let at = 0; at < 100; at += 1) store.tally.add(`kind:${at}`, at);
    store.tally.add("kind:1", 7);
  });
  const counts = store.tally.byType();
  expect(counts).toHaveLength(65);
  expect(counts.find(({ type }) => type === "other")).toMatchObject({ count: 36, firstMs: 64 });
  expect(counts.find(({ type }) => type === "kind:1")).toMatchObject({ count: 2, lastMs: 7 });
});

test("what grows is listed with its size", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle();
  wire.agent("scribe").say("hello");
  await wire.settle();
  const { core, inboxPath } = wire.agent("forge");
  const log = join(wire.dir, "scribe_to_forge.jsonl");
  const growth = growthView(core, { logs: [log], decisions: [], incidents: ["/nowhere"] });
  const size = (path: string): number => statSync(path).size;
  expect(growth).toEqual([
    { what: "logs", files: 1, bytes: size(log) },
    { what: "store", files: 2, bytes: size(core.store.path) + size(`${core.store.path}-wal`) },
    { what: "decisions", files: 0, bytes: 0 },
    { what: "incidents", files: 0, bytes: 0 },
    { what: "inbox", files: 1, bytes: size(inboxPath) },
  ]);
});
