import { describe, expect, test } from "vitest";
import { encodeBase64 } from "../../src/wire/signature.ts";
import { importTrust, trustDrift } from "../../src/trust/advertised.ts";
import { deactivateKey } from "../../src/trust/pins.ts";
import { EMPTY_STORE, tierOf, type TrustStore } from "../../src/trust/store.ts";
import { parseTrustFile } from "../../src/trust/trust-file.ts";
import { alice, bob, carol, peer, person, storeOf, type Person } from "./people.ts";

const second = person("alice", " second");

function file(
  version: "v3.0" | "v3.1",
  ...agents: readonly (readonly [Person, (string | undefined)?])[]
) {
  const entries = agents.map(([who, tier]) => [
    who.handle,
    {
      ...(version === "v3.1" ? { tier } : {}),
      public_keys: [{ key_id: who.signer.keyId, key: encodeBase64(who.key), active: true }],
    },
  ]);
  const schema = version === "v3.1" ? { schema_version: "v3.1" } : {};
  const text = JSON.stringify({ ...schema, version: 1, agents: Object.fromEntries(entries) });
  return new TextEncoder().encode(text);
}

function drifts(store: TrustStore, bytes: Uint8Array): readonly string[] {
  const parsed = parseTrustFile(bytes, "trust.json", "UNTRUSTED");
  if (!parsed.ok) throw new Error(parsed.detail);
  return trustDrift(store, parsed.document).map((drift) => `${drift.cause} ${drift.keyId}`);
}

describe("trust_drift", () => {
  test("is none when the wire advertises what is pinned", () => {
    expect(drifts(storeOf(peer(alice), peer(bob)), file("v3.0", [alice], [bob]))).toEqual([]);
  });

  test("names an agent of whom nothing is pinned", () => {
    expect(drifts(storeOf(peer(alice)), file("v3.0", [alice], [carol]))).toEqual([
      `unknown_agent ${carol.signer.keyId}`,
    ]);
  });

  test("names a key that is not among the pinned ones", () => {
    expect(drifts(storeOf(peer(alice)), file("v3.1", [second, "TRUSTED"]))).toEqual([
      `unpinned_key ${second.signer.keyId}`,
    ]);
  });

  test("names another key under a pinned id", () => {
    const twin = { ...peer(alice), keys: [{ ...peer(alice).keys[0]!, key: bob.key }] };
    expect(drifts(storeOf(twin), file("v3.0", [alice]))).toEqual([`differs ${alice.signer.keyId}`]);
  });

  test("names a key that was deactivated here", () => {
    const stopped = deactivateKey(storeOf(peer(alice)), alice.signer.keyId, "", new Map());
    if (!stopped.ok) throw new Error(stopped.detail);
    expect(drifts(stopped.store, file("v3.0", [alice]))).toEqual([
      `deactivated ${alice.signer.keyId}`,
    ]);
  });

  test("passes over a key that is advertised as inactive", () => {
    const text = new TextDecoder().decode(file("v3.0", [carol])).replace("true", "false");
    expect(drifts(EMPTY_STORE, new TextEncoder().encode(text))).toEqual([]);
  });

  test("names what cannot be a key", () => {
    const text = '{"agents":{"alice":{"public_keys":[{"key_id":"alice:00","key":"AA=="}]}}}';
    expect(drifts(EMPTY_STORE, new TextEncoder().encode(text))).toEqual(["unusable "]);
  });

  test("has the same key for the same drift, and another for another", () => {
    const keys = [file("v3.0", [carol]), file("v3.1", [carol]), file("v3.0", [second])].map(
      (bytes) => {
        const parsed = parseTrustFile(bytes, "trust.json", "UNTRUSTED");
        return parsed.ok ? trustDrift(EMPTY_STORE, parsed.document)[0]?.key : undefined;
      },
    );
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
  });
});

describe("importing", () => {
  function tiers(bytes: Uint8Array, acceptWireTrust: boolean, store = EMPTY_STORE) {
    const result = importTrust(store, bytes, "trust.json", { acceptWireTrust, nowMs: 1_000 });
    if (!result.ok) throw new Error(result.detail);
    return [...result.store.peers.keys()].map((handle) => tierOf(result.store, handle));
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

  test("replaces no pin, adds none to a pinned agent, and raises nobody who is pinned", () => {
    const store = storeOf(peer(alice, "VERIFIED"));
    for (const bytes of [file("v3.1", [second, "ATTESTED"]), file("v3.1", [alice, "ATTESTED"])]) {
      const result = importTrust(store, bytes, "trust.json", { acceptWireTrust: true, nowMs: 0 });
      expect(result).toMatchObject({ ok: true, store });
    }
  });

  test("is one version, and says what it did", () => {
    const how = { acceptWireTrust: true, nowMs: 0 };
    const result = importTrust(EMPTY_STORE, file("v3.0", [alice], [bob]), "trust.json", how);
    expect(result).toMatchObject({
      store: { version: 1 },
      lines: [
        `alice: pinned ${alice.signer.keyId} at ATTESTED`,
        `bob: pinned ${bob.signer.keyId} at ATTESTED`,
      ],
    });
  });

  test("of a file that is none is refused", () => {
    const how = { acceptWireTrust: false, nowMs: 0 };
    expect(importTrust(EMPTY_STORE, new Uint8Array(0), "trust.json", how).ok).toBe(false);
  });
});
