import { decodeKey, isAcceptableKey, keyId, parseKeyId } from "../../wire/signature.ts";
import type { HistoryLine } from "../asks/history.ts";
import { textField } from "../body.ts";

/** What a proposal asks for about a key of its author. */
export type KeyChange =
  | { readonly action: "add_key"; readonly keyId: string; readonly key: Uint8Array }
  | { readonly action: "deactivate_key"; readonly keyId: string };

/** Undefined of any other line, of a key of another agent, and of one whose key id does not match. Spec 2.5. */
export function readKeyChange({ type, body, place }: HistoryLine): KeyChange | undefined {
  const action = textField(body, "action");
  const id = textField(body, "key_id") ?? "";
  if (type !== "proposal" || parseKeyId(id)?.handle !== place.author) return undefined;
  if (action === "deactivate_key") return { action, keyId: id };
  const key = decodeKey(textField(body, "key") ?? "");
  if (action !== "add_key" || key === undefined || !isAcceptableKey(key)) return undefined;
  return keyId(place.author, key) === id ? { action, keyId: id, key } : undefined;
}

/** Which key of its author a line revokes, as far as it says so. Spec 2.5. */
export function readRevoked({ type, body }: HistoryLine): string | undefined {
  return type === "correction" ? textField(body, "revokes") : undefined;
}
