import { describe, expect, test } from "vitest";
import { encodeBase64 } from "../../src/wire/signature.ts";
import {
  deactivateKey,
  hold,
  setAllowUnchained,
  setBlocked,
  type StoreChange,
} from "../../src/trust/pins.ts";
import { tierOf, type KeyEnd, type TrustStore } from "../../src/trust/store.ts";
import {
  parseTrustFile,
  parseTrustStore,
  serialiseTrustStore,
  type TrustDocument,
} from "../../src/trust/trust-file.ts";
import { alice, bob, carol, peer, pinned, storeOf, type Person } from "./people.ts";

function bytesOf(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document));
}

function keyOf(who: Person): Record<string, unknown> {
  return { key_id: who.signer.keyId, key: encodeBase64(who.key), added_at: "", active: true };
}

function read(document: unknown, untiered: "ATTESTED" | "UNTRUSTED" = "UNTRUSTED"): TrustDocument {
  const parsed = parseTrustFile(bytesOf(document), "trust.json", untiered);
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.document;
}

function v31(agents: unknown): unknown {
  return { schema_version: "v3.1", version: 7, agents };
}

describe("a trust file", () => {
  test("of v3.1 is read as the spec prints it", () => {
    const { peers, problems } = read(
      v31({
        alice: {
          tier: "VERIFIED",
          tier_set_at: "2026-05-05T15:00:00.123456Z",
          sas_verified: true,
          sas_verified_at: "2026-05-05T15:00:00Z",
          successful_reciprocations: 3,
          agent_card_url: "https://example.org/card",
          public_keys: [keyOf(alice)],
        },
      }),
    );
    expect(problems).toEqual([]);
    expect(peers.get("alice")).toMatchObject({
      tier: "VERIFIED",
      tierSetAtMs: Date.parse("2026-05-05T15:00:00.123Z"),
      sasVerifiedAt: "2026-05-05T15:00:00Z",
      reciprocations: 3,
      extra: { agent_card_url: "https://example.org/card" },
      keys: [{ keyId: alice.signer.keyId, key: alice.key, active: true }],
    });
  });

  test("may say null for a SAS that never was", () => {
    const { peers, problems } = read(v31({ alice: { sas_verified_at: null } }));
    expect([peers.get("alice")?.sasVerifiedAt, problems]).toEqual([undefined, []]);
  });

  test.each(["ATTESTED", "UNTRUSTED"] as const)("of v3.0 gives its agents %s", (untiered) => {
    const document = { version: 1, agents: { alice: { public_keys: [keyOf(alice)] } } };
    expect(read(document, untiered)).toMatchObject({ schema: "v3.0" });
    expect(read(document, untiered).peers.get("alice")?.tier).toBe(untiered);
  });

  test("of v3.1 that states no tier means UNTRUSTED, whoever reads it", () => {
    const document = v31({ alice: { public_keys: [keyOf(alice)] } });
    expect(read(document, "ATTESTED").peers.get("alice")?.tier).toBe("UNTRUSTED");
  });

  test("may name agents as did:wire:<handle>", () => {
    const { peers } = read(v31({ "did:wire:alice": { public_keys: [keyOf(alice)] } }));
    expect([...peers.keys()]).toEqual(["alice"]);
  });

  test("that names an agent in both spellings is believed once", () => {
    const agents = { "did:wire:alice": { tier: "VERIFIED" }, alice: { tier: "TRUSTED" } };
    const { peers, problems } = read(v31(agents));
    expect(peers.get("alice")?.tier).toBe("VERIFIED");
    expect(problems).toEqual(["trust.json: agents.alice names an agent a second time"]);
  });

  test("with a tier that does not exist gives no tier", () => {
    const { peers } = read(v31({ alice: { tier: "ADMIN", public_keys: [keyOf(alice)] } }));
    expect(tierOf({ version: 1, peers }, "alice")).toBeUndefined();
  });

  test.each([
    ["of small order", encodeBase64(new Uint8Array(32))],
    ["that is not canonical", encodeBase64(new Uint8Array(32).fill(0xff))],
    ["that is too short", encodeBase64(alice.key.subarray(1))],
    ["in loose base64", encodeBase64(alice.key).replace("=", "")],
    ["that is no string", 5],
    ["that is absent", undefined],
  ])("loses a key %s, and says so", (_, key) => {
    const bad = { ...keyOf(alice), key };
    const { peers, problems } = read(v31({ alice: { public_keys: [bad, keyOf(alice)] } }));
    expect(peers.get("alice")?.keys).toMatchObject([{ keyId: alice.signer.keyId }]);
    expect(problems.at(-1)).toContain("agents.alice.public_keys[0].key is no usable Ed25519 key");
  });

  test("loses a key whose id is another's, and says whose it is", () => {
    const { peers, problems } = read(v31({ alice: { public_keys: [keyOf(bob)] } }));
    expect(peers.get("alice")?.keys).toEqual([]);
    expect(problems[0]).toContain(`that key of alice is alice:${bob.signer.keyId.slice(4)}`);
  });

  test.each([
    ["not json", "this is no json"],
    ["of another version", '{"schema_version":"v9"}'],
    ["of no version in so many words", '{"schema_version":null}'],
    ["with a key twice", '{"version":1,"version":2}'],
  ])("%s is refused whole", (_, text) => {
    const parsed = parseTrustFile(new TextEncoder().encode(text), "trust.json", "UNTRUSTED");
    expect(parsed).toMatchObject({ ok: false, detail: expect.stringMatching(/^trust\.json: /) });
  });

  test("that is all wrong is not described to its end", () => {
    const agents = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a${at}`, 5]));
    expect(read(v31(agents)).problems).toHaveLength(64);
  });
});

describe("the private store", () => {
  function changed(): TrustStore {
    const ends = new Map<string, KeyEnd>([
      ["alice_to_bob", { seq: 4, id: "ab".repeat(32) }],
      ["alice_to_carol", { id: "cd" }],
    ]);
    const why = { cause: "log_forked", detail: "why", sinceMs: 1_000 };
    const steps: ((store: TrustStore) => StoreChange)[] = [
      (s) => deactivateKey(s, alice.signer.keyId, "2026-06-01T00:00:00Z", ends),
      (s) => hold(s, "alice", why),
      (s) => setBlocked(s, "bob", true),
      (s) => setAllowUnchained(s, "bob", true),
    ];
    const store = storeOf(
      { ...peer(alice, "TRUSTED"), tierSetAtMs: 2_000, attestedSinceMs: 1_000, reciprocations: 12 },
      { ...peer(bob), tier: undefined, sasVerifiedAt: "2026-06-01T00:00:00Z" },
      { ...peer(carol, "UNTRUSTED"), extra: { agent_card_url: "https://example.org" } },
    );
    return steps.reduce((before, step) => {
      const change = step(before);
      if (!change.ok) throw new Error(change.detail);
      return change.store;
    }, store);
  }

  test("survives its file", () => {
    const store = changed();
    const bytes = new TextEncoder().encode(serialiseTrustStore(store));
    expect(parseTrustStore(bytes, store.version)).toEqual({ ok: true, store });
  });

  test("older than the last one seen is refused", () => {
    const store = { ...storeOf(peer(alice)), version: 6 };
    const bytes = new TextEncoder().encode(serialiseTrustStore(store));
    expect(parseTrustStore(bytes, 6).ok).toBe(true);
    expect(parseTrustStore(bytes, 7)).toMatchObject({
      ok: false,
      detail: expect.stringContaining("version 6 is older than version 7"),
    });
  });

  test("may hold nothing that is wrong", () => {
    const bytes = bytesOf(v31({ alice: { tier: "VERIFIED", blocked: "yes" } }));
    expect(parseTrustStore(bytes, 0)).toEqual({
      ok: false,
      detail: 'trust.json: agents.alice.blocked is "yes"; expected true or false',
    });
  });

  test.each([[{ version: 3, agents: {} }], [{ schema_version: "v3.1", agents: {} }]])(
    "is not %j",
    (document) => {
      expect(parseTrustStore(bytesOf(document), 0)).toMatchObject({
        ok: false,
        detail: expect.stringContaining("deaddrop trust import"),
      });
    },
  );

  test("counts an unknown agent as UNTRUSTED and a blocked one as nothing", () => {
    const store = storeOf(peer(alice, "VERIFIED"), { ...peer(bob), blocked: true });
    expect(["alice", "bob", "carol"].map((handle) => tierOf(store, handle))).toEqual([
      "VERIFIED",
      undefined,
      "UNTRUSTED",
    ]);
  });

  test("keeps keys apart by agent", () => {
    expect(pinned(alice).keyId).not.toBe(pinned(bob).keyId);
  });
});
