import { createHash } from "node:crypto";
import { Point, getPublicKey, hashes } from "@noble/ed25519";
import { onceForEachKey } from "./key-cache.ts";

hashes.sha512 = (message) => new Uint8Array(createHash("sha512").update(message).digest());

/** The public key of a 32-byte secret. */
export function publicKeyOf(secret: Uint8Array): Uint8Array {
  return getPublicKey(secret);
}

/** Whether 32 bytes are the canonical encoding of a point that is not of small order. Spec 1.5. */
export const isStrictPoint = onceForEachKey((encoded: Uint8Array): boolean => {
  try {
    return !Point.fromBytes(encoded, false).isSmallOrder();
  } catch (error) {
    // noble's two answers to what is no point's encoding: a coordinate beyond the prime, no root.
    if (error instanceof RangeError) return false;
    if (error instanceof Error && error.message.startsWith("bad point")) return false;
    throw error;
  }
});

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

/** Whether the first half of a signature encodes a point of small order, in any spelling. */
export function hasSmallOrderR(signature: Uint8Array): boolean {
  return SMALL_ORDER_Y.some((y) => {
    for (let i = 0; i < 31; i++) {
      if (signature[i] !== y[i]) return false;
    }
    return ((signature[31] as number) & 0x7f) === y[31];
  });
}
