import fc from "fast-check";
import { expect, test } from "vitest";
import { verifyLine } from "../../src/protocol/admit/verify-line.ts";
import {
  acceptKey,
  confirmSas,
  deactivateKey,
  pin,
  release,
  revokeKey,
  setFlags,
  setReciprocations,
  setTier,
  type StoreChange,
} from "../../src/trust/pins.ts";
import { EMPTY_STORE, tierOf, type TrustStore } from "../../src/trust/store.ts";
import { TIERS, type Tier } from "../../src/trust/tiers.ts";
import { lineOf, NOON_MS, note, person, signV31, withHold, type Person } from "./people.ts";

/** Two agents with three keys each. */
const AGENTS = ["alice", "bob"].map((handle) =>
  ["", " second", " third"].map((variant) => person(handle, variant)),
);
const KEYS = AGENTS.flat();
const LINES = new Map(
  KEYS.map((who) => [who, lineOf(signV31(note({ from: who.handle, log: "x" }), who))]),
);

const anyKey = fc.constantFrom(...KEYS);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("pin" as const), key: anyKey }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("acceptKey" as const), key: anyKey }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("deactivate" as const), key: anyKey }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("revoke" as const), key: anyKey }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("setTier" as const),
      key: anyKey,
      tier: fc.constantFrom(...TIERS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("confirmSas" as const), key: anyKey }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant("count" as const),
      key: anyKey,
      count: fc.integer({ min: 0, max: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constantFrom("block" as const, "unblock" as const, "hold" as const),
      key: anyKey,
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("release" as const), key: anyKey }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function change(store: TrustStore, step: Step, nowMs: number): StoreChange {
  const { handle, key, signer } = step.key;
  const at = new Date(nowMs).toISOString();
  switch (step.does) {
    case "pin":
      return pin(store, handle, key, at);
    case "acceptKey":
      return acceptKey(store, handle, key, at);
    case "deactivate":
      return deactivateKey(store, signer.keyId, at);
    case "revoke":
      return revokeKey(store, signer.keyId, nowMs);
    case "setTier":
      return setTier(store, handle, step.tier, nowMs);
    case "confirmSas":
      return confirmSas(store, handle, nowMs);
    case "count":
      return setReciprocations(store, handle, step.count, nowMs);
    case "block":
      return setFlags(store, handle, { blocked: true });
    case "unblock":
      return setFlags(store, handle, { blocked: false });
    case "hold":
      return {
        ok: true,
        store: withHold(store, handle, {
          cause: "log_forked",
          detail: "two lines",
          sinceMs: nowMs,
        }),
      };
    case "release":
      return release(store, handle);
  }
}

/** Spec 2.1 to 2.3 for one agent, as sets and a ladder. */
class SlowPeer {
  readonly ever = new Set<Person>();
  readonly dead = new Set<Person>();
  tier: Tier = "UNTRUSTED";
  counted = 0;
  blocked = false;
  held = false;

  /** Whether the step is allowed; then it is taken. */
  take(step: Step): boolean {
    const { key } = step;
    switch (step.does) {
      case "pin":
        if (this.isActive(key)) return true;
        return this.ever.size === 0 && this.add(key);
      case "acceptKey":
        if (this.isActive(key)) return true;
        return !this.dead.has(key) && this.add(key);
      case "deactivate":
      case "revoke":
        if (!this.ever.has(key)) return false;
        this.dead.add(key);
        // Who has the key may have earned the tier with it.
        if (step.does === "revoke") this.moveTo("UNTRUSTED");
        this.held ||= step.does === "revoke";
        return true;
      case "setTier":
        if (this.ever.size === 0) return false;
        if (step.tier === this.tier) return true;
        if (step.tier === "TRUSTED" && this.tier !== "ATTESTED") return false;
        this.moveTo(step.tier);
        return true;
      case "confirmSas":
        if (this.ever.size === 0) return false;
        if (this.tier === "UNTRUSTED") this.moveTo("VERIFIED");
        return true;
      case "count":
        this.counted = Math.max(this.counted, step.count);
        if (this.tier === "VERIFIED" && step.count === this.counted && step.count >= 10) {
          this.tier = "ATTESTED";
        }
        return true;
      case "block":
      case "unblock":
        this.blocked = step.does === "block";
        return true;
      case "hold":
      case "release":
        this.held = step.does === "hold";
        return true;
    }
  }

  private add(key: Person): boolean {
    this.ever.add(key);
    return true;
  }

  private moveTo(tier: Tier): void {
    this.tier = tier;
    if (tier === "UNTRUSTED" || tier === "VERIFIED") this.counted = 0;
  }

  isActive(key: Person): boolean {
    return this.ever.has(key) && !this.dead.has(key);
  }
}

test("whom we believe follows from what was done, and every line is judged by it", () => {
  let believed = 0;
  let refused = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      let store = EMPTY_STORE;
      const slow = new Map(["alice", "bob"].map((handle) => [handle, new SlowPeer()]));
      const isKnown = new Set<string>();
      for (const [number, each] of steps.entries()) {
        const before = store;
        const changed = change(store, each, NOON_MS + number);
        const peer = slow.get(each.key.handle) as SlowPeer;
        // Counting says nothing of an agent that we have never heard of.
        const isStranger = !isKnown.has(each.key.handle) && each.does === "count";
        expect([each.does, changed.ok]).toEqual([each.does, isStranger || peer.take(each)]);
        if (!changed.ok) continue;
        store = changed.store;
        if (store.peers.has(each.key.handle)) isKnown.add(each.key.handle);
        expect(store === before || store.version > before.version).toBe(true);
        // Done once more at the same moment it changes nothing that counts.
        const again = change(store, each, NOON_MS + number);
        if (again.ok) expect(beliefs(again.store)).toEqual(beliefs(store));
      }
      for (const [handle, peer] of slow) {
        expect(tierOf(store, handle)).toBe(peer.blocked ? undefined : peer.tier);
        expect(store.peers.get(handle)?.held !== undefined).toBe(peer.held);
      }
      for (const who of KEYS) {
        const line = LINES.get(who) as Uint8Array;
        const verdict = verifyLine(line, store);
        const isBelieved = slow.get(who.handle)?.isActive(who) === true;
        const isRefused = !verdict.ok && verdict.problem.reason === "untrusted_key";
        expect(isRefused).toBe(!isBelieved);
        if (isBelieved) believed++;
        else refused++;
      }
    }),
    { numRuns: 1_000 },
  );
  expect(Math.min(believed, refused)).toBeGreaterThan(500);
});

function beliefs(store: TrustStore): unknown {
  return [...store.peers.values()].map(({ handle, tier, blocked, held, keys, reciprocations }) => [
    ...[handle, tier, blocked, held, reciprocations],
    keys.map(({ keyId, active }) => [keyId, active]),
  ]);
}
