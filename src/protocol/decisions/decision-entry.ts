import type { TrustStore } from "../../trust/store.ts";
import { V31_OMIT, canonicalBytes, sha256Hex } from "../../wire/canonical.ts";
import { parseObject, type JsonObject } from "../../wire/json/json.ts";
import { decodeSignature, parseKeyId, verifySignature } from "../../wire/signature.ts";
import { readEntry } from "./decision-record.ts";
import type { CoreEvent } from "../events.ts";

/**
 * What a line of decisions.jsonl says, and who signed it by these pins; undefined when it does not
 * parse. Spec 3.4.
 */
export function decisionEvent(
  line: Uint8Array,
  store: TrustStore,
  at: number,
): CoreEvent | undefined {
  const parsed = parseObject(line);
  if (!parsed.ok) return undefined;
  const entry = readEntry(parsed.value, signatureOf(parsed.value, store));
  return { kind: "entry", file: "decisions", at, entry };
}

/** Who signed an entry, by our pins alone. */
function signatureOf(
  fields: JsonObject,
  store: TrustStore,
): { signedBy: string | undefined; valid: boolean } {
  const { event_id: id, public_key_id: keyId, signature } = fields;
  const nobody = { signedBy: undefined, valid: false };
  if (typeof id !== "string" || typeof keyId !== "string" || typeof signature !== "string") {
    return nobody;
  }
  const handle = parseKeyId(keyId)?.handle;
  const pinned = handle === undefined ? undefined : store.peers.get(handle);
  const key = pinned?.keys.find((each) => each.keyId === keyId);
  const bytes = decodeSignature(signature);
  if (key === undefined || bytes === undefined) return nobody;
  if (sha256Hex(canonicalBytes(fields, V31_OMIT)) !== id) return nobody;
  const valid = verifySignature(key.key, Buffer.from(id, "hex"), bytes);
  return valid ? { signedBy: handle, valid } : nobody;
}
