import type { Limits } from "../wire/limits.ts";
import { sha256Hex } from "../wire/canonical.ts";
import { isChained } from "../wire/chain.ts";
import { parseMessage, type Message } from "../wire/message.ts";
import { quote } from "../wire/quote.ts";
import { decodeSignature, parseKeyId, verifySignature } from "../wire/signature.ts";
import { DEFAULT_SIGNING, type SigningPolicy } from "../trust/policy/config.ts";
import type { PinnedKey, TrustStore } from "../trust/store.ts";
import { unsignedRefusal, type UnsignedPast } from "./unsigned-lines.ts";

/** Why a line is refused, in the order in which it is asked; the first decides. Spec 2.4. */
export const REFUSAL_REASONS = [
  "oversized",
  "malformed",
  "schema",
  "kind_mismatch",
  "wrong_file",
  "unsigned",
  "event_id_mismatch",
  "from_mismatch",
  "untrusted_key",
  "invalid_signature",
  "wrong_wire",
  "unchained",
  "log_forked",
  "clock_skew",
  "replayed",
  "tier_refused",
  "body_too_large",
  "too_many_refs",
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly ok: false;
  readonly reason: RefusalReason;
  /** For a person; what it quotes of the line is escaped and cut. */
  readonly detail: string;
}

const LAST_UNAUTHENTIC = REFUSAL_REASONS.indexOf("invalid_signature");

/**
 * Whether a line refused for that reason is the author's own all the same. The others prove
 * nothing about anyone: they are counted and shown, and raise no incident. Spec 2.4.
 */
export function isAuthentic(reason: RefusalReason): boolean {
  return REFUSAL_REASONS.indexOf(reason) > LAST_UNAUTHENTIC;
}

/** What admission looks at besides the line. Our own keys stand in `store` too, under `self`. */
export interface AdmissionContext {
  readonly wireId: string | undefined;
  readonly signing: SigningPolicy;
  readonly limits: Limits;
  readonly store: TrustStore;
  readonly self: string;
  /**
   * Given when history is read again (an audit, a lost journal): then a deactivated key is
   * believed up to the last line noted when it was deactivated. Live lines never are. Spec 2.1.
   */
  readonly history?: {
    /** Whether the last line noted for that key has been passed in that log. */
    passed(keyId: string, log: string): boolean;
  };
}

/** Where a line stands: `undefined` where there is no file to compare with (`deaddrop verify`). */
export interface LineSource {
  readonly owner: string | undefined;
  readonly log: string | undefined;
  /** Where history is read: what bears on an unsigned line of that author. Spec 1.5. */
  readonly unsignedPast?: ((author: string) => UnsignedPast) | undefined;
}

declare const verified: unique symbol;

/**
 * A message whose signature was found valid, or an unsigned one that policy admits; made by
 * `prepare` and `confirm` alone. Frozen, so that the verdict cannot outlive what it was given on.
 */
export interface VerifiedMessage extends Message {
  readonly [verified]: true;
  /** 32 bits of the SHA-256 of the line itself: tells identical bytes from the same content. */
  readonly lineTag: number;
}

