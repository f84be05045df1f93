import { describe, expect, test } from "vitest";
import { emptyAnnouncements } from "../../../src/protocol/keys/announcements.ts";
import { decideLiveness, peersView } from "../../../src/protocol/heartbeats/liveness.ts";
import { moment, ScriptedAgent } from "../../support/scripts/scripted-agent.ts";
import {
  lineEvent,
  minutes,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
} from "../../support/scripts/wire-script.ts";

function scene(change: Parameters<typeof scriptEnv>[3] = {}) {
  const script = new WireScript("pairwise", ["forge", "scribe"]);
  const tiers = { scribe: { tier: "VERIFIED" } } as const;
  const forge = new ScriptedAgent(script, scriptEnv(script.layout, "forge", tiers, change));
  const peer = (at: number) =>
    peersView(
      { heartbeats: forge.heartbeats, announcements: emptyAnnouncements(), logs: forge.logs },
      forge.env,
      at,
    )[0];
  const tells = (at: number) => decideLiveness(forge.heartbeats, forge.env, at);
  return { script, forge, peer, tells };
}

describe("presence", () => {
  test("online, late, silent by our receipt, whatever the sender's clock says", () => {
    const { script, forge, peer } = scene();
    expect(peer(NOON)?.presence).toBe("unknown");
    const beat = script.beat("scribe_to_forge", NOON - minutes(60));
    forge.fold(lineEvent(beat, "forge", { at: NOON }));
    expect(peer(NOON + seconds(180))?.presence).toBe("online");
    expect(peer(NOON + seconds(180) + 1)?.presence).toBe("late");
    expect(peer(NOON + seconds(300) - 1)?.presence).toBe("late");
    expect(peer(NOON + seconds(300))?.presence).toBe("silent");
  });

  test("slow tiers are waited for longer, a boast of a day no longer than T3", () => {
    const { script, forge, peer } = scene();
    const eta = (ms: number) => ({ next_eta: new Date(ms).toISOString() });
    script.beat("scribe_to_forge", NOON, {}, eta(NOON + minutes(24 * 60)));
    forge.read(moment(NOON));
    expect(peer(NOON + minutes(40))?.presence).toBe("online");
    expect(peer(NOON + minutes(60) - 1)?.presence).toBe("late");
    expect(peer(NOON + minutes(60))?.presence).toBe("silent");
    script.beat("scribe_to_forge", NOON + minutes(61), {}, eta(NOON));
    forge.read(moment(NOON + minutes(61)));
    expect(peer(NOON + minutes(64))?.presence).toBe("online");
    expect(peer(NOON + minutes(67))?.presence).toBe("silent");
  });

  test("who said `paused` is paused, forever", () => {
    const { script, forge, peer, tells } = scene();
    script.beat("scribe_to_forge", NOON, {}, { state: "paused" });
    forge.read(moment(NOON));
    expect(peer(NOON)?.presence).toBe("paused");
    expect(peer(NOON + minutes(600))?.presence).toBe("paused");
    expect(tells(NOON + minutes(600))).toEqual([]);
  });

  test("daemon alive and agent alive apart, and the peer's own words cut short", () => {
    const { script, forge, peer } = scene({ heldPeers: new Set(["scribe"]) });
    script.beat(
      "scribe_to_forge",
      NOON,
      {},
      {
        tier: "T0_HEADS_DOWN",
        state: "b".repeat(1_000),
        agent_last_seen: new Date(NOON - minutes(90)).toISOString(),
        inbox_unread_count: 7,
        last_action: "l".repeat(1_000),
      },
    );
    forge.read(moment(NOON));
    expect(peer(NOON)).toEqual({
      handle: "scribe",
      trust_tier: "VERIFIED",
      trusts_us: null,
      heartbeat_tier: "T0_HEADS_DOWN",
      presence: "online",
      state: "b".repeat(64),
      last_action: "l".repeat(200),
      last_seen_at: new Date(NOON).toISOString(),
      agent_last_seen: new Date(NOON - minutes(90)).toISOString(),
      next_eta: new Date(NOON + seconds(90)).toISOString(),
      held: true,
      inbox_unread_count: 7,
      foreign_lines: 0,
      unpinned_lines: 0,
    });
  });

  test("a heartbeat that is not an object says only that its sender lives", () => {
    const { script, forge, peer } = scene();
    script.say("scribe_to_forge", NOON, { type: "heartbeat", body: "alive" });
    forge.read(moment(NOON));
    expect(peer(NOON)).toMatchObject({ presence: "online", state: null, next_eta: null });
  });
});

describe("silence is told", () => {
  test("with one key for each silence", () => {
    const { script, forge, tells } = scene();
    script.beat("scribe_to_forge", NOON);
    forge.read(moment(NOON));
    expect(tells(NOON + seconds(299))).toEqual([]);
    const [first] = tells(NOON + minutes(5));
    expect(first).toEqual({
      do: "tell",
      incident: {
        key: `peer_silent:scribe:${NOON}`,
        cause: "peer_silent",
        peer: "scribe",
        subject: "scribe is silent",
        detail:
          "the last heartbeat of scribe reached us at 2026-11-20T12:00:00.000Z; " +
          "its daemon has stopped, or what it writes does not reach this wire",
        concernsWire: false,
      },
    });
    expect(tells(NOON + minutes(500))).toEqual([first]);
    script.beat("scribe_to_forge", NOON + minutes(501));
    forge.read(moment(NOON + minutes(501)));
    expect(tells(NOON + minutes(502))).toEqual([]);
    expect(tells(NOON + minutes(600))).not.toEqual([first]);
  });

  test("not before all is read, not of a held peer, not from history", () => {
    const unread = scene({ caughtUp: (log) => log !== "scribe_to_forge" });
    const held = scene({ heldPeers: new Set(["scribe"]) });
    for (const { script, forge, tells } of [unread, held]) {
      script.beat("scribe_to_forge", NOON);
      forge.read(moment(NOON));
      expect(tells(NOON + minutes(60))).toEqual([]);
    }
    const script = new WireScript("pairwise", ["forge", "scribe", "sam"]);
    const caughtUp = (log: string) => log !== "scribe_to_sam";
    const env = scriptEnv(script.layout, "forge", {}, { caughtUp });
    const forge = new ScriptedAgent(script, env);
    script.beat("scribe_to_forge", NOON);
    forge.read(moment(NOON));
    expect(decideLiveness(forge.heartbeats, env, NOON + minutes(60))).toEqual([]);
    const joined = scene();
    const old = joined.script.beat("scribe_to_forge", NOON);
    joined.forge.fold(lineEvent(old, "forge", { live: false }));
    expect(joined.tells(NOON + minutes(60))).toEqual([]);
  });
});
