import { isChained } from "../../wire/chain.ts";
import type { Message, MessageParse } from "../../wire/message.ts";
import { quote } from "../../wire/quote.ts";
import { decodeSignature, parseKeyId } from "../../wire/signature.ts";
import type { PinnedKey, TrustStore } from "../../trust/store.ts";
import type { AdmissionContext, LineSource } from "../context.ts";
import { unsignedRefusal } from "../unsigned-lines.ts";

/** What a line says of itself, and by what that is checked. */
export interface Claim {
  readonly message: Message;
  readonly source: LineSource;
  readonly ctx: AdmissionContext;
  /** It has a key id and a signature; checks of keys pass a line without them. */
  readonly isSigned: boolean;
  /** The key of that id, if it was ever pinned for the author. */
  readonly key: PinnedKey | undefined;
  /** Undefined when it is not strict base64 of 64 bytes. */
  readonly signature: Uint8Array | undefined;
  /** The verdict on the signature, once it is known. */
  isValid: boolean | undefined;
}

export function claimOf(message: Message, source: LineSource, ctx: AdmissionContext): Claim {
  const { from, publicKeyId, signature } = message;
  const isSigned = publicKeyId !== undefined && signature !== undefined;
  return {
    message,
    source,
    ctx,
    isSigned,
    key: isSigned ? pinnedKey(ctx.store, from, publicKeyId) : undefined,
    signature: isSigned ? decodeSignature(signature) : undefined,
    isValid: undefined,
  };
}

type Unreadable = Extract<MessageParse, { ok: false }>["reason"];

/** The check that finds lines which cannot be read for that reason. */
export function unreadable(reason: Unreadable): (parsed: MessageParse) => string | undefined {
  return (parsed) => (!parsed.ok && parsed.reason === reason ? parsed.detail : undefined);
}

export function wrongFile({ message, source }: Claim): string | undefined {
  if (source.owner !== undefined && message.from !== source.owner) {
    return `from is ${message.from}, but this log is written by ${source.owner} alone`;
  }
  if (source.log !== undefined && message.log !== undefined && message.log !== source.log) {
    return `the line was signed for the log ${quote(message.log)}, but is in ${source.log}`;
  }
  return undefined;
}

/** Spec 1.5: only one of the two fields is as good as none, and no policy admits it. */
export function unsigned({ message, source, ctx, isSigned }: Claim): string | undefined {
  if (isSigned) return undefined;
  if (message.publicKeyId !== undefined) return "public_key_id without signature";
  if (message.signature !== undefined) return "signature without public_key_id";
  const past = source.unsignedPast?.(message.from);
  return unsignedRefusal(message, ctx.signing, ctx.store, past);
}

export function wrongEventId({ message }: Claim): string | undefined {
  const { id, eventId } = message;
  if (eventId === undefined || eventId === id) return undefined;
  return `event_id is ${quote(eventId)}, but the content hashes to ${id}`;
}

export function wrongAuthor({ message, isSigned }: Claim): string | undefined {
  const { from, publicKeyId = "" } = message;
  if (!isSigned || parseKeyId(publicKeyId)?.handle === from) return undefined;
  return `from is ${from}, but the key is ${quote(publicKeyId)}`;
}

export function untrustedKey(claim: Claim): string | undefined {
  const { message, ctx, isSigned, key } = claim;
  if (!isSigned) return undefined;
  const { from, publicKeyId = "" } = message;
  if (!hasKeys(ctx.store, from)) return `no key of ${from} is pinned`;
  if (key === undefined) return `the key ${quote(publicKeyId)} is not pinned for ${from}`;
  if (!key.active && !signedInTime(claim, key)) return `${publicKeyId} was deactivated`;
  return undefined;
}

/** Whether any key was ever pinned for an agent. */
export function hasKeys(store: TrustStore, handle: string): boolean {
  return (store.peers.get(handle)?.keys.length ?? 0) > 0;
}

/** A key that was ever pinned for an agent, stopped and revoked ones included. */
export function pinnedKey(store: TrustStore, handle: string, keyId: string): PinnedKey | undefined {
  return store.peers.get(handle)?.keys.find((pinned) => pinned.keyId === keyId);
}

/** Asked twice: before the verdict on the signature is known, and with it. */
export function invalidSignature(claim: Claim): string | undefined {
  const { message, isSigned, signature, isValid } = claim;
  if (!isSigned) return undefined;
  if (signature === undefined) return "signature is not strict base64 of 64 bytes";
  if (isValid !== false) return undefined;
  return `the signature by ${quote(message.publicKeyId ?? "")} does not cover this content`;
}

/**
 * Spec 2.1: a deactivated key's history is good up to the line noted then, and no further. Lines that
 * are read for the first time are good up to there when the key is vouched for.
 */
function signedInTime({ message, source, ctx }: Claim, key: PinnedKey): boolean {
  const { log } = source;
  const end = log === undefined ? undefined : key.ends?.get(log);
  if (log === undefined || end === undefined) return false;
  if (ctx.history === undefined) {
    if (
      key.vouched !== true ||
      key.revoked === true ||
      end.seq === undefined ||
      !isChained(message)
    )
      return false;
    return message.seq < end.seq || message.id === end.id;
  }
  if (end.seq === undefined || !isChained(message)) return !ctx.history.passed(key.keyId, log);
  // The id covers the seq.
  return message.seq < end.seq || message.id === end.id;
}
