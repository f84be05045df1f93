import { createHash } from "node:crypto";
import * as noble from "@noble/ed25519";
import type { SignatureCheck } from "../../src/wire/signature.ts";

const PRIME = 2n ** 255n - 19n;
/** Order of the group that the base point generates. */
export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/**
 * The strict verdict computed with noble's points: both filters, then the equation without the
 * cofactor. noble's own `verify` clears the cofactor, and so takes what the strict verdict refuses.
 */
export function pointVerdict({ publicKey, bytes, signature }: SignatureCheck): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const s = littleEndian(signature.subarray(32));
  if (s >= ORDER) return false;
  const a = strictPoint(publicKey);
  const r = strictPoint(signature.subarray(0, 32));
  if (a === undefined || r === undefined || a.isSmallOrder() || r.isSmallOrder()) return false;
  const k = challenge(signature.subarray(0, 32), publicKey, bytes);
  return noble.Point.BASE.multiply(s, false).equals(r.add(a.multiply(k, false)));
}

/** The number that ties R, the key and the message together. */
export function challenge(r: Uint8Array, publicKey: Uint8Array, bytes: Uint8Array): bigint {
  const digest = createHash("sha512").update(r).update(publicKey).update(bytes).digest();
  return littleEndian(digest) % ORDER;
}

export function strictPoint(encoded: Uint8Array): noble.Point | undefined {
  try {
    return noble.Point.fromBytes(encoded, false);
  } catch (error) {
    if (error instanceof Error && /^bad (point|number)/.test(error.message)) return undefined;
    throw error;
  }
}

export function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

export function bytesOf(number: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((number >> BigInt(8 * i)) & 255n));
}

/** The eight points of small order: what is left of any point when the group order is taken out. */
export function smallOrderPoints(): noble.Point[] {
  for (let y = 2; ; y++) {
    const point = strictPoint(bytesOf(BigInt(y)));
    const torsion = point?.multiply(ORDER - 1n, false).add(point);
    if (torsion === undefined || torsion.double().double().is0()) continue;
    return Array.from({ length: 8 }, (_, i) => torsion.multiply(BigInt(i), false));
  }
}

/** Every encoding of the eight points of small order, also those that only reduce to them. */
export function smallOrderEncodings(): Uint8Array[] {
  const ys = new Set(smallOrderPoints().map((point) => point.toAffine().y));
  const encodings = [...ys].flatMap((y) => [y, y + PRIME]).filter((y) => y < 2n ** 255n);
  return encodings.flatMap((y) => [bytesOf(y), bytesOf(y | (1n << 255n))]);
}
