import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fromPlain } from "../../src/wire/json/json.ts";
import { placeJson } from "../../src/wire/places.ts";
import { CoreWire, makeFolder } from "../support/core-wire.ts";

// Beats of agents over real files, as they stand in their carriers. Spec 3.1, 3.2.1, 4.9.

const root = mkdtempSync(join(tmpdir(), "deaddrop-heart-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

interface SaidBeat {
  readonly seq?: number;
  readonly subject: string;
  readonly timestamp: string;
  readonly body: Record<string, unknown> & { readonly next_eta: string };
}

function beatsOf(wire: CoreWire, name: string): SaidBeat[] {
  const ours = readdirSync(wire.dir).filter((file) => file.startsWith(`${name}_to_`));
  return ours
    .flatMap((file) => readFileSync(join(wire.dir, file), "utf8").split("\n"))
    .filter((line) => line.includes('"type":"heartbeat"'))
    .map((line) => JSON.parse(line) as SaidBeat);
}

function lastBeat(wire: CoreWire, name: string): SaidBeat {
  const last = beatsOf(wire, name).at(-1);
  if (last === undefined) throw new Error(`${name} has not beaten`);
  return last;
}

/** How long after the beat the next one is due at the latest, seconds. */
function cadenceOf({ timestamp, body }: SaidBeat): number {
  return Math.round((Date.parse(body.next_eta) - Date.parse(timestamp)) / 1_000);
}

/** Time passes, and these agents have a round each. */
async function pass(wire: CoreWire, seconds: number, ...names: readonly string[]): Promise<void> {
  wire.nowMs += seconds * 1_000;
  for (const name of names) while (await wire.agent(name).core.round());
}

async function twoAgents(): Promise<CoreWire> {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle(3);
  return wire;
}

describe("the beats of an agent", () => {
  test("come at the cadence that they advertise, and slow down while there is no mail", async () => {
    const wire = await twoAgents();
    const { core } = wire.agent("forge");
    expect(lastBeat(wire, "forge")).toMatchObject({
      subject: "alive",
      body: { state: "idle", tier: "T1_active", wakeup_count: 1, inbox_unread_count: 0 },
    });
    const count = beatsOf(wire, "forge").length;
    await pass(wire, 80, "forge");
    expect(beatsOf(wire, "forge")).toHaveLength(count);
    expect(core.nextDueMs - wire.nowMs).toBeGreaterThan(0);
    const cadences: number[] = [];
    for (let at = 0; at < 4; at += 1) {
      await pass(wire, (core.nextDueMs - wire.nowMs) / 1_000, "forge");
      cadences.push(cadenceOf(lastBeat(wire, "forge")));
    }
    expect(beatsOf(wire, "forge")).toHaveLength(count + 4);
    expect(cadences).toEqual([90, 90, 270, 270]);
    wire.agent("scribe").say("hello");
    await pass(wire, 1, "forge");
    await pass(wire, 1, "forge");
    expect(cadenceOf(lastBeat(wire, "forge"))).toBe(90);
  });

  test("are one after a suspension, not several", async () => {
    const wire = await twoAgents();
    const count = beatsOf(wire, "forge").length;
    await pass(wire, 36_000, "forge");
    await pass(wire, 1, "forge");
    expect(beatsOf(wire, "forge")).toHaveLength(count + 1);
  });

  test("come a second after mail, at most six times a minute", async () => {
    const wire = await twoAgents();
    await pass(wire, 85, "forge", "scribe");
    const count = beatsOf(wire, "forge").length;
    wire.agent("scribe").say("hello");
    await pass(wire, 0, "forge");
    expect(beatsOf(wire, "forge")).toHaveLength(count);
    await pass(wire, 1, "forge");
    expect(beatsOf(wire, "forge")).toHaveLength(count + 1);
    expect(lastBeat(wire, "forge").seq).toBeDefined();
    for (let at = 0; at < 10; at += 1) {
      wire.agent("scribe").say(`more ${at}`);
      await pass(wire, 0, "forge");
      await pass(wire, 2, "forge");
    }
    expect(beatsOf(wire, "forge")).toHaveLength(count + 6);
  });
});

describe("what an agent says of itself", () => {
  test("is in its beats, also after a restart, which is counted", async () => {
    const wire = await twoAgents();
    const forge = wire.agent("forge");
    forge.core.heart.setState({ state: "busy", lastAction: "x".repeat(300) });
    const actMs = wire.nowMs;
    await pass(wire, 90, "forge");
    expect(lastBeat(wire, "forge").seq).toBeDefined();
    forge.restart();
    await pass(wire, 1, "forge");
    expect(lastBeat(wire, "forge").body).toMatchObject({
      ...{ state: "busy", last_action: "x".repeat(200), wakeup_count: 2 },
      agent_last_seen: new Date(actMs).toISOString(),
    });
    // The change to busy stands in the chain, and is said there once.
    expect(lastBeat(wire, "forge").seq).toBeUndefined();
    forge.loseStore();
    await pass(wire, 1, "forge");
    await pass(wire, 5, "forge");
    expect(lastBeat(wire, "forge").body).toMatchObject({ state: "idle", wakeup_count: 2 });
  });

  test("is not told where its operator does not want it", async () => {
    const wire = await twoAgents();
    const { core } = wire.agent("forge");
    Object.assign(core.place, { hidesLastAction: true });
    core.heart.setState({ state: "busy", lastAction: "secret work" });
    await pass(wire, 90, "forge");
    expect(lastBeat(wire, "forge").body).toMatchObject({ state: "busy" });
    expect(lastBeat(wire, "forge").body).not.toHaveProperty("last_action");
  });

  test("makes it beat fast while it is heads down, until it says otherwise", async () => {
    const wire = await twoAgents();
    const { core } = wire.agent("forge");
    core.heart.setState({ headsDown: true });
    expect(core.nextDueMs).toBeLessThanOrEqual(wire.nowMs + 30_000);
    await pass(wire, 30, "forge");
    expect(lastBeat(wire, "forge").body["tier"]).toBe("T0_HEADS_DOWN");
    wire.agent("forge").restart();
    await pass(wire, 1, "forge");
    expect(cadenceOf(lastBeat(wire, "forge"))).toBe(30);
    wire.agent("forge").core.heart.setState({ state: "idle" });
    await pass(wire, 90, "forge");
    expect(lastBeat(wire, "forge").body["tier"]).toBe("T1_active");
  });

  test("and for whose mail nobody is woken goes out at once, as long as it is so", async () => {
    const wire = await twoAgents();
    const untilMs = wire.nowMs + 60_000;
    wire.agent("forge").core.heart.setState({ state: "idle", notWoken: { scribe: { untilMs } } });
    await pass(wire, 0, "forge");
    const until = new Date(untilMs).toISOString();
    expect(lastBeat(wire, "forge").body["not_woken"]).toEqual({ scribe: { until } });
    await pass(wire, 90, "forge");
    expect(lastBeat(wire, "forge").body["not_woken"]).toBeUndefined();
  });

  test("is paused in the last beat of a daemon, and not in the first one of the next", async () => {
    const wire = await twoAgents();
    const { core } = wire.agent("forge");
    core.farewell();
    expect(lastBeat(wire, "forge")).toMatchObject({ subject: "paused", body: { state: "paused" } });
    expect(cadenceOf(lastBeat(wire, "forge"))).toBe(1_200);
    await pass(wire, 1, "scribe");
    expect(wire.agent("scribe").core.store.beats("scribe").life("forge")?.isPaused).toBe(true);
    wire.agent("forge").restart();
    await pass(wire, 1, "forge", "scribe");
    expect(lastBeat(wire, "forge")).toMatchObject({ subject: "alive", body: { state: "idle" } });
    expect(wire.agent("scribe").core.store.beats("scribe").life("forge")?.isPaused).toBe(false);
  });
});

test("a beat that a fetch brings late is a sign of life, unless the fetch before it could have brought it", async () => {
  let fetchedMs = 0;
  let isFetched = true;
  const wire = new CoreWire(root, ["forge", "scribe"], (own, agent, ours) => {
    const folder = makeFolder(own, agent, ours, own.dir);
    if (agent.name === "scribe") return [folder];
    const read = folder.read.bind(folder);
    const nothing = { lines: [], oversized: 0, hasMore: false, isAgain: false };
    folder.read = (carrier, cursor, budget) =>
      isFetched ? read(carrier, cursor, budget) : { ...nothing, cursor };
    folder.knownMs = () => fetchedMs;
    return [folder];
  });
  const fetch = async (): Promise<void> => {
    [fetchedMs, isFetched] = [wire.nowMs - 1, true];
    await pass(wire, 0, "forge");
    isFetched = false;
  };
  const beats = wire.agent("forge").core.store.beats("forge");
  const heardMs = (): number | undefined => beats.life("scribe")?.receivedMs;
  await pass(wire, 0, "scribe");
  await fetch();
  await fetch();
  await pass(wire, 600, "scribe");
  wire.nowMs += 900_000;
  await fetch();
  expect(heardMs()).toBe(wire.nowMs);
  const beforeMs = wire.nowMs;
  // A beat of that time which comes only after another fetch is one that was put back.
  wire.nowMs -= 60_000;
  wire.agent("scribe").core.heart.beat();
  wire.nowMs += 1_260_000;
  await fetch();
  wire.agent("scribe").core.publish();
  wire.nowMs += 60_000;
  await fetch();
  expect(beats.latestBeatMs("scribe")).toBe(beforeMs - 60_000);
  expect(heardMs()).toBe(beforeMs);
});

test("a counter-proposal makes both sides beat fast, until nothing of it is open", async () => {
  const wire = await twoAgents();
  const ask = wire.agent("forge").propose("Freeze the format.", ["scribe"]);
  await pass(wire, 1, "scribe");
  const counter = wire.agent("scribe").say("June", {
    ...{ type: "proposal", to: ["forge"], ackRequired: true, correlationId: ask.thread },
    body: fromPlain({ counters: placeJson(ask), required: ["forge"], decision: "Until June." }),
  });
  await pass(wire, 30, "forge", "scribe");
  await pass(wire, 2, "forge", "scribe");
  for (const name of wire.names)
    expect([name, lastBeat(wire, name).body["tier"]]).toEqual([name, "T0_HEADS_DOWN"]);
  wire.agent("forge").answer(counter, true);
  await pass(wire, 1, "scribe", "forge");
  expect(wire.agent("forge").states(ask.thread)).toEqual(["ended", "approved"]);
  await pass(wire, 30, "forge", "scribe");
  await pass(wire, 60, "forge", "scribe");
  for (const name of wire.names)
    expect([name, lastBeat(wire, name).body["tier"]]).toEqual([name, "T1_active"]);
});

test("claims that neither knew of make both sides beat fast, until one is released", async () => {
  const wire = await twoAgents();
  const [forge, scribe] = ["forge", "scribe"].map((name) =>
    wire.agent(name).say("mine", { type: "claim", body: fromPlain({ paths: ["src/**"] }) }),
  );
  const tiers = (): unknown[] => wire.names.map((name) => lastBeat(wire, name).body["tier"]);
  await pass(wire, 1, "forge", "scribe");
  await pass(wire, 1, "forge", "scribe");
  expect(tiers()).toEqual(["T0_HEADS_DOWN", "T0_HEADS_DOWN"]);
  for (const claim of [forge, scribe])
    wire
      .agent(claim?.author ?? "")
      .say("done", { type: "release", correlationId: claim?.thread ?? "", body: fromPlain({}) });
  await pass(wire, 31, "forge", "scribe");
  await pass(wire, 91, "forge", "scribe");
  expect(tiers()).toEqual(["T1_active", "T1_active"]);
});

test("our clock was ahead for a while: what came then was received now, and peers live on", async () => {
  const wire = await twoAgents();
  const { core } = wire.agent("forge");
  wire.nowMs += 86_400_000;
  wire.agent("scribe").say("from tomorrow");
  core.heart.setState({ state: "idle" });
  await pass(wire, 1, "scribe", "forge");
  wire.nowMs -= 86_400_000;
  await pass(wire, 0, "forge");
  const received = core.store
    .lines({ after: 0, limit: 100 })
    .map(({ receivedMs }) => receivedMs - wire.nowMs);
  expect(received.filter((aheadMs) => aheadMs > 0)).toEqual([]);
  expect(received.filter((aheadMs) => aheadMs === 0)).not.toEqual([]);
  expect(core.store.beats("forge").life("scribe")?.receivedMs).toBeLessThanOrEqual(wire.nowMs);
  wire.nowMs += 90_000;
  wire.beat();
  await pass(wire, 0, "forge");
  expect(core.store.beats("forge").life("scribe")?.receivedMs).toBe(wire.nowMs);
  const seen = String(lastBeat(wire, "forge").body["agent_last_seen"]);
  expect(Date.parse(seen)).toBeLessThanOrEqual(wire.nowMs);
});
