import { admitLine, verifyContext, type AdmittedLine } from "../admission/verify-lines.ts";
import { composeLine, type ChainHead, type Draft } from "../wire/compose.ts";
import { makeSigner } from "../wire/signature.ts";

/** A line that is ready to be appended, without its newline, and the event id that it has. */
export interface SignedMessage {
  readonly line: Uint8Array;
  readonly eventId: string;
}

/**
 * Signs one v3.1 line. Spec 1.5, 1.6. `secret`: the 32 bytes of `<handle>.key`; `timestamp`:
 * ISO-8601 UTC; `log`: the name of the log into which the line will go; `head`: the last chained
 * line there. Throws when the draft does not fit in a line.
 *
 * If you append lines yourself, you keep the chain yourself: prefer `openWire(...).send`.
 */
export function signMessage(
  draft: Draft,
  at: {
    readonly handle: string;
    readonly secret: Uint8Array;
    readonly timestamp: string;
    readonly log: string;
    readonly wireId?: string;
    readonly head?: ChainHead;
  },
): SignedMessage {
  const { timestamp, log, wireId, head } = at;
  const signer = makeSigner(at.handle, at.secret);
  const { line, id } = composeLine(draft, { timestamp, log, wireId, head }, signer);
  return { line, eventId: id };
}

/**
 * Checks one line by a trust file (the bytes of a `trust.json`): every check of spec 2.4 that needs
 * no log, clock or history, signature included. Throws when the trust file cannot be read.
 */
export function verifyMessage(line: Uint8Array, trustFile: Uint8Array): AdmittedLine {
  const context = verifyContext(trustFile, "trust.json");
  if (!context.ok) throw new TypeError(context.detail);
  return admitLine(line, context.ctx);
}
