import { canonicalBytes } from "../../wire/canonical.ts";
import { handleFromDid, isHandle } from "../../wire/handle.ts";
import { parseObject, type JsonObject, type JsonValue } from "../../wire/json/json.ts";
import {
  decodeKey,
  decodeSignature,
  isAcceptableKey,
  keyId,
  verifySignature,
} from "../../wire/signature.ts";
import { MAX_ROSTER } from "../../wire/limits.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { DocumentReader, shown } from "../policy/document.ts";
import type { SasClaim } from "../pairing/pairing.ts";
import { NONCE_BYTES } from "../pairing/sas.ts";
import { tierNamed, type Tier } from "../tiers.ts";

/** A public key as a card shows it. */
export interface CardKey {
  readonly keyId: string;
  /** 32 bytes, canonical and not of small order. */
  readonly key: Uint8Array;
  /** ISO 8601; undefined: since ever, and forever. */
  readonly validFrom: string | undefined;
  readonly validUntil: string | undefined;
}

/** What a card says of its agent, once its signature holds. Spec 2.2. */
export interface AgentCard {
  readonly handle: string;
  readonly name: string;
  readonly host: string;
  readonly url: string;
  /** Those in use, the one that signed the card among them. */
  readonly keys: readonly CardKey[];
  readonly oldKeys: readonly CardKey[];
  readonly capabilities: readonly string[];
  readonly tierOffered: Tier | undefined;
  readonly tierRequired: Tier | undefined;
  readonly issuedAt: string;
  /** For the digits (spec 2.3), by the peer that it is meant for; `""`: for every reader. */
  readonly claims: ReadonlyMap<string, SasClaim>;
  /** Of the key that signed it. */
  readonly signedBy: string;
  /** The card as it is. */
  readonly fields: JsonObject;
}

export type CardVerdict =
  { readonly ok: true; readonly card: AgentCard } | { readonly ok: false; readonly detail: string };

export const MAX_CARD_BYTES = 64 * 1024;
const MAX_KEYS = 64;
/** Before the key id, in the names of keys. */
export const KEY_NAME = "ed25519:";
const HASH = /^[0-9a-f]{64}$/;
/** The name of a claim that is meant for every reader. */
const ANYBODY = "";

/**
 * Reads a card and checks that it is signed by one of its own current keys. What it says is its
 * agent's word: it pins keys at UNTRUSTED and replaces nothing. Spec 2.2.
 *
 * @param nowMs by which keys are current, in ms since 1970
 */
export function verifyCard(bytes: Uint8Array, nowMs: number): CardVerdict {
  if (bytes.length > MAX_CARD_BYTES) {
    return refused(`the card has ${bytes.length} bytes; at most ${MAX_CARD_BYTES} are read`);
  }
  const parsed = parseObject(bytes);
  if (!parsed.ok) return refused(`the card is no JSON object: ${parsed.detail}`);
  const reader = new DocumentReader("card");
  const read = readCard(reader, parsed.value);
  const [problem] = reader.problems;
  if (problem !== undefined || read === undefined) return refused(problem ?? "card: is unreadable");

  const text = parsed.value["signature"];
  const signature = typeof text === "string" ? decodeSignature(text) : undefined;
  if (signature === undefined) return refused("card: signature is not the base64 of 64 bytes");
  const signed = canonicalBytes(parsed.value, ["signature"]);
  const current = read.keys.filter((key) => isCurrent(key, nowMs));
  if (current.length === 0) return refused("card: none of its verify_keys is valid now");
  const signer = current.find(({ key }) => verifySignature(key, signed, signature));
  if (signer === undefined) {
    return refused("card: it is not signed by any of its own current verify_keys");
  }
  return { ok: true, card: { ...read, signedBy: signer.keyId } };
}

function readCard(
  reader: DocumentReader,
  fields: JsonObject,
): Omit<AgentCard, "signedBy"> | undefined {
  const { schema_version: schema, did } = fields;
  if (schema !== "v3.1") {
    reader.problem("schema_version", `is ${shown(schema ?? null)}; expected "v3.1"`);
  }
  const handle = typeof did === "string" ? handleFromDid(did) : undefined;
  if (handle === undefined) {
    reader.problem("did", `is ${shown(did ?? null)}; expected "did:wire:<handle>"`);
    return undefined;
  }
  const text = (name: string): string => reader.text(fields[name], name) ?? "";
  const tier = (name: string): Tier | undefined => tierNamed(text(name));
  const keys = readKeys(reader, fields["verify_keys"], "verify_keys", handle);
  if (keys.length === 0) reader.problem("verify_keys", "has no key");
  const issuedAt = text("issued_at");
  if (parseTimestamp(issuedAt) === undefined) {
    reader.problem("issued_at", `is ${shown(issuedAt)}; expected a timestamp`);
  }
  return {
    handle,
    name: text("name"),
    host: text("host"),
    url: text("agent_card_url"),
    keys,
    oldKeys: readKeys(reader, fields["old_verify_keys"], "old_verify_keys", handle),
    capabilities: reader.texts(fields["capabilities"], "capabilities") ?? [],
    tierOffered: tier("trust_tier_offered"),
    tierRequired: tier("trust_tier_required_from_peers"),
    issuedAt,
    claims: readClaims(reader, fields),
    fields,
  };
}

