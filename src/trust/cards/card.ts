import { canonicalBytes } from "../../wire/canonical.ts";
import { handleFromDid, isHandle } from "../../wire/handle.ts";
import { parseObject, type JsonObject } from "../../wire/json/json.ts";
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
  const reader = new DocumentReader("card", parsed.value);
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
  if (fields["schema_version"] !== "v3.1") reader.unexpected("schema_version", '"v3.1"');
  const { did } = fields;
  const handle = typeof did === "string" ? handleFromDid(did) : undefined;
  if (handle === undefined) return reader.unexpected("did", '"did:wire:<handle>"');
  const text = (name: string): string => reader.text(name) ?? "";
  const tier = (name: string): Tier | undefined => tierNamed(text(name));
  const keys = readKeys(reader, "verify_keys", handle);
  if (keys.length === 0) reader.problem("verify_keys", "has no key");
  const issuedAt = text("issued_at");
  if (parseTimestamp(issuedAt) === undefined)
    reader.unexpected("issued_at", "a timestamp", issuedAt);
  return {
    handle,
    name: text("name"),
    host: text("host"),
    url: text("agent_card_url"),
    keys,
    oldKeys: readKeys(reader, "old_verify_keys", handle),
    capabilities: reader.texts("capabilities") ?? [],
    tierOffered: tier("trust_tier_offered"),
    tierRequired: tier("trust_tier_required_from_peers"),
    issuedAt,
    claims: readClaims(reader),
    fields,
  };
}

function readKeys(reader: DocumentReader, list: string, handle: string): readonly CardKey[] {
  return reader.entries(list, MAX_KEYS, "keys").flatMap(([name, value]) => {
    const fields = reader.objectAt(`${list}.${shown(name)}`, value);
    return (fields && readKey(fields, name, handle)) ?? [];
  });
}

function readKey(fields: DocumentReader, name: string, handle: string): CardKey | undefined {
  const key = decodeKey(fields.text("key") ?? "");
  if (key === undefined || !isAcceptableKey(key)) {
    fields.problem("key", "is no usable Ed25519 public key in base64");
    return undefined;
  }
  const id = keyId(handle, key);
  if (name !== KEY_NAME + id) {
    fields.problem("", `is the name of another key; this one is ${shown(KEY_NAME + id)}`);
    return undefined;
  }
  const [validFrom, validUntil] = [readTime(fields, "valid_from"), readTime(fields, "valid_until")];
  return { keyId: id, key, validFrom, validUntil };
}

function readTime(fields: DocumentReader, name: string): string | undefined {
  const text = fields.textOrNull(name);
  if (text !== undefined && parseTimestamp(text) === undefined)
    fields.unexpected(name, "a timestamp or null");
  return text;
}

function readClaims(reader: DocumentReader): ReadonlyMap<string, SasClaim> {
  const claims = new Map<string, SasClaim>();
  const forAll = readClaim(reader, "sas_");
  if (forAll !== undefined) claims.set(ANYBODY, forAll);
  for (const [handle, value] of reader.entries("sas", MAX_ROSTER)) {
    const entry = reader.objectAt(`sas.${shown(handle)}`, value);
    const claim = entry && readClaim(entry);
    if (claim !== undefined && isHandle(handle)) claims.set(handle, claim);
  }
  return claims;
}

/** `prefix`: before the names of the fields. */
function readClaim(fields: DocumentReader, prefix = ""): SasClaim | undefined {
  const commitment = readHash(fields, `${prefix}commitment`);
  const nonce = readNonce(fields, `${prefix}nonce`);
  const seen = prefix === "" ? readHash(fields, "seen") : undefined;
  if (typeof commitment !== "string") return undefined;
  return { commitment, nonce, seen };
}

function readHash(fields: DocumentReader, name: string): string | null | undefined {
  if (fields.value(name) === null) return null;
  const text = fields.text(name);
  if (text === undefined || HASH.test(text)) return text;
  return fields.unexpected(name, "64 lower-case hex digits");
}

function readNonce(fields: DocumentReader, name: string): Uint8Array | undefined {
  const text = fields.textOrNull(name);
  if (text === undefined) return undefined;
  return decodeKey(text) ?? fields.unexpected(name, `the base64 of ${NONCE_BYTES} bytes`);
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
