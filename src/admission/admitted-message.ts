import type { Message } from "../wire/message.ts";

declare const proof: unique symbol;

/** A message that was let in. Frozen: what was judged is what is used. */
interface Proved<Proof extends string> extends Message {
  readonly [proof]: Proof;
  /** 32 bits of the SHA-256 of the line itself: tells identical bytes from the same content. */
  readonly lineTag: number;
}

/** Its signature was found valid, or it is unsigned and policy lets that in. Made by `authenticate.ts` alone. */
export type VerifiedMessage = Proved<"verified">;

/**
 * Our private journal noted it as authentic when it was received, and it still has the noted id. The
 * journal was synced before anything followed from the line, so the signature is not checked again.
 */
export type RecalledMessage = Proved<"recalled">;

/** Not proved: what the line says of itself. Only an audit without pins of ours takes it. */
export type ClaimedMessage = Proved<"claimed">;

export type AdmittedMessage = VerifiedMessage | RecalledMessage | ClaimedMessage;
