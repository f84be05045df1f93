import { describe, expect, test } from "vitest";
import { encodeBase64, keyId } from "../../../src/wire/signature.ts";
import { importTrust, trustDrift, type Drift } from "../../../src/trust/cards/advertised.ts";
import { deactivateKey } from "../../../src/trust/pins.ts";
import { EMPTY_STORE, newPeer, tierOf, type TrustStore } from "../../../src/trust/store.ts";
import { parseTrustFile } from "../../../src/trust/trust-file.ts";
import { alice, bob, carol, peer, person, pinned, storeOf, type Person } from "../people.ts";

const second = person("alice", " second");
const third = person("alice", " third");

function bytesOf(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document));
}

function keyOf(who: Person, changes: object = {}) {
  return { key_id: who.signer.keyId, key: encodeBase64(who.key), active: true, ...changes };
}

function file(
  version: "v3.0" | "v3.1",
  ...agents: readonly (readonly [Person, (string | undefined)?])[]
) {
  const entries = agents.map(([who, tier]) => [
    who.handle,
    { ...(version === "v3.1" ? { tier } : {}), public_keys: [keyOf(who)] },
  ]);
  const schema = version === "v3.1" ? { schema_version: "v3.1" } : {};
  return bytesOf({ ...schema, version: 1, agents: Object.fromEntries(entries) });
}

function drifts(store: TrustStore, bytes: Uint8Array): readonly Drift[] {
  const parsed = parseTrustFile(bytes, "trust.json", "UNTRUSTED");
  if (!parsed.ok) throw new Error(parsed.detail);
  return trustDrift(store, parsed.document);
}

function drift(cause: Drift["cause"], who: Person, words: string): Drift {
  const { keyId: id } = who.signer;
  const key = encodeBase64(who.key);
  return {
    key: `${cause} ${id} ${key}`,
    handle: who.handle,
    keyId: id,
    cause,
    detail: `the wire advertises the key ${id} (${key}) for ${who.handle}, ${words}`,
  };
}

