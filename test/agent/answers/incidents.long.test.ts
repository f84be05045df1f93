import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { incidentsView, openIncidents } from "../../../src/agent/answers/incidents.ts";
import { noticesView, safeModeView } from "../../../src/agent/answers/safe-mode.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { CoreWire } from "../../support/core-wire.ts";

/** What an agent is told of incidents and safe mode. Spec 3.5. */

let root: string;
let wire: CoreWire;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-incidents-"));
  wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle();
});
afterEach(() => {
  wire.close();
  rmSync(root, { recursive: true, force: true });
});

async function raise(severity: string, rounds = 4): Promise<HeldLine> {
  const body = fromPlain({ severity, text: "CI is red" });
  const incident = wire.agent("forge").say("red", { type: "incident", to: ["scribe"], body });
  await wire.settle(rounds);
  return incident;
}

async function ack(incident: HeldLine): Promise<void> {
  wire.agent("scribe").say("ok", {
    ...{ type: "ack", to: ["forge"], correlationId: incident.thread },
    body: fromPlain({ about: placeJson(incident) }),
  });
  await wire.settle();
}

/** Beats go on until nobody who is silent has time left. */
async function waitLong(): Promise<void> {
  for (let time = 0; time < 10; time += 1) {
    wire.beat();
    await wire.settle(2, 90_000);
  }
}

const views = (name: string) => incidentsView(wire.agent(name).core);
const stageAt = (name: string) => views(name)[0]?.addressees[0]?.stage;

describe("incidents", () => {
  test("an incident goes from undelivered over unread and read to acked", async () => {
    const incident = await raise("medium", 0);
    expect(views("forge")).toEqual([
      {
        ...{ place: placeJson(incident), event_id: incident.id, correlation_id: incident.thread },
        ...{ from: "forge", severity: "medium", subject: "red", status: "open" },
        raised_at: expect.any(String),
        addressees: [
          {
            ...{ handle: "scribe", acked: false, acked_at: null, escalates_at: null },
            ...{ stage: "undelivered", escalated: false },
          },
        ],
      },
    ]);
    wire.beat();
    await wire.settle();
    expect(stageAt("forge")).toBe("unread");
    wire.agent("scribe").core.markRead("all");
    wire.beat();
    await wire.settle();
    expect(stageAt("forge")).toBe("read");
    await ack(incident);
    for (const name of wire.names)
      expect(views(name)).toMatchObject([
        { status: "acked", addressees: [{ acked: true, acked_at: expect.any(String) }] },
      ]);
  });

  test("open ones are those that our agent raised or is asked about", async () => {
    const incident = await raise("low");
    const open = (name: string): number => openIncidents(wire.agent(name).core).length;
    expect(wire.names.map(open)).toEqual([1, 1, 0]);
    expect(views("ann")).toMatchObject([{ event_id: incident.id, status: "open" }]);
    wire.agent("forge").say("fixed", {
      ...{ type: "incident", to: ["scribe"], correlationId: incident.thread },
      body: fromPlain({ resolves: placeJson(incident) }),
    });
    await wire.settle();
    expect(wire.names.map(open)).toEqual([0, 0, 0]);
    expect(views("scribe")).toMatchObject([{ status: "resolved" }]);
  });

  test("of one author's flood the newest are listed, and no other author's is pushed out", async () => {
    await raise("low");
    for (let each = 0; each < 80; each += 1)
      wire.agent("ann").say(`noise ${each}`, { type: "incident", to: ["forge"], body: "" });
    // More than the rate allows at once.
    await wire.settle(4, 30_000);
    const listed = views("forge");
    expect(listed.filter(({ from }) => from === "ann")).toHaveLength(64);
    expect(listed.filter(({ from }) => from === "forge")).toHaveLength(1);
    const open = openIncidents(wire.agent("forge").core);
    expect(open.map(({ from }) => from)).toContain("forge");
    expect(open.length).toBeLessThan(20);
  });
});

describe("safe mode", () => {
  test("a grave incident that is read has a time, is escalated, and safe mode names it", async () => {
    const incident = await raise("high");
    wire.agent("scribe").core.markRead("all");
    wire.beat();
    await wire.settle();
    const due = views("forge")[0]?.addressees[0]?.escalates_at;
    expect(safeModeView(wire.agent("forge").core)).toBeNull();
    await waitLong();
    expect(Date.parse(due ?? "")).toBeLessThanOrEqual(wire.nowMs);
    expect(views("ann")).toMatchObject([
      { status: "escalated", addressees: [{ escalated: true }] },
    ]);
    for (const { core } of wire.agents.values())
      expect(safeModeView(core)).toMatchObject({
        ...{ active: true, author: "forge", of: "scribe" },
        place: placeJson(incident),
      });
  });

  test("a resume names every escalation of that author, and ends safe mode for who says it", async () => {
    const [first, second] = [await raise("high"), await raise("critical")];
    wire.agent("scribe").core.markRead("all");
    await waitLong();
    const { core } = wire.agent("ann");
    const { escalations = [] } = safeModeView(core) ?? {};
    expect(escalations).toEqual(core.store.escalations.resumable("forge").map(placeJson));
    expect(escalations).toHaveLength(2);
    expect(new Set([first, second].map(({ id }) => id))).toEqual(
      new Set(views("ann").map(({ event_id: id }) => id)),
    );
    const body = fromPlain({ resumes: escalations, reason: "fixed by hand" });
    wire.agent("ann").say("resumed here", { type: "incident", to: ["*"], body });
    await wire.settle();
    expect(safeModeView(core)).toBeNull();
    expect(safeModeView(wire.agent("scribe").core)).not.toBeNull();
    const { core: forge } = wire.agent("forge");
    const ended = fromPlain({ resumes: safeModeView(forge)?.escalations, reason: "over" });
    wire.agent("forge").say("resumed", { type: "incident", to: ["*"], body: ended });
    await wire.settle();
    for (const agent of wire.agents.values()) expect(safeModeView(agent.core)).toBeNull();
  });
});

test("notices are what the operator was told, the oldest first", () => {
  const { store } = wire.agent("forge").core;
  store.write(() => {
    const said = { cause: "config_drift", subject: "it differs", detail: "look" };
    store.told.add({ key: "a", ...said }, wire.nowMs);
    store.told.add({ key: "b", peer: "ann", ...said }, wire.nowMs);
  });
  const at = new Date(wire.nowMs).toISOString();
  const said = { at, cause: "config_drift", subject: "it differs", detail: "look" };
  expect(noticesView({ store })).toEqual([
    { ...said, peer: null },
    { ...said, peer: "ann" },
  ]);
});
