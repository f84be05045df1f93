import { verifyLine, type JudgedLine } from "../protocol/admit/verify-line.ts";
import { parseTrustFile } from "../trust/trust-file.ts";
import { composeLine, type ChainHead, type Draft } from "../wire/compose.ts";
import { parseMessage, type Message } from "../wire/message.ts";
import { makeSigner } from "../wire/signature.ts";

/** A line that is ready to be appended, without its newline, and the event id that it has. */
export interface SignedMessage {
  readonly line: Uint8Array;
  readonly eventId: string;
}

/**
 * Signs one v3.1 line. Spec 1.5, 1.6. `secret`: the 32 bytes of `<handle>.key`; `timestamp`:
 * ISO-8601 UTC; `head`: the last line of our chain. Throws when the draft does not fit in a line.
 *
 * If you append lines yourself, you keep the chain yourself: prefer `openWire(...).send`.
 */
export function signMessage(
  draft: Draft,
  at: {
    readonly handle: string;
    readonly secret: Uint8Array;
    readonly timestamp: string;
    readonly wireId?: string;
    readonly head?: ChainHead;
  },
): SignedMessage {
  const { timestamp, wireId, head } = at;
  const signer = makeSigner(at.handle, at.secret);
  const { line, id } = composeLine(draft, { timestamp, wireId, head }, signer);
  return { line, eventId: id };
}

/** What `verifyMessage` says of a line. */
export type VerifiedMessage =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly reason: string; readonly detail: string };

/**
 * Checks one line by a trust file (the bytes of a `trust.json`): every check of spec 2.4 that needs no file, clock or
 * history, signature included. Throws a TypeError when the trust file cannot be read.
 */
export function verifyMessage(line: Uint8Array, trustFile: Uint8Array): VerifiedMessage {
  const trust = parseTrustFile(trustFile, "trust.json", "ATTESTED");
  if (!trust.ok) throw new TypeError(trust.detail);
  const { peers, version } = trust.document;
  const judged: JudgedLine = verifyLine(line, { version: version ?? 0, peers });
  if (!judged.ok) return { ok: false, ...judged.problem };
  const parsed = parseMessage(line);
  return parsed.ok ? { ok: true, message: parsed.message } : parsed;
}
