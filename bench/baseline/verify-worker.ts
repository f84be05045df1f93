import { createPublicKey, verify } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";

export type Engine = "libsodium" | "openssl";

/** The lines of one author: 32 bytes that are signed and 64 of signature, one after the other. */
export interface Packed {
  readonly publicKey: Uint8Array;
  readonly items: Uint8Array;
}

type Check = (signed: Uint8Array, signature: Uint8Array) => boolean;

const ID_BYTES = 32;
const ITEM_BYTES = 96;
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

const { engine, packed, share, shares } = workerData as {
  readonly engine: Engine;
  readonly packed: readonly Packed[];
  readonly share: number;
  readonly shares: number;
};
const checkWith = engine === "libsodium" ? await libsodium() : openssl;
const logs = packed.map(({ publicKey, items }) => {
  const lines = Array.from({ length: items.byteLength / ITEM_BYTES }, (_, at) => at * ITEM_BYTES);
  const mine = lines.filter((_, at) => at % shares === share);
  return {
    check: checkWith(publicKey),
    lines: mine.map((at) => ({
      signed: Buffer.from(items.slice(at, at + ID_BYTES)),
      signature: Buffer.from(items.slice(at + ID_BYTES, at + ITEM_BYTES)),
    })),
  };
});

parentPort?.on("message", (passes: 0 | 1) => {
  let valid = 0;
  for (const { check, lines } of passes === 0 ? [] : logs) {
    for (const { signed, signature } of lines) if (check(signed, signature)) valid += 1;
  }
  parentPort?.postMessage(valid);
});

async function libsodium(): Promise<(publicKey: Uint8Array) => Check> {
  const { default: sodium } = await import("sodium-native");
  return (publicKey) => {
    const key = Buffer.from(publicKey);
    return (signed, signature) => sodium.crypto_sign_verify_detached(signature, signed, key);
  };
}

function openssl(publicKey: Uint8Array): Check {
  const der = Buffer.concat([SPKI_PREFIX, publicKey]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return (signed, signature) => verify(null, signed, key, signature);
}
