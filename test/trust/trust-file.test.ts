import { describe, expect, test } from "vitest";
import { encodeBase64 } from "../../src/wire/signature.ts";
import { deactivateKey, setFlags, type StoreChange } from "../../src/trust/pins.ts";
import { newPeer, tierOf, type TrustStore } from "../../src/trust/store.ts";
import {
  parseTrustFile,
  parseTrustStore,
  serialiseTrustStore,
  type TrustDocument,
} from "../../src/trust/trust-file.ts";
import {
  alice,
  bob,
  carol,
  peer,
  person,
  pinned,
  storeOf,
  withHold,
  type Person,
} from "./people.ts";

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
          agent_card_fetched_at: "2026-05-05T15:00:00Z",
          nickname: "al",
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
      cardUrl: "https://example.org/card",
      cardFetchedAt: "2026-05-05T15:00:00Z",
      extra: { nickname: "al" },
      keys: [{ keyId: alice.signer.keyId, key: alice.key, active: true }],
    });
  });

  test("may say null for what never was", () => {
    const nothing = { sas_verified_at: null, agent_card_url: null, agent_card_fetched_at: null };
    const { peers, problems } = read(v31({ alice: nothing }));
    const { sasVerifiedAt, cardUrl, cardFetchedAt } = peers.get("alice") ?? newPeer("nobody");
    expect([sasVerifiedAt, cardUrl, cardFetchedAt, problems]).toEqual([
      ...[undefined, undefined, undefined],
      [],
    ]);
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
    const path = "trust.json: agents.alice.public_keys[0].key";
    expect(problems).toEqual([
      ...(key === 5 ? [`${path} is 5; expected a string`] : []),
      `${path} is no usable Ed25519 key; expected 32 bytes in standard base64, a canonical point that is not of small order`,
    ]);
  });

  test.each([
    ["another's", bob.signer.keyId, `"${bob.signer.keyId}"`],
    ["absent", undefined, "null"],
  ])("loses a key whose id is %s, and says what it is", (_, key_id, named) => {
    const key = { ...keyOf(bob), key_id };
    const { peers, problems } = read(v31({ alice: { public_keys: [key] } }));
    expect(peers.get("alice")?.keys).toEqual([]);
    expect(problems).toEqual([
      `trust.json: agents.alice.public_keys[0].key_id is ${named}; that key of alice is alice:${bob.signer.keyId.slice(4)}`,
    ]);
  });

  test("that says nothing of a key but itself means an active one", () => {
    const { key_id, key } = keyOf(alice);
    const { peers } = read(v31({ alice: { public_keys: [{ key_id, key }] } }));
    expect(peers.get("alice")?.keys).toStrictEqual([
      { keyId: alice.signer.keyId, key: alice.key, addedAt: "", active: true },
    ]);
  });

  test("knows for which line a key is believed last, if it is named", () => {
    const id = "ab".repeat(32);
    const key = { ...keyOf(alice), active: false, deactivated_at: "then", last: [4, id] };
    const { peers, problems } = read(v31({ alice: { public_keys: [key] } }));
    expect(peers.get("alice")?.keys).toEqual([
      { ...pinned(alice, false), addedAt: "", deactivatedAt: "then", last: { seq: 4, id } },
    ]);
    expect(problems).toEqual([]);
  });

  test.each([
    ["TRUSTED", "1970-01-01T00:00:01Z", 1_000],
    ["ATTESTED", "1970-01-01T00:00:01Z", 1_000],
    ["ATTESTED", undefined, 2_000],
    ["VERIFIED", "1970-01-01T00:00:01Z", undefined],
    ["VERIFIED", undefined, undefined],
  ])("that says %s, attested since %s, means since %s", (tier, attested_since, sinceMs) => {
    const agent = { tier, tier_set_at: "1970-01-01T00:00:02Z", attested_since };
    const { peers, problems } = read(v31({ alice: agent }));
    expect(peers.get("alice")).toMatchObject({ tierSetAtMs: 2_000, attestedSinceMs: sinceMs });
    expect(problems).toEqual([]);
  });

  test("that holds an agent and does not say why holds it all the same", () => {
    const { peers } = read(v31({ alice: { held: {} } }));
    expect(peers.get("alice")?.held).toEqual({ cause: "held", detail: "", sinceMs: 0 });
  });

  const agent = "agents.alice";
  const inKey = `${agent}.public_keys[0]`;
  const ofAgent = (fields: object): object => ({ agents: { alice: fields } });
  const ofKey = (fields: object): object =>
    ofAgent({ public_keys: [{ ...keyOf(alice), ...fields }] });
  const anyNumber = "a whole number from 0 to 9007199254740991";
  const anyTime = "a time such as 2026-06-01T10:00:00Z";

  test.each([
    [{ version: -1 }, `version is -1; expected ${anyNumber}`],
    [{ agents: [] }, "agents is a list; expected an object"],
    [{ agents: { alice: 5 } }, `${agent} is 5; expected an object`],
    [{ agents: { "a b": {} } }, 'agents: "a b" is neither a handle nor did:wire:<handle>'],
    [ofAgent({ tier: 5 }), `${agent}.tier is 5; expected a string`],
    [ofAgent({ tier_set_at: 5 }), `${agent}.tier_set_at is 5; expected a string`],
    [ofAgent({ attested_since: "soon" }), `${agent}.attested_since is "soon"; expected ${anyTime}`],
    [ofAgent({ sas_verified_at: 5 }), `${agent}.sas_verified_at is 5; expected a string`],
    [
      ofAgent({ successful_reciprocations: -1 }),
      `${agent}.successful_reciprocations is -1; expected ${anyNumber}`,
    ],
    [ofAgent({ blocked: 1 }), `${agent}.blocked is 1; expected true or false`],
    [ofAgent({ allow_unchained: 1 }), `${agent}.allow_unchained is 1; expected true or false`],
    [ofAgent({ held: 5 }), `${agent}.held is 5; expected an object`],
    [ofAgent({ held: { cause: 5 } }), `${agent}.held.cause is 5; expected a string`],
    [ofAgent({ held: { detail: 5 } }), `${agent}.held.detail is 5; expected a string`],
    [ofAgent({ held: { since: 5 } }), `${agent}.held.since is 5; expected a string`],
    [ofAgent({ public_keys: {} }), `${agent}.public_keys is an object; expected a list`],
    [ofAgent({ public_keys: [5] }), `${inKey} is 5; expected an object`],
    [
      ofAgent({ public_keys: [keyOf(alice), keyOf(alice)] }),
      `${agent}.public_keys[1] repeats the key id ${alice.signer.keyId}`,
    ],
    [ofKey({ added_at: 5 }), `${inKey}.added_at is 5; expected a string`],
    [ofKey({ active: 1 }), `${inKey}.active is 1; expected true or false`],
    [ofKey({ revoked: 1 }), `${inKey}.revoked is 1; expected true or false`],
    [ofKey({ deactivated_at: 5 }), `${inKey}.deactivated_at is 5; expected a string`],
    [ofKey({ last: 5 }), `${inKey}.last is 5; expected [number, id] of a line`],
    [ofKey({ last: [0, "ab"] }), `${inKey}.last is a list; expected [number, id] of a line`],
  ])("%j says what is wrong", (document, problem) => {
    expect(read(document).problems).toEqual([`trust.json: ${problem}`]);
  });

  test("says of a key id that is no string that it is none, and what it should be", () => {
    expect(read(ofKey({ key_id: 5 })).problems).toEqual([
      `trust.json: ${inKey}.key_id is 5; expected a string`,
      `trust.json: ${inKey}.key_id is null; that key of alice is ${alice.signer.keyId}`,
    ]);
  });

  test("is read to its 1024th agent", () => {
    const agents = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, {}]));
    const full = read(v31(agents(1_024)));
    expect([full.peers.size, full.problems]).toEqual([1_024, []]);
    const over = read(v31(agents(1_025)));
    const problem = "trust.json: agents has 1025 entries; at most 1024 are read";
    expect([over.peers.size, over.problems]).toEqual([1_024, [problem]]);
  });

  test("is read to the 64th key of an agent", () => {
    const keys = Array.from({ length: 65 }, (_, at) => keyOf(person("alice", ` ${at}`)));
    const full = read(ofAgent({ public_keys: keys.slice(1) }));
    expect([full.peers.get("alice")?.keys.length, full.problems]).toEqual([64, []]);
    const over = read(ofAgent({ public_keys: keys }));
    const problem = `trust.json: ${agent}.public_keys has 65 keys; at most 64 are read`;
    expect([over.peers.get("alice")?.keys.length, over.problems]).toEqual([64, [problem]]);
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
    const last = { seq: 4, id: "ab".repeat(32) };
    const why = { cause: "log_forked", detail: "why", sinceMs: 1_000 };
    const steps: ((store: TrustStore) => StoreChange)[] = [
      (s) => deactivateKey(s, alice.signer.keyId, "2026-06-01T00:00:00Z", last),
      (s) => ({ ok: true, store: withHold(s, "alice", why) }),
      (s) => setFlags(s, "bob", { blocked: true }),
      (s) => setFlags(s, "bob", { allowUnchained: true }),
    ];
    const store = storeOf(
      { ...peer(alice, "TRUSTED"), tierSetAtMs: 2_000, attestedSinceMs: 1_000, reciprocations: 12 },
      { ...peer(bob), tier: undefined, sasVerifiedAt: "2026-06-01T00:00:00Z" },
      {
        ...peer(carol, "UNTRUSTED"),
        cardUrl: "https://example.org/card.json",
        cardFetchedAt: "2026-06-01T00:00:00Z",
        extra: { nickname: "carrie" },
      },
    );
    return steps.reduce((before, step) => {
      const change = step(before);
      if (!change.ok) throw new Error(change.detail);
      return change.store;
    }, store);
  }

  test("stands in its file as the spec prints it", () => {
    const text = serialiseTrustStore(changed());
    expect(text.endsWith("\n")).toBe(true);
    expect(JSON.parse(text)).toEqual({
      schema_version: "v3.1",
      version: 5,
      agents: {
        alice: {
          tier: "TRUSTED",
          tier_set_at: "1970-01-01T00:00:02.000Z",
          attested_since: "1970-01-01T00:00:01.000Z",
          sas_verified: false,
          successful_reciprocations: 12,
          held: { cause: "log_forked", detail: "why", since: "1970-01-01T00:00:01.000Z" },
          public_keys: [
            {
              ...keyOf(alice),
              added_at: "2026-05-01T00:00:00Z",
              active: false,
              deactivated_at: "2026-06-01T00:00:00Z",
              last: [4, "ab".repeat(32)],
            },
          ],
        },
        bob: {
          tier: "NONE",
          sas_verified: true,
          sas_verified_at: "2026-06-01T00:00:00Z",
          successful_reciprocations: 0,
          blocked: true,
          allow_unchained: true,
          public_keys: [{ ...keyOf(bob), added_at: "2026-05-01T00:00:00Z" }],
        },
        carol: {
          tier: "UNTRUSTED",
          sas_verified: false,
          successful_reciprocations: 0,
          agent_card_url: "https://example.org/card.json",
          agent_card_fetched_at: "2026-06-01T00:00:00Z",
          nickname: "carrie",
          public_keys: [{ ...keyOf(carol), added_at: "2026-05-01T00:00:00Z" }],
        },
      },
    });
  });

  test("survives its file", () => {
    const store = changed();
    const bytes = new TextEncoder().encode(serialiseTrustStore(store));
    expect(parseTrustStore(bytes, store.version)).toEqual({ ok: true, store });
  });

  test("knows a revoked key from one that was only stopped", () => {
    const store = storeOf({
      ...peer(alice),
      keys: [{ ...pinned(alice, false), revoked: true }, pinned(person("alice", " second"), false)],
    });
    const read = parseTrustStore(new TextEncoder().encode(serialiseTrustStore(store)), 0);
    expect(read).toEqual({ ok: true, store });
  });

  test("older than the last one seen is refused", () => {
    const store = { ...storeOf(peer(alice)), version: 6 };
    const bytes = new TextEncoder().encode(serialiseTrustStore(store));
    expect(parseTrustStore(bytes, 6).ok).toBe(true);
    expect(parseTrustStore(bytes, 7)).toEqual({
      ok: false,
      detail:
        "trust.json: version 6 is older than version 7, which was seen here before; put the newer store back (deaddrop backup restore)",
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
      expect(parseTrustStore(bytesOf(document), 0)).toEqual({
        ok: false,
        detail:
          "trust.json: this is no private store (schema_version v3.1 with a version); take a file of another make in with: deaddrop trust import FILE",
      });
    },
  );

  test("is nothing that cannot be read at all", () => {
    expect(parseTrustStore(bytesOf({ schema_version: "v9" }), 0)).toEqual({
      ok: false,
      detail: 'trust.json: schema_version is "v9"; expected "v3.1" (or none, in a v3.0 file)',
    });
  });

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
