import type { TrustStore } from "../../../trust/store.ts";
import { signerOf } from "../../../admission/authenticate.ts";
import { parseObject } from "../../../wire/json/json.ts";
import { readEntry } from "./decision-record.ts";
import type { CoreEvent } from "../../events.ts";

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
  const signedBy = signerOf(parsed.value, store);
  const entry = readEntry(parsed.value, { signedBy, valid: signedBy !== undefined });
  return { kind: "entry", file: "decisions", at, entry };
}
