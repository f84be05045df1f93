import {
  createPrivateKey,
  createPublicKey,
  sign as signWith,
  verify as verifyEquation,
  type KeyObject,
} from "node:crypto";
import type { SignatureEngine } from "./engine.ts";
import { onceForEachKey } from "./key-cache.ts";
import { hasSmallOrderR, isStrictPoint } from "./points.ts";

/**
 * Node's own OpenSSL. It computes the right equation, refuses S ≥ L, and R other than as it encodes
 * it, but takes any A and R that decode: both are filtered here.
 */
export const opensslEngine: SignatureEngine = {
  name: "OpenSSL",
  verify(publicKey, bytes, signature) {
    if (hasSmallOrderR(signature)) return false;
    const key = keyObject(publicKey);
    return key !== undefined && verifyEquation(null, bytes, key, signature);
  },
  signerOf(secret) {
    const der = Buffer.concat([PKCS8_PREFIX, secret]);
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    der.fill(0);
    return (bytes) => new Uint8Array(signWith(null, bytes, key));
  },
};

const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Undefined for a key that must not be used. */
const keyObject = onceForEachKey((publicKey): KeyObject | undefined => {
  if (!isStrictPoint(publicKey)) return undefined;
  const der = Buffer.concat([SPKI_PREFIX, publicKey]);
  return createPublicKey({ key: der, format: "der", type: "spki" });
});