/** A line that awaits the verdict on its signature: does `publicKey` sign `bytes` so? */
export interface Prepared {
  readonly step: "signature";
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

export type Authentication = { readonly ok: true; readonly message: VerifiedMessage } | Refusal;

/** Every check up to `invalid_signature`, at once. */
export function authenticate(
  line: Uint8Array,
  source: LineSource,
  ctx: AdmissionContext,
): Authentication {
  const prepared = prepare(line, source, ctx);
  if (prepared.step === "refused") return prepared.refusal;
  if (prepared.step === "done") return { ok: true, message: prepared.message };
  const { publicKey, bytes, signature } = prepared;
  return confirm(prepared, verifySignature(publicKey, bytes, signature));
}

/**
 * Every check that costs less than verifying a signature, in order; what remains is to find out
 * whether the signature is valid, here or in another thread, and to `confirm`. Spec 2.4.
 */
export function prepare(line: Uint8Array, source: LineSource, ctx: AdmissionContext): Preparation {
  const parsed = parseMessage(line);
  if (!parsed.ok) return refused(parsed.reason, parsed.detail);
  const { message } = parsed;
  const stray = wrongFile(message, source);
  if (stray !== undefined) return refused("wrong_file", stray);

  const signed = message.publicKeyId !== undefined && message.signature !== undefined;
  const unsigned = signed ? undefined : unsignedProblem(message, source, ctx);
  if (unsigned !== undefined) return refused("unsigned", unsigned);
  if (message.eventId !== undefined && message.eventId !== message.id) {
    return refused(
      "event_id_mismatch",
      `event_id is ${quote(message.eventId)}, but the content hashes to ${message.id}`,
    );
  }
  if (!signed) return { step: "done", message: brand(message, tagOf(line)) };

  const keyId = message.publicKeyId ?? "";
  if (parseKeyId(keyId)?.handle !== message.from) {
    return refused("from_mismatch", `from is ${message.from}, but the key is ${quote(keyId)}`);
  }
  const key = believedKey(message, keyId, source, ctx);
  if (typeof key === "string") return refused("untrusted_key", key);

  const signature = decodeSignature(message.signature ?? "");
  if (signature === undefined) {
    return refused("invalid_signature", "signature is not strict base64 of 64 bytes");
  }
  const bytes = message.version === "v3.1" ? Buffer.from(message.id, "hex") : message.canonical;
  return { step: "signature", message, lineTag: tagOf(line), publicKey: key.key, bytes, signature };
}

/** What the verdict on its signature makes of a prepared line. */
export function confirm(prepared: Prepared, valid: boolean): Authentication {
  if (valid) return { ok: true, message: brand(prepared.message, prepared.lineTag) };
  const keyId = quote(prepared.message.publicKeyId ?? "");
  const detail = `the signature by ${keyId} does not cover this content`;
  return { ok: false, reason: "invalid_signature", detail };
}

/**
 * A line that our own journal says was authentic when it was received, read again from its log.
 * The journal is private and was synced before anything followed from it, so the signature is not
 * asked a second time; the caller compares the id with the one noted. Spec 4.1 (checkpoint).
 */
export function recallVerified(line: Uint8Array): VerifiedMessage | undefined {
  const parsed = parseMessage(line);
  return parsed.ok ? brand(parsed.message, tagOf(line)) : undefined;
}

function wrongFile(message: Message, source: LineSource): string | undefined {
  if (source.owner !== undefined && message.from !== source.owner) {
    return `from is ${message.from}, but this log is written by ${source.owner} alone`;
  }
  if (source.log !== undefined && message.log !== undefined && message.log !== source.log) {
    return `the line was signed for the log ${quote(message.log)}, but is in ${source.log}`;
  }
  return undefined;
}

/** Spec 1.5: only one of the two fields is as good as none, and no policy admits it. */
function unsignedProblem(
  message: Message,
  { unsignedPast }: LineSource,
  { signing, store }: AdmissionContext,
): string | undefined {
  if (message.publicKeyId !== undefined) return "public_key_id without signature";
  if (message.signature !== undefined) return "signature without public_key_id";
  return unsignedRefusal(message, signing, store, unsignedPast?.(message.from));
}

/** The pinned key that this line names, or why it is not to be believed. */
function believedKey(
  message: Message,
  keyId: string,
  source: LineSource,
  ctx: AdmissionContext,
): PinnedKey | string {
  const peer = ctx.store.peers.get(message.from);
  if (peer === undefined || peer.keys.length === 0) return `no key of ${message.from} is pinned`;
  const key = peer.keys.find((pinned) => pinned.keyId === keyId);
  if (key === undefined) return `the key ${quote(keyId)} is not pinned for ${message.from}`;
  if (!key.active && !signedInTime(message, key, source, ctx)) return `${keyId} was deactivated`;
  return key;
}

/** Spec 2.1: a deactivated key's history is good up to the line noted then, and no further. */
function signedInTime(
  message: Message,
  key: PinnedKey,
  source: LineSource,
  ctx: AdmissionContext,
): boolean {
  const { log } = source;
  const end = log === undefined ? undefined : key.ends?.get(log);
  if (log === undefined || end === undefined || ctx.history === undefined) return false;
  if (end.seq === undefined || !isChained(message)) return !ctx.history.passed(key.keyId, log);
  // The id covers the seq.
  return message.seq < end.seq || message.id === end.id;
}

/**
 * Who has signed a line, with a key ever pinned for them, stopped and revoked ones included; undefined
 * when nobody has. Only says from where on a log is signed, never that a line is believed. Spec 1.5.
 */
export function everSignedBy(
  line: Uint8Array,
  source: LineSource,
  ctx: AdmissionContext,
): string | undefined {
  const peers = [...ctx.store.peers].map(([handle, peer]) => {
    const keys = peer.keys.map((key) => ({ ...key, active: true }));
    return [handle, { ...peer, keys }] as const;
  });
  const store = { ...ctx.store, peers: new Map(peers) };
  const read = authenticate(line, source, { ...ctx, store, signing: DEFAULT_SIGNING });
  return read.ok ? read.message.from : undefined;
}

function tagOf(line: Uint8Array): number {
  return Number.parseInt(sha256Hex(line).slice(0, 8), 16);
}

function brand(message: Message, lineTag: number): VerifiedMessage {
  return Object.freeze({ ...message, lineTag }) as VerifiedMessage;
}

function refused(reason: RefusalReason, detail: string): Preparation {
  return { step: "refused", refusal: { ok: false, reason, detail } };
}
