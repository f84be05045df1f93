import { describe, expect, test } from "vitest";
import { newBeatTimers } from "../../src/protocol/heartbeats/beat-timers.ts";
import { apply, decide } from "../../src/protocol/core.ts";
import type { CoreEvent } from "../../src/protocol/events.ts";
import type { Env } from "../../src/protocol/env.ts";
import { readSnapshot, writeSnapshot } from "../../src/protocol/snapshot.ts";
import { mayInitiate } from "../../src/protocol/startup.ts";
import { emptyState, type State } from "../../src/protocol/state.ts";
import { encodeBase64, keyId, publicKeyOf } from "../../src/wire/signature.ts";
import { lineEvent, NOON, scriptEnv, WireScript } from "../support/scripts/wire-script.ts";

const LOG = "forge_to_scribe";
const [OLD_KEY, NEW_KEY] = [1, 2].map((fill) => publicKeyOf(new Uint8Array(32).fill(fill)));
const OLD = keyId("forge", OLD_KEY as Uint8Array);
const NEW = keyId("forge", NEW_KEY as Uint8Array);

/** Forge signs with its new key, and its daemon is to ask for the end of the old one. */
class Daemon {
  readonly script = new WireScript("pairwise", ["forge", "scribe"]);
  readonly events: CoreEvent[] = [];
  readonly env: Env;
  state: State = emptyState();
  #at = NOON;

  constructor() {
    const keys = { current: NEW, sinceMs: NOON, next: undefined, nextIsUrgent: false };
    const ownKeys = { ...keys, earlier: [OLD], graceMs: 0 };
    this.env = { ...scriptEnv(this.script.layout, "forge"), ownKeys };
    const body = { action: "add_key", key_id: NEW, key: encodeBase64(NEW_KEY as Uint8Array) };
    const line = this.script.say(LOG, NOON, { type: "proposal", body, thread: "keys" });
    this.fold(lineEvent(line, "forge"));
  }

  fold(event: CoreEvent): void {
    this.events.push(event);
    apply(this.state, event, this.env);
  }

  start(): void {
    this.fold({ kind: "started", at: this.#at });
    this.beat(0);
  }

  /** Its next heartbeat, so many cadences of its own pace after the one before. */
  beat(cadences = 1): void {
    const tier = this.state.heartbeats.paces.get("scribe")?.tier ?? "T1_active";
    this.#at += cadences * this.env.policy.cadences[tier];
    this.fold(lineEvent(this.script.beat(LOG, this.#at, {}), "forge", { at: this.#at }));
  }

  /** What it proposes of its own account now; reverts are not delayed. */
  sends(): string[] {
    const now = { wallMs: this.#at, monoMs: this.#at };
    return decide(this.state, this.env, now, newBeatTimers()).flatMap((effect) =>
      effect.do === "send" && effect.draft.type === "proposal" ? [effect.draft.type] : [],
    );
  }

  /** What a replay of everything decides, and what the checkpoint does. */
  expectReplayEqualsLive(): void {
    const live = this.sends();
    const kept = this.state;
    const replayed = emptyState();
    for (const event of this.events) apply(replayed, event, this.env);
    for (const state of [replayed, readSnapshot(writeSnapshot(kept))]) {
      if (state === undefined) throw new Error("no snapshot");
      this.state = state;
      expect(this.sends()).toEqual(live);
    }
    this.state = kept;
  }
}

describe("a proposal of the daemon's own account", () => {
  test("waits for two heartbeats after each start", () => {
    const forge = new Daemon();
    for (let start = 0; start < 3; start += 1) {
      forge.start();
      expect(forge.sends()).toEqual([]);
      forge.beat();
      expect(forge.sends()).toEqual([]);
      // A beat that was brought forward is none of its pace.
      forge.beat(0.02);
      expect(forge.sends()).toEqual([]);
      forge.expectReplayEqualsLive();
      forge.beat();
      expect(forge.sends()).toEqual(["proposal"]);
      forge.expectReplayEqualsLive();
    }
  });

  test("is neither early nor starved where the daemon starts again and again", () => {
    for (const runs of [[0.1], [1], [0.55, 0.55]]) {
      const forge = new Daemon();
      const waits: number[] = [];
      let waited = 0;
      for (let start = 0; start < 200; start += 1) {
        forge.start();
        if (forge.sends().length > 0) throw new Error(`sent with start ${start}`);
        for (const run of runs) {
          forge.beat(run);
          waited += run;
          if (forge.sends().length === 0) continue;
          waits.push(waited);
          waited = 0;
        }
        if (start % 50 === 0) forge.expectReplayEqualsLive();
      }
      expect(waits.length).toBeGreaterThan(0);
      expect(Math.min(...waits)).toBeGreaterThan(2);
      expect(Math.max(...waits)).toBeLessThan(8);
    }
  });

  test("is a claim, a proposal or a decision; nothing else is delayed", () => {
    const forge = new Daemon();
    forge.start();
    const may = (type: string) => mayInitiate(type, forge.state.heartbeats);
    expect(["claim", "proposal", "decision"].map(may)).toEqual([false, false, false]);
    for (const type of ["correction", "incident", "ack", "trust_tier_announcement"]) {
      expect(may(type)).toBe(true);
    }
  });
});
