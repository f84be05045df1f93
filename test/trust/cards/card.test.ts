import { readFileSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { buildCard, type CardDraft } from "../../../src/trust/cards/card-build.ts";
import { claimFor, MAX_CARD_BYTES, verifyCard } from "../../../src/trust/cards/card.ts";
import { fingerprintOf } from "../../../src/setup/contact/offered-key.ts";
import { sasCommitment } from "../../../src/trust/pairing/sas.ts";
import { didOf, handleFromDid } from "../../../src/wire/handle.ts";
import { MAX_ROSTER } from "../../../src/wire/limits.ts";
import {
  decodeKey,
  isAcceptableKey,
  keyId,
  makeSigner,
  publicKeyOf,
} from "../../../src/wire/signature.ts";

interface Vector {
  readonly card: Record<string, unknown>;
  readonly ok: boolean;
}

const NOW_MS = Date.UTC(2026, 4, 10);
const utf8 = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value), "utf8");
const vectors = readFileSync(new URL("../../vectors/cards.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((text) => JSON.parse(text) as Vector);

test("the vectors are all there", () => {
  expect(vectors).toHaveLength(15);
});

test.each(vectors)("a card of $card.did called $card.name: $ok", ({ card, ok }) => {
  expect(verifyCard(utf8(card), NOW_MS).ok).toBe(ok);
});

const secret = new Uint8Array(32).fill(1);
const publicKey = publicKeyOf(secret);
const signer = makeSigner("forge", secret);
const key = {
  keyId: signer.keyId,
  key: publicKey,
  validFrom: "2026-05-09T00:00:00Z",
  validUntil: undefined,
};
const nonce = new Uint8Array(32).fill(9);
const draft: CardDraft = {
  handle: "forge",
  keys: [key],
  tierOffered: "ATTESTED",
  tierRequired: "VERIFIED",
  policies: { max_message_body_kb: 64, max_clock_skew_seconds: 300, rate_limit_msg_per_min: 60 },
  issuedAt: "2026-05-09T00:00:00Z",
  claims: new Map([["scribe", { commitment: sasCommitment(nonce, publicKey), seen: null, nonce }]]),
};

/** The card with these fields instead, signed again by the same key. */
function signedWith(change: Partial<CardDraft>): Uint8Array {
  return buildCard({ ...draft, ...change }, signer);
}

/** The card with these fields instead, and the signature of the one before. */
function changed(change: object): Uint8Array {
  return utf8({
    ...(JSON.parse(Buffer.from(buildCard(draft, signer)).toString()) as object),
    ...change,
  });
}

function refusal(bytes: Uint8Array, nowMs = NOW_MS): string {
  const verdict = verifyCard(bytes, nowMs);
  return verdict.ok ? "accepted" : verdict.detail;
}

describe("a card of ours", () => {
  it("verifies, and says who its agent is and what was committed", () => {
    expect(verifyCard(buildCard(draft, signer), NOW_MS)).toMatchObject({
      ok: true,
      card: {
        handle: "forge",
        keys: [{ keyId: signer.keyId }],
        signedBy: signer.keyId,
        tierOffered: "ATTESTED",
      },
    });
  });

  it("shows each peer what is meant for it, and a single one where cards of two have it", () => {
    const other = { commitment: "b".repeat(64), seen: "a".repeat(64) };
    const read = (claims: CardDraft["claims"]) => {
      const verdict = verifyCard(signedWith(claims === undefined ? {} : { claims }), NOW_MS);
      if (!verdict.ok) throw new Error(verdict.detail);
      return verdict.card;
    };
    const alone = read(draft.claims);
    const commitment = sasCommitment(nonce, publicKey);
    expect(alone.fields).toMatchObject({ sas_commitment: commitment });
    expect(claimFor(alone, "scribe")).toEqual({ commitment, seen: null, nonce });
    expect(claimFor(alone, "quill")?.commitment).toBe(commitment);
    const both = read(new Map([...(draft.claims ?? []), ["quill", other]]));
    expect(both.fields["sas_commitment"]).toBeUndefined();
    expect(claimFor(both, "quill")).toMatchObject(other);
    expect(claimFor(both, "vane")).toBeUndefined();
  });

  it("is signed by a key that it shows", () => {
    const other = makeSigner("forge", new Uint8Array(32).fill(2));
    expect(() => buildCard(draft, other)).toThrow(TypeError);
  });
});

// The Python reference's own example. Its private key is nobody's here, so only its names and its
// key can be checked: no vector holds a card of it.
describe("the reference's agent-a", () => {
  const text = "QC0+qqMoHMS1Q21NeDrfEOiX3Hg/dAx98O7xS7/lrWE=";
  const cardNaming = (name: string) =>
    changed({
      did: "did:wire:agent-a",
      verify_keys: { [name]: { key: text, valid_from: null, valid_until: null } },
    });

  it("has the key id that follows from its key, and the did that follows from its handle", () => {
    const bytes = decodeKey(text) ?? new Uint8Array(0);
    expect(isAcceptableKey(bytes)).toBe(true);
    expect(keyId("agent-a", bytes)).toBe("agent-a:42ca7e76");
    expect(fingerprintOf(bytes).slice(0, 8)).toBe("42ca7e76");
    expect([didOf("agent-a"), handleFromDid("did:wire:agent-a")]).toEqual([
      "did:wire:agent-a",
      "agent-a",
    ]);
  });

  it("may show that key under that name alone", () => {
    // All but the signature is right.
    expect(refusal(cardNaming("ed25519:agent-a:42ca7e76"))).toContain("not signed by any");
    expect(refusal(cardNaming("ed25519:agent-a:42ca7e77"))).toContain("another key");
    expect(refusal(cardNaming("ed25519:agent-b:42ca7e76"))).toContain("another key");
  });
});

describe("refuses", () => {
  const small = Buffer.alloc(32);
  small[0] = 1;
  it.each([
    ["what is no JSON", Buffer.from("{"), "no JSON object"],
    ["a card too large to be one", Buffer.alloc(MAX_CARD_BYTES + 1, 32), "at most 65536"],
    ["another schema", changed({ schema_version: "v9" }), "schema_version"],
    ["an agent without a name", changed({ did: "did:web:forge" }), "did:wire:<handle>"],
    ["no key", changed({ verify_keys: {} }), "verify_keys has no key"],
    [
      "a key under another's name",
      changed({ verify_keys: { "ed25519:forge:00000000": plainKey() } }),
      "another key",
    ],
    [
      "a key of small order",
      changed({ verify_keys: { "ed25519:forge:x": plainKey(small) } }),
      "no usable Ed25519",
    ],
    [
      "a key of 31 bytes",
      changed({ verify_keys: { "ed25519:forge:x": plainKey(small.subarray(1)) } }),
      "no usable Ed25519",
    ],
    ["a changed name", changed({ name: "Evil" }), "not signed by any"],
    ["no signature", changed({ signature: 7 }), "signature"],
    ["a date that is none", changed({ issued_at: "soon" }), "issued_at"],
    ["a commitment that is none", changed({ sas_commitment: "ABC" }), "64 lower-case hex"],
    ["one with a digit too many", changed({ sas_commitment: "a".repeat(65) }), "64 lower-case hex"],
    [
      "one that begins with another",
      changed({ sas_commitment: `x${"a".repeat(64)}` }),
      "64 lower-case hex",
    ],
    [
      "one for a peer that is none",
      changed({ sas: { a: { commitment: 7 } } }),
      "expected a string",
    ],
    ["a commitment seen that is none", changed({ sas: { a: { seen: "f" } } }), "64 lower-case hex"],
    ["a nonce of another length", changed({ sas_nonce: "AAAA" }), "32 bytes"],
  ])("%s", (_what, bytes, words) => {
    expect(refusal(bytes)).toContain(words);
  });

  const named = `ed25519:${signer.keyId}`;
  const under = (entry: object) => changed({ verify_keys: { [named]: entry } });
  it.each<[Uint8Array, string]>([
    [changed({ schema_version: undefined }), 'schema_version is null; expected "v3.1"'],
    [changed({ did: undefined }), 'did is null; expected "did:wire:<handle>"'],
    [changed({ did: "x" }), 'did is "x"; expected "did:wire:<handle>"'],
    [changed({ issued_at: undefined }), 'issued_at is ""; expected a timestamp'],
    [changed({ name: 7 }), "name is 7; expected a string"],
    [changed({ host: [] }), "host is a list; expected a string"],
    [changed({ agent_card_url: 7 }), "agent_card_url is 7; expected a string"],
    [changed({ trust_tier_offered: 7 }), "trust_tier_offered is 7; expected a string"],
    [
      changed({ trust_tier_required_from_peers: 7 }),
      "trust_tier_required_from_peers is 7; expected a string",
    ],
    [changed({ capabilities: "all" }), 'capabilities is "all"; expected a list'],
    [changed({ capabilities: [7] }), "capabilities[0] is 7; expected a string"],
    [changed({ verify_keys: [] }), "verify_keys is a list; expected an object"],
    [changed({ old_verify_keys: 7 }), "old_verify_keys is 7; expected an object"],
    [changed({ verify_keys: { x: 7 } }), 'verify_keys."x" is 7; expected an object'],
    [under({ key: 7 }), `verify_keys."${named}".key is 7; expected a string`],
    [
      under({ ...plainKey(), valid_from: "soon" }),
      `verify_keys."${named}".valid_from is "soon"; expected a timestamp or null`,
    ],
    [
      under({ ...plainKey(), valid_until: 7 }),
      `verify_keys."${named}".valid_until is 7; expected a string`,
    ],
    [changed({ sas_nonce: "AAAA" }), 'sas_nonce is "AAAA"; expected the base64 of 32 bytes'],
    [changed({ sas: 7 }), "sas is 7; expected an object"],
    [changed({ sas: { a: 7 } }), 'sas."a" is 7; expected an object'],
    [changed({ sas: { a: { commitment: 7 } } }), 'sas."a".commitment is 7; expected a string'],
    [changed({ sas: { a: { nonce: 7 } } }), 'sas."a".nonce is 7; expected a string'],
    [changed({ sas: { a: { seen: 7 } } }), 'sas."a".seen is 7; expected a string'],
    [changed({ signature: "" }), "signature is not the base64 of 64 bytes"],
    [changed({ name: "Evil" }), "it is not signed by any of its own current verify_keys"],
  ])("and says where and why: card %#", (bytes, words) => {
    expect(refusal(bytes)).toBe(`card: ${words}`);
  });

  it("what holds more keys, or more claims, than are read", () => {
    const many = (count: number, entry: object) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, entry]));
    const keys = (count: number) => ({ [named]: plainKey(), ...many(count, {}) });
    expect(refusal(changed({ verify_keys: keys(64) }))).toBe(
      "card: verify_keys has 65 keys; at most 64 are read",
    );
    expect(refusal(changed({ old_verify_keys: many(64, plainKey()) }))).toContain("another key");
    expect(refusal(changed({ sas: many(MAX_ROSTER, {}) }))).toContain("not signed by any");
    expect(refusal(changed({ sas: many(MAX_ROSTER + 1, {}) }))).toBe(
      `card: sas has ${MAX_ROSTER + 1} entries; at most ${MAX_ROSTER} are read`,
    );
    expect(refusal(Buffer.alloc(MAX_CARD_BYTES, 32))).toContain("no JSON object");
  });

  it("a key from five minutes before it begins, and up to where it ends", () => {
    const fromMs = Date.parse(key.validFrom);
    const ends = signedWith({ keys: [{ ...key, validUntil: "2026-05-10T00:00:00Z" }] });
    const at = (ms: number) => refusal(ends, ms).includes("accepted");
    expect([at(fromMs - 300_000), at(fromMs - 300_001)]).toEqual([true, false]);
    expect([at(NOW_MS - 1), at(NOW_MS)]).toEqual([true, false]);
  });

  it("a card whose keys are valid no more, or not yet", () => {
    const over = signedWith({ keys: [{ ...key, validUntil: "2026-05-09T12:00:00Z" }] });
    expect(refusal(over)).toContain("none of its verify_keys is valid now");
    expect(refusal(over, Date.UTC(2026, 4, 9, 6))).toBe("accepted");
    expect(refusal(signedWith({}), Date.UTC(2026, 4, 8))).toContain("valid now");
  });

  function plainKey(bytes: Uint8Array = publicKey) {
    return { key: Buffer.from(bytes).toString("base64"), valid_from: null, valid_until: null };
  }
});
