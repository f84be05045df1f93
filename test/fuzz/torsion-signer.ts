import { createHash } from "node:crypto";
import * as noble from "@noble/ed25519";
import { keyId } from "../../src/wire/signature.ts";
import { alice } from "../trust/people.ts";
import {
  ORDER,
  bytesOf,
  challenge,
  littleEndian,
  smallOrderPoints,
} from "../wire/point-verdict.ts";

/**
 * A key that may be pinned, but was not made honestly: a point of order 8 was added to it. Whoever
 * holds its scalar makes signatures that hold with the cofactor and, seven times of eight, do not
 * hold without: the verdicts of two careless peers would differ on them.
 */
const torsion = smallOrderPoints();
const scalar = littleEndian(createHash("sha256").update("a crooked key").digest()) % ORDER;
export const torsionKey = noble.Point.BASE.multiply(scalar, false)
  .add(torsion[1] as noble.Point)
  .toBytes();
export const TORSION_KEY_ID = keyId(alice.handle, torsionKey);

/** A signature by that key whose R carries the `crook`-th point of small order, 0 for none. */
export function torsionSignature(bytes: Uint8Array, nonce: number, crook: number): Uint8Array {
  const r = (littleEndian(createHash("sha256").update(`nonce ${nonce}`).digest()) % ORDER) + 1n;
  const pointR = noble.Point.BASE.multiply(r, false).add(torsion[crook % 8] as noble.Point);
  const encoded = pointR.toBytes();
  const s = (r + challenge(encoded, torsionKey, bytes) * scalar) % ORDER;
  return new Uint8Array([...encoded, ...bytesOf(s)]);
}
