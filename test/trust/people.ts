import { canonicalBytes, sha256Hex, V30_OMIT, V31_OMIT } from "../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../src/wire/json/json.ts";
import { encodeBase64, makeSigner, publicKeyOf, type Signer } from "../../src/wire/signature.ts";
import {
  newPeer,
  type Hold,
  type Peer,
  type PinnedKey,
  type TrustStore,
} from "../../src/trust/store.ts";
import type { Tier } from "../../src/trust/tiers.ts";

/** Somebody who can sign: the same handle has the same key in every test. */
export interface Person {
  readonly handle: string;
  readonly secret?: Uint8Array;
  readonly key: Uint8Array;
  readonly signer: Signer;
}

export function person(handle: string, variant = ""): Person {
  const secret = Buffer.from(sha256Hex(Buffer.from(`test key of ${handle}${variant}`)), "hex");
  return { handle, secret, key: publicKeyOf(secret), signer: makeSigner(handle, secret) };
}

export const alice = person("alice");
export const bob = person("bob");
export const carol = person("carol");

export function pinned(who: Person, active = true): PinnedKey {
  return { keyId: who.signer.keyId, key: who.key, addedAt: "2026-05-01T00:00:00Z", active };
}

export function peer(who: Person, tier: Tier | undefined = "ATTESTED"): Peer {
  return { ...newPeer(who.handle), tier, keys: [pinned(who)] };
}

export function storeOf(...peers: readonly Peer[]): TrustStore {
  return { version: 1, peers: new Map(peers.map((p) => [p.handle, p])) };
}

/** A store as its file may say it: an agent is held, for a reason that the operator ends. */
export function withHold(store: TrustStore, handle: string, held: Hold): TrustStore {
  const peers = new Map(store.peers);
  peers.set(handle, { ...(store.peers.get(handle) ?? newPeer(handle)), held });
  return { ...store, peers, version: store.version + 1 };
}

/** Fields of a message as a test writes them: plain data, `undefined` for absent. */
export type Fields = Readonly<Record<string, unknown>>;

const NOON = "2026-06-01T12:00:00.000000Z";
export const NOON_MS = Date.parse(NOON);

export function note(fields: Fields = {}): Fields {
  return {
    timestamp: NOON,
    from: "alice",
    to: ["bob"],
    type: "feedback",
    subject: "hello",
    body: "how are you",
    refs: [],
    priority: "medium",
    correlation_id: NOON,
    ack_required: false,
    ...fields,
  };
}

/** The fields with a v3.1 signature over them. */
export function signV31(fields: Fields, who: Person = alice): Fields {
  const id = sha256Hex(canonicalBytes(fromPlain(fields) as JsonObject, V31_OMIT));
  const signature = encodeBase64(who.signer.sign(Buffer.from(id, "hex")));
  return { ...fields, event_id: id, public_key_id: who.signer.keyId, signature };
}

/** The fields with a v3.0 signature over them. */
export function signV30(fields: Fields, who: Person = alice): Fields {
  const bytes = canonicalBytes(fromPlain(fields) as JsonObject, V30_OMIT);
  return {
    ...fields,
    public_key_id: who.signer.keyId,
    signature: encodeBase64(who.signer.sign(bytes)),
  };
}

export function lineOf(fields: Fields): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(fields));
}
