import { createHash } from "node:crypto";
import { PUBLIC_KEY_BYTES } from "../../wire/signature.ts";

/** One side of a pairing. */
export interface SasParty {
  /** `did:wire:<handle>`. */
  readonly did: string;
  /** The raw Ed25519 public key, 32 bytes. */
  readonly key: Uint8Array;
}

/** A side that has committed itself to its nonce, and has shown it since. */
export interface CommittedParty extends SasParty {
  /** 32 random bytes. */
  readonly nonce: Uint8Array;
}

export const NONCE_BYTES = 32;
const DIGITS = 6;

/**
 * What a side publishes before it has seen the other's: lower-case hex SHA-256 of nonce and key.
 * Who swaps keys in between would have to choose its own before it can know the digits. Spec 2.3.
 * Throws a TypeError for a nonce or key of another length.
 */
export function sasCommitment(nonce: Uint8Array, key: Uint8Array): string {
  requireLength(nonce, NONCE_BYTES, "nonce");
  requireLength(key, PUBLIC_KEY_BYTES, "key");
  return createHash("sha256").update(nonce).update(key).digest("hex");
}

/** The six digits that two operators compare, the same for both. Spec 2.3. */
export function committedSas(a: CommittedParty, b: CommittedParty): string {
  for (const { nonce } of [a, b]) requireLength(nonce, NONCE_BYTES, "nonce");
  return digits(a, b, ({ nonce }) => nonce);
}

/**
 * The published digits, without nonces: what peers without commitments show. Somebody in between
 * can search keys until these are equal on both sides, so they alone promote nobody. Spec 2.3.
 */
export function staticSas(a: SasParty, b: SasParty): string {
  return digits(a, b);
}

function digits<Party extends SasParty>(
  a: Party,
  b: Party,
  nonceOf?: (party: Party) => Uint8Array,
): string {
  if (a.did === b.did) throw new TypeError(`both sides are ${a.did}`);
  const hash = createHash("sha256");
  const parties = compareBytes(a.did, b.did) < 0 ? [a, b] : [b, a];
  for (const { did, key } of parties) {
    requireLength(key, PUBLIC_KEY_BYTES, "key");
    hash.update(`${did}:`, "utf8").update(key);
  }
  if (nonceOf !== undefined) for (const party of parties) hash.update(nonceOf(party));
  const number = hash.digest().readUInt32BE(0) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, "0");
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

function requireLength(bytes: Uint8Array, length: number, what: string): void {
  if (bytes.length !== length) {
    throw new TypeError(`a ${what} of ${bytes.length} bytes; expected ${length}`);
  }
}
