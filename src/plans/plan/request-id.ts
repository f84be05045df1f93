import { sha256Hex } from "../../wire/canonical.ts";

/** Hex digits of the name of a request. */
const REQUEST_ID_DIGITS = 16;

/**
 * The name of the request for one attempt at a step, the same for all coordinators: the first 16 hex
 * digits of the SHA-256 of plan id, step id and attempt (in decimal), in UTF-8, with one NUL byte
 * between them. No id holds a NUL. Spec 7.5.
 */
export function planRequestId(planId: string, stepId: string, attempt: number): string {
  const text = [planId, stepId, String(attempt)].join("\0");
  return sha256Hex(Buffer.from(text, "utf8")).slice(0, REQUEST_ID_DIGITS);
}