function readKeys(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
  handle: string,
): readonly CardKey[] {
  const entries = Object.entries(reader.object(value, path) ?? {});
  if (entries.length > MAX_KEYS) {
    reader.problem(path, `has ${entries.length} keys; at most ${MAX_KEYS} are read`);
  }
  return entries.slice(0, MAX_KEYS).flatMap(([name, entry]) => {
    return readKey(reader, `${path}.${shown(name)}`, name, entry, handle) ?? [];
  });
}

function readKey(
  reader: DocumentReader,
  path: string,
  name: string,
  value: JsonValue,
  handle: string,
): CardKey | undefined {
  const fields = reader.object(value, path);
  if (fields === undefined) return undefined;
  const text = reader.text(fields["key"], `${path}.key`);
  const key = decodeKey(text ?? "");
  if (key === undefined || !isAcceptableKey(key)) {
    reader.problem(`${path}.key`, "is no usable Ed25519 public key in base64");
    return undefined;
  }
  const id = keyId(handle, key);
  if (name !== KEY_NAME + id) {
    reader.problem(path, `is the name of another key; this one is ${shown(KEY_NAME + id)}`);
    return undefined;
  }
  return {
    keyId: id,
    key,
    validFrom: readTime(reader, fields["valid_from"], `${path}.valid_from`),
    validUntil: readTime(reader, fields["valid_until"], `${path}.valid_until`),
  };
}

function readTime(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): string | undefined {
  if (value === null) return undefined;
  const text = reader.text(value, path);
  if (text !== undefined && parseTimestamp(text) === undefined) {
    reader.problem(path, `is ${shown(text)}; expected a timestamp or null`);
  }
  return text;
}

function readClaims(reader: DocumentReader, fields: JsonObject): ReadonlyMap<string, SasClaim> {
  const claims = new Map<string, SasClaim>();
  const { sas_commitment: commitment, sas_nonce: nonce } = fields;
  const forAll = readClaim(reader, { commitment, nonce }, "sas_");
  if (forAll !== undefined) claims.set(ANYBODY, forAll);
  const entries = Object.entries(reader.object(fields["sas"], "sas") ?? {});
  if (entries.length > MAX_ROSTER) {
    reader.problem("sas", `has ${entries.length} entries; at most ${MAX_ROSTER} are read`);
  }
  for (const [handle, value] of entries.slice(0, MAX_ROSTER)) {
    const path = `sas.${shown(handle)}`;
    const claim = readClaim(reader, reader.object(value, path), `${path}.`);
    if (claim !== undefined && isHandle(handle)) claims.set(handle, claim);
  }
  return claims;
}

function readClaim(
  reader: DocumentReader,
  fields: Readonly<Record<string, JsonValue | undefined>> | undefined,
  path: string,
): SasClaim | undefined {
  const commitment = readHash(reader, fields?.["commitment"], `${path}commitment`);
  const nonce = readNonce(reader, fields?.["nonce"], `${path}nonce`);
  const seen = readHash(reader, fields?.["seen"], `${path}seen`);
  if (typeof commitment !== "string") return undefined;
  return { commitment, nonce, seen };
}

function readHash(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): string | null | undefined {
  if (value === null) return null;
  const text = reader.text(value, path);
  if (text === undefined || HASH.test(text)) return text;
  reader.problem(path, `is ${shown(text)}; expected 64 lower-case hex digits`);
  return undefined;
}

function readNonce(
  reader: DocumentReader,
  value: JsonValue | undefined,
  path: string,
): Uint8Array | undefined {
  const text = reader.text(value ?? undefined, path);
  if (text === undefined) return undefined;
  const nonce = decodeKey(text);
  if (nonce === undefined) {
    reader.problem(path, `is ${shown(text)}; expected the base64 of ${NONCE_BYTES} bytes`);
  }
  return nonce;
}

/** The key that a card is signed with: the one that it proves its agent to have. */
export function signingKey({ keys, signedBy }: AgentCard): CardKey {
  const key = keys.find(({ keyId: id }) => id === signedBy);
  if (key === undefined) throw new Error(`the card does not show ${signedBy}, which signed it`);
  return key;
}

/** What a card shows that agent. */
export function claimFor({ claims }: AgentCard, handle: string): SasClaim | undefined {
  return claims.get(handle) ?? claims.get(ANYBODY);
}

function isCurrent({ validFrom, validUntil }: CardKey, nowMs: number): boolean {
  const fromMs = validFrom === undefined ? -Infinity : (parseTimestamp(validFrom) ?? Infinity);
  const untilMs = validUntil === undefined ? Infinity : (parseTimestamp(validUntil) ?? -Infinity);
  // A card that was just made by a host whose clock is ahead is no forgery.
  return fromMs - CLOCK_SKEW_MS <= nowMs && nowMs < untilMs;
}

const CLOCK_SKEW_MS = 300_000;

function refused(detail: string): CardVerdict {
  return { ok: false, detail };
}
