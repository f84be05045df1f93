import { readFileSync } from "node:fs";
import { authenticate } from "../../src/admission/authenticate.ts";
import type { AdmissionContext } from "../../src/admission/context.ts";
import { DEFAULT_SIGNING } from "../../src/trust/policy/config.ts";
import { newPeer } from "../../src/trust/store.ts";
import { DEFAULT_LIMITS } from "../../src/wire/limits.ts";
import { WIRE_ID, type LiveWire } from "./processes/live-wire.ts";

/**
 * Where a log of `owner` is not one signed chain without a gap: in words, a line each. `file`: its
 * name in the wire's folder, where that is another.
 */
export function brokenPlaces(
  wire: LiveWire,
  owner: string,
  log: string,
  file = `${log}.jsonl`,
): string[] {
  const ctx = contextFor(wire, owner);
  const text = wire.text(file);
  const broken = text.endsWith("\n") || text === "" ? [] : ["it ends in a torn line"];
  let head: { seq: number; id: string } | undefined;
  for (const [at, line] of text.split("\n").slice(0, -1).entries()) {
    const result = authenticate(Buffer.from(line), { owner, log }, ctx);
    if (!result.ok) {
      broken.push(`line ${at + 1}: ${result.reason}: ${result.detail}`);
      continue;
    }
    const { seq = 0, prev, id } = result.message;
    if (seq !== (head?.seq ?? 0) + 1 || prev !== head?.id) {
      broken.push(`line ${at + 1}: seq ${seq} does not follow ${head?.seq ?? 0}`);
    }
    head = { seq, id };
  }
  return broken;
}

function contextFor(wire: LiveWire, owner: string): AdmissionContext {
  const { publicKey } = wire.paths(owner).identity;
  const { key, key_id } = JSON.parse(readFileSync(publicKey, "utf8")) as Record<string, string>;
  const pinned = {
    ...newPeer(owner),
    tier: "TRUSTED" as const,
    keys: [
      { keyId: String(key_id), key: Buffer.from(String(key), "base64"), addedAt: "", active: true },
    ],
  };
  return {
    wireId: WIRE_ID,
    signing: DEFAULT_SIGNING,
    limits: DEFAULT_LIMITS,
    store: { version: 1, peers: new Map([[owner, pinned]]) },
    self: "nobody",
  };
}
