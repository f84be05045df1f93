import { sha256Hex } from "./canonical.ts";

/** A decision's text is cut at so many bytes of UTF-8. Spec 3.4.7. */
const MAX_DECISION_BYTES = 16 * 1_024;

/**
 * The words that the ledger will hold once a proposal is ratified. Spec 3.4.7, "The record". Our own
 * commands always write `body.decision`; the other two cases are hand-written proposals.
 */
export function decisionWords(subject: string, body: unknown): string {
  return truncate(explicitDecision(body) ?? (typeof body === "string" ? body : subject));
}

function explicitDecision(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, "decision")) {
    return undefined;
  }
  const { decision } = body as { readonly decision: unknown };
  return typeof decision === "string" ? decision : undefined;
}

function truncate(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= MAX_DECISION_BYTES) return text;
  let end = MAX_DECISION_BYTES;
  // Never in the middle of a character: continuation bytes are 10xxxxxx.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const kept = new TextDecoder().decode(bytes.subarray(0, end));
  return `${kept} [cut: ${bytes.length} bytes, sha256 ${sha256Hex(bytes)}]`;
}
