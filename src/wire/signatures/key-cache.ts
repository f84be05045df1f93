import { MAX_CACHED_KEYS } from "../limits.ts";

/** Computes it once for each public key, as long as no more keys are met than are ever in use. */
export function onceForEachKey<Value>(
  compute: (publicKey: Uint8Array) => Value,
): (publicKey: Uint8Array) => Value {
  const known = new Map<string, { readonly value: Value }>();
  return (publicKey) => {
    const { buffer, byteOffset, length } = publicKey;
    const name = Buffer.from(buffer, byteOffset, length).toString("latin1");
    const cached = known.get(name);
    if (cached !== undefined) return cached.value;
    // Starting afresh is cheap.
    if (known.size >= MAX_CACHED_KEYS) known.clear();
    const value = compute(publicKey);
    known.set(name, { value });
    return value;
  };
}
