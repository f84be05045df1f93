import { describe, expect, test } from "vitest";
import { authenticate } from "../../src/trust/admission.ts";
import { admit, newLogAdmission } from "../../src/trust/log-admission.ts";
import { TIERS, type Tier } from "../../src/trust/tiers.ts";
import { kindOf, MESSAGE_TYPES } from "../../src/wire/kinds.ts";
import { makeLayout } from "../../src/wire/layout.ts";
import {
  alice,
  context,
  lineOf,
  NOON_MS,
  note,
  peer,
  signV30,
  signV31,
  storeOf,
  type Fields,
} from "./people.ts";

// Every tier × every kind, through the whole of admission: the line is signed, judged, and its
// verdict is that of Spec 2.3, whether it says its type, its kind or both.

const layout = makeLayout("pairwise", ["alice", "bob"]);
const FOR_STRANGERS = ["heartbeat", "agent_card", "trust_tier_announcement"];

function expected(tier: Tier | undefined, type: string): string {
  if (tier === undefined) return "tier_refused";
  if (tier === "UNTRUSTED" && !FOR_STRANGERS.includes(type)) return "tier_refused";
  return tier === "VERIFIED" && type === "claim" ? "tier_refused" : "accepted";
}

function verdict(fields: Fields, tier: Tier | undefined): string {
  const source = layout.logs.get("alice_to_bob");
  if (source === undefined) throw new Error("no such log");
  const ctx = context({ store: storeOf({ ...peer(alice), tier }) });
  const result = authenticate(lineOf(fields), { owner: "alice", log: source.name }, ctx);
  if (!result.ok) return result.reason;
  const judged = admit(result.message, newLogAdmission(source, layout), ctx, NOON_MS);
  return judged.outcome === "refused" ? judged.reason : judged.outcome;
}

describe.each([...TIERS, undefined])("%s", (tier) => {
  test.each(MESSAGE_TYPES)("%s, by type, by kind and by both", (type) => {
    const fields = note({ type, ack_required: true, correlation_id: "a thread" });
    const kind = kindOf(type);
    for (const said of [fields, { ...fields, kind }, { ...fields, type: undefined, kind }]) {
      expect(verdict(signV31(said), tier)).toBe(expected(tier, type));
      expect(verdict(signV30(said), tier)).toBe(expected(tier, type));
    }
  });

  test.each([0, 2, 999, 1_999, 9_999, 19_999, 20_001, 30_000, 40_000])("kind %i", (kind) => {
    const said = signV31(note({ type: undefined, kind }));
    const known = tier === undefined || tier === "UNTRUSTED" ? "tier_refused" : "accepted";
    expect(verdict(said, tier)).toBe(known);
  });
});
