import { canonicalBytes, sha256Hex, V30_OMIT, V31_OMIT } from "../../../src/wire/canonical.ts";
import { fromPlain, type JsonObject } from "../../../src/wire/json/json.ts";
import { encodeBase64, type Signer } from "../../../src/wire/signature.ts";

export type PlainVersion = "v3.1" | "v3.0" | "v2.0";

/** What a line says that has no place in a chain. */
export interface PlainSaying {
  readonly to: readonly string[];
  readonly type: string;
  readonly body: object;
  readonly thread?: string;
  /** The wire that it names, if any. */
  readonly wire?: string;
}

/** A line outside any chain, as one writes it who knows nothing of chains. */
export function plainLine(
  { to, type, body, thread, wire }: PlainSaying,
  version: PlainVersion,
  signer: Signer,
  atMs: number,
): string {
  // Spelled as Python does: a chained agent that writes in the same moment never spells it so.
  const timestamp = new Date(atMs).toISOString().replace("Z", "+00:00");
  const said = {
    timestamp,
    from: signer.handle,
    to: [...to],
    type,
    subject: "plainly",
    body,
    correlation_id: thread ?? timestamp,
    ack_required: type === "proposal",
    ...(wire === undefined ? {} : { wire }),
  };
  const fields = fromPlain(said) as JsonObject;
  if (version === "v2.0") return JSON.stringify(said);
  const id = sha256Hex(canonicalBytes(fields, V31_OMIT));
  const signed = version === "v3.1" ? Buffer.from(id, "hex") : canonicalBytes(fields, V30_OMIT);
  return JSON.stringify({
    ...said,
    ...(version === "v3.1" ? { event_id: id } : {}),
    public_key_id: signer.keyId,
    signature: encodeBase64(signer.sign(signed)),
  });
}
