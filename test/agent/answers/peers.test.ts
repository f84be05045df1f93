import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { peersView, recipientsOf } from "../../../src/agent/answers/peers.ts";
import { stateView } from "../../../src/agent/answers/status.ts";
import { teamView } from "../../../src/agent/answers/team.ts";
import { stateFile } from "../../../src/agent/duties/wire-files.ts";
import type { Known } from "../../../src/agent/duties/duty.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import { CoreWire } from "../../support/core-wire.ts";

// What an agent shows of the others and of itself. Spec 1.1, 3.1.

const root = mkdtempSync(join(tmpdir(), "deaddrop-peers-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** The same agent, as one whose operator believes another tier of everybody. */
function believing(known: Known, tier: Tier, more: object = {}): Known {
  const { store, history, place, world, members, readiness, safeMode, roster, isLive } = known;
  const believed: Known["place"]["believed"] = (author) => ({
    ...place.believed(author),
    ...{ tier, ...more },
  });
  return {
    ...{ store, history, world, members, readiness, safeMode, place: { ...place, believed } },
    ...{ situation: known.situation, cadenceMs: () => 0 },
    ...{ knownMs: () => undefined, publishedMs: () => undefined },
    ...{ roster, isLive, transports: known.transports, lastPass: known.lastPass },
  };
}

test("a peer is shown as its last beat says, and as long as it is heard of", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  const { core } = wire.agent("forge");
  expect(peersView(core)).toMatchObject([
    { handle: "scribe", presence: "unknown", state: null, last_seen_at: null, next_eta: null },
  ]);
  await wire.settle(2);
  const actMs = wire.nowMs;
  wire.agent("scribe").core.heart.setState({ state: "busy", lastAction: "reading the parser" });
  wire.agent("forge").say("hello");
  await wire.settle(3);
  const sinceMs = core.store.beats("forge").life("scribe")?.receivedMs ?? 0;
  const [scribe] = peersView(core);
  expect(scribe).toEqual({
    ...{ handle: "scribe", trust_tier: "ATTESTED", trusts_us: null },
    ...{ heartbeat_tier: "T1_active", presence: "online", state: "busy" },
    last_action: "reading the parser",
    last_seen_at: new Date(sinceMs).toISOString(),
    agent_last_seen: new Date(actMs).toISOString(),
    next_eta: expect.stringMatching(/^2026-06-01T12:01/u) as string,
    ...{ held: false, inbox_unread_count: 1, foreign_lines: 0, unpinned_lines: 0 },
    waits: [],
  });
  const [stranger] = peersView(believing(core, "UNTRUSTED"));
  expect(stranger).toMatchObject({ state: "busy", last_action: null, trust_tier: "UNTRUSTED" });
  const [held] = peersView(
    believing(core, "TRUSTED", {
      blocked: true,
      held: { cause: "key_revoked", detail: "", sinceMs: 0 },
    }),
  );
  expect(held).toMatchObject({ trust_tier: null, held: true, last_action: null });
  const seen = (afterMs: number): string | undefined => {
    wire.nowMs = sinceMs + afterMs;
    return peersView(core)[0]?.presence;
  };
  expect([180_000, 180_001, 299_999, 300_000].map(seen)).toEqual([
    ...["online", "late", "late", "silent"],
  ]);
});

test("whoever sends is told who is paused, and for whose mail nobody is woken", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"]);
  await wire.settle(2);
  const { core } = wire.agent("forge");
  const unknown = { tierThere: undefined, tierHere: "ATTESTED" };
  expect(recipientsOf(core)).toEqual(
    new Map([["scribe", { ...unknown, isPaused: false, notWoken: undefined }]]),
  );
  const times = { untilMs: wire.nowMs + 60_000, urgentUntilMs: wire.nowMs + 30_000 };
  const scribe = wire.agent("scribe").core;
  scribe.heart.setState({ state: "idle", notWoken: { forge: times, ann: times } });
  scribe.farewell();
  await wire.settle(1, 0);
  expect(recipientsOf(core).get("scribe")).toEqual({
    ...{ ...unknown, isPaused: true, notWoken: times },
  });
});

test("the team is ourselves and the others, each with what it owes and waits for", async () => {
  const wire = new CoreWire(root, ["forge", "scribe", "ann"]);
  await wire.settle(2);
  const { core } = wire.agent("forge");
  core.heart.setState({ lastAction: "wrote the parser", headsDown: true });
  for (let at = 0; at < 10; at += 1)
    wire.agent("forge").say(`question ${at}`, { type: "request", to: ["scribe"] });
  const actMs = wire.nowMs;
  await wire.settle(1);
  const [forge, scribe, ann] = teamView(core, true);
  expect(forge).toEqual({
    ...{ handle: "forge", is_self: true, presence: "online", state: "idle" },
    ...{ last_action: "wrote the parser", agent_last_seen: new Date(actMs).toISOString() },
    ...{ waits_for: expect.any(Array) as unknown, waits_for_in_all: 10, owes: [], owes_in_all: 0 },
  });
  const oldest = Array.from({ length: 8 }, (_, at) => ({ subject: `question ${at}` }));
  expect(forge?.waits_for).toMatchObject(oldest);
  expect(scribe).toMatchObject({ handle: "scribe", is_self: false, owes_in_all: 10 });
  expect(ann).toMatchObject({ handle: "ann", presence: "online", owes: [], waits_for: [] });
  expect(teamView(core, false)[0]?.presence).toBe("unknown");
  expect(stateView(core)).toEqual({
    ...{ state: "idle", last_action: "wrote the parser", heads_down: true },
  });
});

test("how much is unread stands in the wire for people, and is written again when it is changed", async () => {
  const wire = new CoreWire(root, ["forge", "scribe"], undefined, ({ name }) => (ground) => [
    stateFile(ground, join(root, `${name}_state.json`)),
  ]);
  await wire.settle(2);
  const path = join(root, "scribe_state.json");
  const read = (): string => readFileSync(path, "utf8");
  expect(read()).toBe('{"agent":"scribe","inbox_unread_count":0}\n');
  const { ino } = statSync(path);
  wire.agent("forge").say("one");
  await wire.settle(1);
  expect(read()).toBe('{"agent":"scribe","inbox_unread_count":1}\n');
  expect(statSync(path).ino).not.toBe(ino);
  writeFileSync(path, "{}");
  await wire.settle(1);
  const kept = statSync(path).ino;
  await wire.settle(1);
  expect(read()).toBe('{"agent":"scribe","inbox_unread_count":1}\n');
  // What stands there already is not written again.
  expect(statSync(path).ino).toBe(kept);
});
