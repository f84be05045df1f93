import { sha256Hex } from "./canonical.ts";
import type { SignatureEngine } from "./signatures/engine.ts";
import { opensslEngine } from "./signatures/openssl.ts";
import { isStrictPoint, publicKeyOf } from "./signatures/points.ts";
import { loadSodium } from "./signatures/sodium.ts";

export { publicKeyOf };

export const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * The 64 bytes of strict standard base64: padding, no white space, no URL alphabet, zero trailing
 * bits. Undefined for any other spelling. Spec 1.5.
 */
export function decodeSignature(base64: string): Uint8Array | undefined {
  return decodeStrict(base64, SIGNATURE_BYTES);
}

/** The same for 32 bytes: public keys and nonces. */
export function decodeKey(base64: string): Uint8Array | undefined {
  return decodeStrict(base64, PUBLIC_KEY_BYTES);
}

/** Node takes many spellings of the same bytes, and writes the strict one. */
function decodeStrict(base64: string, length: number): Uint8Array | undefined {
  if (base64.length !== Math.ceil(length / 3) * 4) return undefined;
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== length || bytes.toString("base64") !== base64) return undefined;
  return new Uint8Array(bytes);
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
  return publicKey.length === PUBLIC_KEY_BYTES && isStrictPoint(publicKey);
}

let chosen: SignatureEngine | undefined;

/**
 * What computes signatures here: libsodium, or where that does not load OpenSSL.
 */
export function signatureEngine(): SignatureEngine {
  return (chosen ??= loadSodium() ?? opensslEngine);
}

/** The strict Ed25519 verdict, which is libsodium's. Spec 1.5. */
export function verifySignature(
  publicKey: Uint8Array,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verifyBy(signatureEngine(), publicKey, bytes, signature);
}

/**
 * The same, computed by one engine.
 *
 * @internal
 */
export function verifyBy(
  engine: SignatureEngine,
  publicKey: Uint8Array,
  bytes: Uint8Array,
  signature: Uint8Array,
): boolean {
  // The native module reads as many bytes as it expects, however many there are.
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  return engine.verify(publicKey, bytes, signature);
}

/** What one signature is checked against. */
export interface SignatureCheck {
  readonly publicKey: Uint8Array;
  readonly bytes: Uint8Array;
  readonly signature: Uint8Array;
}

/** Gives the strict verdict on many signatures, in their order. */
export type VerifyAll = (items: readonly SignatureCheck[]) => Promise<boolean[]>;

/** The strict verdict on each, in their order. */
export function verifyEach(items: readonly SignatureCheck[]): boolean[] {
  return items.map(({ publicKey, bytes, signature }) =>
    verifySignature(publicKey, bytes, signature),
  );
}

/** Who signs: an identity whose secret stays inside. */
export interface Signer {
  readonly handle: string;
  readonly keyId: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** A signer over a 32-byte secret, the content of `<handle>.key`. */
export function makeSigner(handle: string, secret: Uint8Array): Signer {
  const own = Uint8Array.from(secret);
  // Most commands load an identity and sign nothing: the engine is loaded for the first signature.
  let signWith: ((bytes: Uint8Array) => Uint8Array) | undefined;
  return {
    handle,
    keyId: keyId(handle, publicKeyOf(own)),
    sign: (bytes) => (signWith ??= signatureEngine().signerOf(own))(bytes),
  };
}