describe("trust_drift", () => {
  test("is none when the wire advertises what is pinned", () => {
    expect(drifts(storeOf(peer(alice), peer(bob)), file("v3.0", [alice], [bob]))).toEqual([]);
  });

  test.each([
    ["whom nobody knows", storeOf(peer(alice))],
    ["of whom only the name is known", storeOf(peer(alice), newPeer("carol"))],
  ])("names an agent %s", (_, store) => {
    expect(drifts(store, file("v3.0", [alice], [carol]))).toEqual([
      drift("unknown_agent", carol, "of whom nothing is pinned"),
    ]);
  });

  test("names a key that is not among the pinned ones", () => {
    const two = { ...peer(alice), keys: [...peer(alice).keys, ...peer(third).keys] };
    const ids = `${alice.signer.keyId}, ${third.signer.keyId}`;
    expect(drifts(storeOf(two), file("v3.1", [second, "TRUSTED"]))).toEqual([
      drift("unpinned_key", second, `which is not among its pinned keys (${ids})`),
    ]);
  });

  test("names another key under a pinned id", () => {
    const twin = { ...peer(alice), keys: [{ ...peer(alice).keys[0]!, key: bob.key }] };
    expect(drifts(storeOf(twin), file("v3.0", [alice]))).toEqual([
      drift("differs", alice, "which differs from the key pinned under that id"),
    ]);
  });

  test("names a key that was deactivated here", () => {
    const stopped = deactivateKey(storeOf(peer(alice)), alice.signer.keyId, "");
    if (!stopped.ok) throw new Error(stopped.detail);
    expect(drifts(stopped.store, file("v3.0", [alice]))).toEqual([
      drift("deactivated", alice, "which was deactivated here"),
    ]);
  });

  test("passes over a key that is advertised as inactive", () => {
    const agents = { carol: { public_keys: [keyOf(carol, { active: false })] } };
    expect(drifts(EMPTY_STORE, bytesOf({ agents }))).toEqual([]);
  });

  test("names what cannot be a key", () => {
    const detail =
      "trust.json: agents.alice.public_keys[0].key is no usable Ed25519 key; expected 32 bytes in standard base64, a canonical point that is not of small order";
    const agents = { alice: { public_keys: [{ key_id: "alice:00", key: "AA==" }] } };
    expect(drifts(EMPTY_STORE, bytesOf({ agents }))).toEqual([
      { key: detail, handle: "", keyId: "", cause: "unusable", detail },
    ]);
  });

  test("has the same key for the same drift, and another for another", () => {
    const keys = [file("v3.0", [carol]), file("v3.1", [carol]), file("v3.0", [second])].map(
      (bytes) => drifts(EMPTY_STORE, bytes)[0]?.key,
    );
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  test.each([
    [256, 256],
    [257, 256],
  ])("in %i keys is told %i times", (count, told) => {
    const entries = Array.from({ length: count }, (_, at) => {
      const key = { key_id: keyId(`a${at}`, alice.key), key: encodeBase64(alice.key) };
      return [`a${at}`, { public_keys: [key] }];
    });
    const bytes = bytesOf({ agents: Object.fromEntries(entries) });
    expect(drifts(EMPTY_STORE, bytes)).toHaveLength(told);
  });
});

describe("importing", () => {
  const ACCEPTING = { acceptWireTrust: true, nowMs: 1_000 };

  function imported(store: TrustStore, bytes: Uint8Array, how = ACCEPTING) {
    const result = importTrust(store, bytes, "trust.json", how);
    if (!result.ok) throw new Error(result.detail);
    return result;
  }

  function tiers(bytes: Uint8Array, acceptWireTrust: boolean) {
    const { store } = imported(EMPTY_STORE, bytes, { ...ACCEPTING, acceptWireTrust });
    return [...store.peers.keys()].map((handle) => tierOf(store, handle));
  }

  test("a v3.0 file: UNTRUSTED, or ATTESTED with --accept-wire-trust", () => {
    expect(tiers(file("v3.0", [alice], [bob]), false)).toEqual(["UNTRUSTED", "UNTRUSTED"]);
    expect(tiers(file("v3.0", [alice], [bob]), true)).toEqual(["ATTESTED", "ATTESTED"]);
  });

  test.each([
    ["TRUSTED", "ATTESTED"],
    ["ATTESTED", "ATTESTED"],
    ["VERIFIED", "VERIFIED"],
    ["UNTRUSTED", "UNTRUSTED"],
    ["ADMIN", "UNTRUSTED"],
    [undefined, "UNTRUSTED"],
  ])("a v3.1 file that says %s: UNTRUSTED, or %s with --accept-wire-trust", (stated, tier) => {
    expect(tiers(file("v3.1", [alice, stated]), false)).toEqual(["UNTRUSTED"]);
    expect(tiers(file("v3.1", [alice, stated]), true)).toEqual([tier]);
  });

  test("takes the active keys of an agent, and what the file says of their age", () => {
    const keys = [
      keyOf(alice, { added_at: "2026-05-01T00:00:00Z" }),
      keyOf(second, { active: false }),
      keyOf(third),
    ];
    const agents = { alice: { tier: "VERIFIED", public_keys: keys } };
    const bytes = bytesOf({ schema_version: "v3.1", agents });
    expect(imported(EMPTY_STORE, bytes)).toEqual({
      ok: true,
      store: {
        version: 1,
        peers: new Map([
          [
            "alice",
            {
              ...newPeer("alice"),
              tier: "VERIFIED",
              tierSetAtMs: 1_000,
              keys: [
                {
                  keyId: alice.signer.keyId,
                  key: alice.key,
                  addedAt: "2026-05-01T00:00:00Z",
                  active: true,
                },
                {
                  keyId: third.signer.keyId,
                  key: third.key,
                  addedAt: "1970-01-01T00:00:01.000Z",
                  active: true,
                },
              ],
            },
          ],
        ]),
      },
      lines: [`alice: pinned ${alice.signer.keyId}, ${third.signer.keyId} at VERIFIED`],
    });
  });

  const pinnedAlready = `alice: alice has a pinned key already (${alice.signer.keyId}), and a pin is never replaced; a further key needs the operator's decision or a rotation signed with the old key`;

  test.each([
    ["its own key", [keyOf(alice)], "alice: pinned already; unchanged"],
    ["another key", [keyOf(second)], pinnedAlready],
    ["another key beside its own", [keyOf(alice), keyOf(second)], pinnedAlready],
    [
      "an inactive key",
      [keyOf(second, { active: false })],
      "alice: has no active key; nothing to pin",
    ],
    ["no key", [], "alice: has no active key; nothing to pin"],
  ])("changes nothing of a pinned agent for whom the file has %s", (_, keys, line) => {
    const store = storeOf(peer(alice, "VERIFIED"));
    const agents = { alice: { tier: "ATTESTED", public_keys: keys } };
    const result = imported(store, bytesOf({ schema_version: "v3.1", agents }));
    expect(result).toEqual({ ok: true, store, lines: [line] });
    expect(result.store).toBe(store);
  });

  test.each([
    ["the same keys", [pinned(alice)], [keyOf(alice)], "ATTESTED"],
    ["fewer keys than are pinned", [pinned(alice), pinned(second)], [keyOf(alice)], "UNTRUSTED"],
    ["a key that was deactivated here", [pinned(alice, false)], [keyOf(alice)], "UNTRUSTED"],
  ])("of an agent that is pinned by a card alone, with %s", (_, keys, offered, tier) => {
    const store = storeOf({ ...peer(alice, "UNTRUSTED"), keys });
    const agents = { alice: { tier: "ATTESTED", public_keys: offered } };
    const result = imported(store, bytesOf({ schema_version: "v3.1", agents }));
    expect(result.store.peers.get("alice")).toMatchObject({ tier, keys });
  });

  test("is one version, and says what it did and what it left out", () => {
    const agents = {
      alice: { public_keys: [keyOf(alice)] },
      "no handle": {},
      bob: { public_keys: [keyOf(bob)] },
    };
    expect(imported(EMPTY_STORE, bytesOf({ agents }))).toMatchObject({
      store: { version: 1 },
      lines: [
        'left out: trust.json: agents: "no handle" is neither a handle nor did:wire:<handle>',
        `alice: pinned ${alice.signer.keyId} at ATTESTED`,
        `bob: pinned ${bob.signer.keyId} at ATTESTED`,
      ],
    });
  });

  test("of a file that is none is refused", () => {
    expect(importTrust(EMPTY_STORE, bytesOf({ schema_version: 9 }), "x.json", ACCEPTING)).toEqual({
      ok: false,
      detail: 'x.json: schema_version is 9; expected "v3.1" (or none, in a v3.0 file)',
    });
  });
});
