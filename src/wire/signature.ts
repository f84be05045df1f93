import { createHash, createPublicKey, verify as verifyEquation, type KeyObject } from "node:crypto";
import { Point, getPublicKey, hashes, sign } from "@noble/ed25519";
import { sha256Hex } from "./canonical.ts";
import { MAX_CACHED_KEYS } from "./limits.ts";

hashes.sha512 = (message) => new Uint8Array(createHash("sha512").update(message).digest());

export const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

// 32 bytes leave two unused bits in the last base64 digit, 64 leave four: they must be zero.
const BASE64_OF_32 = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
const BASE64_OF_64 = /^[A-Za-z0-9+/]{85}[AQgw]==$/;

/**
 * The 64 bytes of strict standard base64: padding, no white space, no URL alphabet, zero trailing
 * bits. Undefined for any other spelling. Spec 1.5.
 */
export function decodeSignature(base64: string): Uint8Array | undefined {
  return BASE64_OF_64.test(base64) ? new Uint8Array(Buffer.from(base64, "base64")) : undefined;
}

/** The same for 32 bytes: public keys and nonces. */
export function decodeKey(base64: string): Uint8Array | undefined {
  return BASE64_OF_32.test(base64) ? new Uint8Array(Buffer.from(base64, "base64")) : undefined;
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

/** `<handle>:<first 8 hex of SHA-256(raw key)>`. Spec 1.5. */
export function keyId(handle: string, publicKey: Uint8Array): string {
  return `${handle}:${sha256Hex(publicKey).slice(0, 8)}`;
}

/** Splits a key id at the first `:`; undefined when there is none. */
export function parseKeyId(
  id: string,
): { readonly handle: string; readonly fingerprint: string } | undefined {
  const colon = id.indexOf(":");
  if (colon < 0) return undefined;
  return { handle: id.slice(0, colon), fingerprint: id.slice(colon + 1) };
}

/** A canonical point that is not of small order: what may be pinned. Spec 1.5. */
export function isAcceptableKey(publicKey: Uint8Array): boolean {
  return publicKey.length === PUBLIC_KEY_BYTES && keyObject(publicKey) !== undefined;
}

/**
 * The strict Ed25519 verdict, which is libsodium's: the cofactorless equation, S < L, A and R
 * canonical and neither of small order. Spec 1.5. OpenSSL computes the equation; it refuses S ≥ L,
 * and R other than as it encodes it, but takes any A and R that decode, so both are filtered here.
 */
export function verifySignature(
  publicKey: Uint8Array,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  const key = acceptableKey(publicKey, signature);
  return key !== undefined && verifyEquation(null, bytes, key, signature);
}

/** What one signature is checked against. */
export interface SignatureCheck {
  readonly publicKey: Uint8Array;
  readonly bytes: Uint8Array;
  readonly signature: Uint8Array;
}

/**
 * The same verdict on many signatures, in their order, computed on libuv's pool. The bytes are
 * copied before this returns. All items are in flight at once: the caller bounds the batch.
 */
export function verifyAll(items: readonly SignatureCheck[]): Promise<boolean[]> {
  return new Promise((resolve, reject) => {
    const verdicts = Array.from(items, () => false);
    let pending = 1;
    const finishOne = (): void => {
      if (--pending === 0) resolve(verdicts);
    };
    for (const [index, { publicKey, bytes, signature }] of items.entries()) {
      const key = acceptableKey(publicKey, signature);
      if (key === undefined) continue;
      pending++;
      verifyEquation(null, bytes, key, signature, (error, valid) => {
        if (error !== null) return reject(error);
        verdicts[index] = valid;
        finishOne();
      });
    }
    finishOne();
  });
}

function acceptableKey(publicKey: Uint8Array, signature: Uint8Array): KeyObject | undefined {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) {
    return undefined;
  }
  return hasSmallOrderR(signature) ? undefined : keyObject(publicKey);
}

// The y coordinates of the eight points of small order, and of their encodings beyond the prime,
// little-endian and without the sign bit: libsodium's list.
const SMALL_ORDER_Y = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map((hex) => Buffer.from(hex, "hex"));

function hasSmallOrderR(signature: Uint8Array): boolean {
  return SMALL_ORDER_Y.some((y) => {
    for (let i = 0; i < 31; i++) {
      if (signature[i] !== y[i]) return false;
    }
    return ((signature[31] as number) & 0x7f) === y[31];
  });
}

/** By raw key; undefined = must not be used. A pinned key is judged and imported once. */
const keyObjects = new Map<string, KeyObject | undefined>();

function keyObject(publicKey: Uint8Array): KeyObject | undefined {
  const name = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.length).toString(
    "latin1",
  );
  const cached = keyObjects.get(name);
  if (cached !== undefined || keyObjects.has(name)) return cached;
  // Starting afresh is cheap, and no more than a wire's keys are ever in use.
  if (keyObjects.size >= MAX_CACHED_KEYS) keyObjects.clear();
  const key = isStrictPoint(publicKey) ? importKey(publicKey) : undefined;
  keyObjects.set(name, key);
  return key;
}

function isStrictPoint(encoded: Uint8Array): boolean {
  try {
    return !Point.fromBytes(encoded, false).isSmallOrder();
  } catch (error) {
    // noble's two answers to what is no point's encoding: a coordinate beyond the prime, no root.
    if (error instanceof RangeError) return false;
    if (error instanceof Error && error.message.startsWith("bad point")) return false;
    throw error;
  }
}

const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

function importKey(publicKey: Uint8Array): KeyObject {
  const der = Buffer.concat([SPKI_PREFIX, publicKey]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
}

/** Who signs: an identity whose secret stays inside. */
export interface Signer {
  readonly handle: string;
  readonly keyId: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** The public key of a 32-byte secret. */
export function publicKeyOf(secret: Uint8Array): Uint8Array {
  return getPublicKey(secret);
}

/** A signer over a 32-byte secret, the content of `<handle>.key`. noble makes all signatures. */
export function makeSigner(handle: string, secret: Uint8Array): Signer {
  const own = Uint8Array.from(secret);
  return {
    handle,
    keyId: keyId(handle, getPublicKey(own)),
    sign: (bytes) => sign(bytes, own),
  };
}
