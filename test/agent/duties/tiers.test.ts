import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { waitsView } from "../../../src/agent/answers/waits.ts";
import { TierDuty } from "../../../src/agent/duties/tiers.ts";
import { setFlags, setTier } from "../../../src/trust/pins.ts";
import { RECIPROCATIONS_TO_ATTEST, type Tier } from "../../../src/trust/tiers.ts";
import { TrustWire } from "../../support/trust-wire.ts";

// Tiers are announced to who waits for them, and rise by what was agreed. Spec 2.3.

const root = mkdtempSync(join(tmpdir(), "deaddrop-tiers-"));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function makeWire(tier: Tier, names: readonly string[]): TrustWire {
  return new TrustWire(root, names, {
    tier,
    duties: ({ ground, trust }) => [new TierDuty(ground, trust)],
  });
}

function announcements(wire: TrustWire, by: string): unknown[] {
  const { store } = wire.agent(by).core;
  return store
    .chain(by, { after: 0, limit: 100 })
    .filter(({ type }) => type === "trust_tier_announcement")
    .map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as { body: unknown }).body);
}

test("who waits for a comparison is told once, and again when the tier has changed", async () => {
  const wire = makeWire("UNTRUSTED", ["forge", "scribe"]);
  await wire.settle();
  wire.agent("forge").say("one");
  await wire.settle();
  wire.agent("forge").say("two");
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual([]);
  const waits = waitsView(wire.agent("scribe").core, "forge");
  expect(waits).toMatchObject([{ code: "not_compared", place: ["forge", 1, expect.any(String)] }]);
  expect(announcements(wire, "scribe")).toEqual([{ about: "forge", tier: "UNTRUSTED" }]);
  expect(wire.agent("forge").core.store.tiers.given("scribe")).toBe("UNTRUSTED");
  // Our own announcement is in no need of an answer.
  expect(announcements(wire, "forge")).toEqual([]);
  wire.agent("scribe").restart();
  await wire.settle();
  expect(announcements(wire, "scribe")).toHaveLength(1);
  wire.trust("scribe").change((store) => setTier(store, "forge", "VERIFIED", wire.nowMs));
  await wire.settle();
  expect(wire.agent("scribe").mail).toEqual(["one", "two"]);
  expect(announcements(wire, "scribe").at(-1)).toEqual({ about: "forge", tier: "VERIFIED" });
  expect(wire.agent("forge").core.store.tiers.given("scribe")).toBe("VERIFIED");
  // A claim is refused for the tier: that was announced already.
  wire.agent("forge").say("a claim", { type: "claim" });
  await wire.settle();
  expect(announcements(wire, "scribe")).toHaveLength(2);
  wire.close();
});

test("a blocked author is told nothing", async () => {
  const wire = makeWire("UNTRUSTED", ["forge", "scribe"]);
  await wire.settle();
  wire.trust("scribe").change((store) => setFlags(store, "forge", { blocked: true }));
  wire.agent("forge").say("one");
  await wire.settle();
  expect(announcements(wire, "scribe")).toEqual([]);
  wire.close();
});

test("ten approved proposals of ours make a VERIFIED agent ATTESTED, each counted once", async () => {
  const wire = makeWire("VERIFIED", ["forge", "scribe"]);
  await wire.settle();
  for (let count = 1; count <= RECIPROCATIONS_TO_ATTEST; count += 1) {
    const { tier } = wire.trust("forge").store.peers.get("scribe") ?? {};
    expect(tier).toBe("VERIFIED");
    const ask = wire.agent("forge").propose(`Step ${count}.`, ["scribe"]);
    await wire.settle(1);
    wire.agent("scribe").answer(ask, count !== 3);
    if (count === 3) {
      await wire.settle(1);
      const again = wire.agent("forge").propose("Step 3, again.", ["scribe"]);
      await wire.settle(1);
      wire.agent("scribe").answer(again, true);
    }
    await wire.settle(1);
    if (count === 5) {
      // The same history counts once.
      wire.agent("forge").loseStore();
      await wire.settle(2);
    }
  }
  const peer = wire.trust("forge").store.peers.get("scribe");
  expect(peer).toMatchObject({ tier: "ATTESTED", reciprocations: RECIPROCATIONS_TO_ATTEST });
  expect(wire.trust("scribe").store.peers.get("forge")?.tier).toBe("VERIFIED");
  wire.close();
});
