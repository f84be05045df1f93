import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parkedView, stateView } from "../../../src/agent/answers/status.ts";
import type { Known } from "../../../src/agent/duties/duty.ts";
import {
  parkingDuty,
  withParking,
  type StopEnd,
  type StopHook,
} from "../../../src/agent/parked.ts";
import { isParking } from "../../../src/protocol/asks/requests.ts";
import type { HeldLine } from "../../../src/store/store.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import type { Draft } from "../../../src/wire/compose.ts";
import { fromPlain } from "../../../src/wire/json/json.ts";
import { placeJson } from "../../../src/wire/places.ts";
import { CoreWire, type CoreAgent } from "../../support/core-wire.ts";

// An agent parks by its own line alone. Spec 3.8.

const root = mkdtempSync(join(tmpdir(), "deaddrop-parking-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** What the stop hook of scribe was run for, in all its processes. */
let runs: { readonly by: string; readonly request: string; readonly peer: string }[];
/** How it ends; undefined: it runs. */
let end: StopEnd | undefined;
let hook: StopHook | undefined;

beforeEach(() => {
  runs = [];
  end = { outcome: "done", detail: "" };
  hook = {
    run(of) {
      if (!runs.some(({ by }) => by === of.by)) runs.push(of);
      return end;
    },
  };
});

/** forge has asked scribe to finish. */
async function asked(): Promise<{ wire: CoreWire; scribe: CoreAgent; ask: HeldLine }> {
  const wire = new CoreWire(root, ["forge", "scribe"], undefined, ({ name }) => (ground) => [
    parkingDuty(ground, name === "scribe" ? hook : undefined),
  ]);
  await wire.settle(2);
  const ask = wire.agent("forge").say("please finish", {
    ...{ type: "request", to: ["scribe"], ackRequired: true },
    body: fromPlain({ request_type: "shutdown" }),
  });
  await wire.settle(2);
  return { wire, scribe: wire.agent("scribe"), ask };
}

function answer(ask: HeldLine, body: object = { approve: true }): Draft {
  const answers = placeJson(ask);
  return {
    ...{ type: "ack", to: [ask.author], subject: "answer", correlationId: ask.thread },
    body: fromPlain({ answers, ...body }),
  };
}

function bodyOf(line: HeldLine | undefined): Record<string, unknown> {
  const { body } = JSON.parse(Buffer.from(line?.bytes ?? "{}").toString()) as { body: object };
  return { ...body };
}

function lastBeat({ core, name }: CoreAgent): Record<string, unknown> {
  const lines = core.store.lines({ after: 0, limit: 1_000 });
  return bodyOf(lines.findLast(({ author, type }) => author === name && type === "heartbeat"));
}

const work: Draft = { type: "request", to: ["forge"], subject: "work", body: fromPlain({}) };

describe("an agent that approves its shutdown", () => {
  test("is parked by that line, is ended by its hook, and beats paused at T3 until it is woken", async () => {
    const { wire, scribe, ask } = await asked();
    const sent = scribe.core.send([answer(ask)]);
    const approval = sent.is === "sent" ? sent.lines[0] : undefined;
    expect(bodyOf(approval)).toMatchObject({ approve: true, parks: true });
    expect(runs).toEqual([]);
    await wire.settle(3);
    expect(runs).toEqual([{ by: approval?.id, request: ask.id, peer: "forge" }]);
    expect(parkedView(scribe.core, { isDaemon: true })).toEqual({
      since: new Date(approval?.receivedMs ?? 0).toISOString(),
      ...{ peer: "forge", request: ask.id, approval: approval?.id, stop_hook: "done" },
    });
    expect(wire.agent("forge").core.store.beats("forge").life("scribe")).toMatchObject({
      ...{ isPaused: true, cadenceMs: 1_200_000 },
    });
    // What the agent says of itself is kept.
    expect(stateView(scribe.core).state).toBe("idle");
    expect(scribe.core.send([work])).toEqual({ is: "parked" });
    expect(scribe.core.send([{ ...work, type: "ship" }]).is).toBe("sent");
    expect(scribe.core.wake()).toBe(true);
    expect(scribe.core.wake()).toBe(false);
    await wire.settle(2);
    expect(lastBeat(scribe)).toMatchObject({ state: "idle", tier: "T1_active" });
    expect(scribe.core.send([work]).is).toBe("sent");
    expect(parkedView(scribe.core, { isDaemon: true })).toBeNull();
  });

  test("begins nothing new with the same words either", async () => {
    const { scribe, ask } = await asked();
    expect(scribe.core.send([answer(ask), work])).toEqual({ is: "parked" });
    expect(scribe.core.send([work, answer(ask)]).is).toBe("sent");
  });

  test("is ended after a crash, by the next daemon; no process notes an end that it has not seen", async () => {
    const { wire, scribe, ask } = await asked();
    hook = undefined;
    scribe.restart();
    expect(scribe.core.send([answer(ask)]).is).toBe("sent");
    expect(parkedView(scribe.core, { isDaemon: false })?.stop_hook).toBe("waiting");
    end = undefined;
    hook = { run: (of) => (runs.push(of), end) };
    scribe.die();
    await wire.settle(1);
    expect(runs).toHaveLength(1);
    expect(parkedView(scribe.core, { isDaemon: true })?.stop_hook).toBe("running");
    expect(scribe.core.send([work])).toEqual({ is: "parked" });
    scribe.die();
    end = { outcome: "failed", detail: "exit code 1" };
    await wire.settle(2);
    expect(runs).toHaveLength(2);
    expect(parkedView(scribe.core, { isDaemon: true })?.stop_hook).toBe("failed");
    const told = scribe.core.store.told.list();
    expect(told.map(({ cause }) => cause)).toEqual(["stop_hook_failed"]);
    scribe.restart();
    await wire.settle(1);
    expect(runs).toHaveLength(2);
  });
});

describe("nobody is parked", () => {
  test("by a rejection, by words that only the daemon writes, or by a peer's line", async () => {
    const { wire, scribe, ask } = await asked();
    expect(scribe.core.send([answer(ask, { approve: true, parks: true })])).toEqual({
      is: "reserved",
    });
    wire.agent("forge").say("answer", {
      ...{ type: "ack", correlationId: ask.thread },
      body: fromPlain({ about: placeJson(ask) }),
    });
    const sent = scribe.core.send([answer(ask, { approve: false })]);
    expect(sent.is).toBe("sent");
    await wire.settle(2);
    expect(parkedView(scribe.core, { isDaemon: true })).toBeNull();
    // The request is closed by now.
    expect(withParking(scribe.core, answer(ask))).toEqual(answer(ask));
  });

  test("by another request, or by an ack of a shutdown of one that is not TRUSTED, or of a leave", async () => {
    const { wire, scribe } = await asked();
    const forge = wire.agent("forge");
    const plan = forge.say("plan", {
      ...{ type: "request", to: ["scribe"], body: fromPlain({ request_type: "plan_approval" }) },
    });
    const stops = forge.say("bye", { type: "shutdown", to: ["scribe"] });
    await wire.settle(1);
    const leave = { type: "shutdown", body: fromPlain({ leave: true, after: 0 }) };
    const leaves = forge.say("bye for good", leave);
    await wire.settle(1);
    const { store, history, place } = scribe.core;
    const parks = (tier: Tier, draft: Draft): boolean => {
      const believed: Known["place"]["believed"] = (author) => ({
        ...place.believed(author),
        tier,
      });
      const known = { ...pick(scribe.core), store, history, place: { ...place, believed } };
      return withParking(known, draft) !== draft;
    };
    const ack = (line: HeldLine, body: object = {}): Draft => ({
      ...{ type: "ack", to: ["forge"], subject: "ok" },
      body: fromPlain({ about: placeJson(line), ...body }),
    });
    expect(parks("TRUSTED", answer(plan))).toBe(false);
    expect(parks("ATTESTED", ack(stops))).toBe(false);
    expect(isParking(history, ack(leaves), () => true)).toBe(false);
    expect(parks("TRUSTED", ack(stops, { approve: false }))).toBe(false);
    expect(parks("TRUSTED", ack(stops))).toBe(true);
  });
});

function pick({ world, members, readiness, safeMode, situation, ...known }: Known) {
  const nothing = { cadenceMs: () => 0, knownMs: () => undefined, publishedMs: () => undefined };
  const { roster, isLive, transports, lastPass } = known;
  const wire = { members, roster, isLive, transports, lastPass };
  return { world, ...wire, readiness, safeMode, situation, ...nothing };
}
