import { parseMessage, type Message, type MessageParse } from "../wire/message.ts";
import { lineTagOf, proved } from "./rules/proved.ts";
import type { ClaimedMessage, VerifiedMessage } from "./admitted-message.ts";
import { isOfThen, type Problem } from "./checks.ts";
import { problemOfBytes, problemOfClaim } from "./rules/first-problem.ts";
import { claimOf, type Claim } from "./rules/claim-checks.ts";
import type { AdmissionContext, LineSource } from "./context.ts";

/** A line that is not shown to be its author's. It proves nothing about anyone. */
export interface Refusal extends Problem {
  readonly ok: false;
  /** What the line says, where only what we believe today is in the way. */
  readonly claimed?: ClaimedMessage;
  /** Our journal noted that refusal; by today's pins the line would be let in, at this place. */
  readonly refusedThen?: { readonly seq: number | undefined };
}

/** A line that awaits the verdict on its signature: does `publicKey` sign `bytes` so? */
export interface Prepared {
  readonly step: "signature";
  readonly claim: Claim;
  readonly message: Message;
  readonly lineTag: number;
  readonly publicKey: Uint8Array;
  readonly bytes: Uint8Array;
  readonly signature: Uint8Array;
}

export type Preparation =
  | Prepared
  | { readonly step: "done"; readonly message: VerifiedMessage }
  | { readonly step: "refused"; readonly refusal: Refusal };

const OVERSIZED: MessageParse = {
  ok: false,
  reason: "oversized",
  detail: "the line is longer than 1 MiB",
};

/**
 * Every check that costs less than verifying a signature, in order; what remains is to find out
 * whether the signature is valid, here or in another thread, and to `confirm`. Spec 2.4.
 */
export function prepare(
  line: Uint8Array | undefined,
  source: LineSource,
  ctx: AdmissionContext,
): Preparation {
  const parsed = line === undefined ? OVERSIZED : parseMessage(line);
  const unread = problemOfBytes(parsed, "live");
  if (unread !== undefined) return refused(unread);
  if (line === undefined || !parsed.ok) throw new Error("a line that cannot be read was let pass");

  const { message } = parsed;
  const claim = claimOf(message, source, ctx);
  const problem = problemOfClaim(claim, "live");
  if (problem !== undefined) {
    if (!isOfThen(problem.reason)) return refused(problem);
    return refused({ ...problem, claimed: proved<ClaimedMessage>(message, lineTagOf(line)) });
  }
  const lineTag = lineTagOf(line);
  const { isSigned, key, signature } = claim;
  if (!isSigned) return { step: "done", message: proved<VerifiedMessage>(message, lineTag) };
  if (key === undefined || signature === undefined) throw new Error("no key, or no signature");
  const bytes = message.version === "v3.1" ? Buffer.from(message.id, "hex") : message.canonical;
  return { step: "signature", claim, message, lineTag, publicKey: key.key, bytes, signature };
}

function refused(problem: Omit<Refusal, "ok">): Preparation {
  return { step: "refused", refusal: { ok: false, ...problem } };
}
