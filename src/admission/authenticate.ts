import { V31_OMIT, canonicalBytes, sha256Hex } from "../wire/canonical.ts";
import type { JsonObject } from "../wire/json/json.ts";
import { parseMessage } from "../wire/message.ts";
import { decodeSignature, parseKeyId, verifySignature } from "../wire/signature.ts";
import { DEFAULT_SIGNING } from "../trust/policy/config.ts";
import type { TrustStore } from "../trust/store.ts";
import { lineTagOf, proved } from "./rules/proved.ts";
import type {
  AdmittedMessage,
  ClaimedMessage,
  RecalledMessage,
  VerifiedMessage,
} from "./admitted-message.ts";
import { isOfThen, REFUSAL_REASONS, type RefusalReason } from "./checks.ts";
import { NOTED_REFUSAL, problemOfClaim } from "./rules/first-problem.ts";
import { hasKeys, pinnedKey } from "./rules/claim-checks.ts";
import type { AdmissionContext, LineSource } from "./context.ts";
import { prepare, type Preparation, type Prepared, type Refusal } from "./prepare.ts";
import type { NotedLine } from "./reading.ts";

/** What the checks up to `invalid_signature` say of a line: the first half of `judge`. */
export type Authentication<Proof extends AdmittedMessage = AdmittedMessage> =
  { readonly ok: true; readonly message: Proof; readonly isUnproved?: true } | Refusal;

/** Every check up to `invalid_signature`, at once. `line` is undefined of one that was not kept: it is too long. */
export function authenticate(
  line: Uint8Array | undefined,
  source: LineSource,
  ctx: AdmissionContext,
): Authentication<VerifiedMessage> {
  const prepared = prepare(line, source, ctx);
  if (prepared.step !== "signature") return confirm(prepared, undefined);
  const { publicKey, bytes, signature } = prepared;
  return confirm(prepared, verifySignature(publicKey, bytes, signature));
}

/**
 * What is known of a prepared line when its signature is checked.
 *
 * @param valid undefined for a line that awaits no verdict on its signature
 */
export function confirm(
  prepared: Preparation,
  valid: boolean | undefined,
): Authentication<VerifiedMessage> {
  if (prepared.step === "refused") return prepared.refusal;
  if (prepared.step === "done") return { ok: true, message: prepared.message };
  return confirmSigned(prepared, valid === true);
}

function confirmSigned(
  { claim, message, lineTag }: Prepared,
  valid: boolean,
): Authentication<VerifiedMessage> {
  claim.isValid = valid;
  const problem = valid ? undefined : problemOfClaim(claim, "live");
  if (problem === undefined) return { ok: true, message: proved(message, lineTag) };
  return { ok: false, ...problem };
}

/** What an audit knows of a line besides what is pinned today. */
export interface AuditedBy {
  /** What our own journal noted of it. */
  readonly noted: NotedLine | undefined;
  /** The pins are not our own: agents of whom no key is known are taken for what they say. Spec 4.4. */
  readonly takesClaims: boolean;
}

/**
 * The same as `confirm` in an audit: what depends on our pins and our policy is as our journal noted
 * it when the line came. See `Reading`.
 */
export function confirmInAudit(
  line: Uint8Array | undefined,
  confirmed: Authentication<VerifiedMessage>,
  ctx: AdmissionContext,
  { noted, takesClaims }: AuditedBy,
): Authentication {
  const read = orClaimed(confirmed, ctx, takesClaims);
  if (line === undefined || noted === undefined) return read;
  if (!noted.authentic) return noted.fits(line) ? refusedAsNoted(read, noted.reason) : read;
  if (read.ok || read.claimed === undefined || !noted.isOf(read.claimed.id)) return read;
  return { ok: true, message: proved<RecalledMessage>(read.claimed, read.claimed.lineTag) };
}

function orClaimed(
  read: Authentication,
  { store }: AdmissionContext,
  takesClaims: boolean,
): Authentication {
  if (read.ok || !takesClaims || read.reason !== "untrusted_key") return read;
  const { claimed } = read;
  if (claimed === undefined || hasKeys(store, claimed.from)) return read;
  return { ok: true, message: claimed, isUnproved: true };
}

/** A line that was refused when it came, for a reason that may be another one by today's pins. */
function refusedAsNoted(read: Authentication, reason: RefusalReason | undefined): Authentication {
  if (reason === undefined) return read;
  if (!read.ok) {
    const first = REFUSAL_REASONS.find((each) => each === reason || each === read.reason);
    if (first === undefined || !isOfThen(first) || reason === read.reason) return read;
    return { ok: false, reason, detail: NOTED_REFUSAL };
  }
  if (!isOfThen(reason)) return read;
  const { message } = read;
  const claimed = proved<ClaimedMessage>(message, message.lineTag);
  return { ok: false, reason, detail: NOTED_REFUSAL, claimed, refusedThen: { seq: message.seq } };
}

/**
 * The line of that id, which our journal noted as authentic when it was received, read again from
 * its log; undefined when it is another line. Its signature is not checked again. Spec 4.1.
 */
export function recall(line: Uint8Array, id: string): RecalledMessage | undefined {
  const parsed = parseMessage(line);
  if (!parsed.ok || parsed.message.id !== id) return undefined;
  return proved(parsed.message, lineTagOf(line));
}

/**
 * Who has signed a line, with a key ever pinned for them, stopped and revoked ones included;
 * undefined when there is none. This only tells from where on a log is signed, never that a line is
 * believed. Spec 1.5.
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

/**
 * Who has signed a JSON object that is no message, as an entry of decisions.jsonl, with a key ever
 * pinned for them; undefined when there is none.
 */
export function signerOf(fields: JsonObject, store: TrustStore): string | undefined {
  const { event_id: id, public_key_id: keyId, signature: text } = fields;
  if (typeof id !== "string" || typeof keyId !== "string" || typeof text !== "string") {
    return undefined;
  }
  const handle = parseKeyId(keyId)?.handle;
  const key = handle === undefined ? undefined : pinnedKey(store, handle, keyId);
  const signature = decodeSignature(text);
  if (key === undefined || signature === undefined) return undefined;
  if (sha256Hex(canonicalBytes(fields, V31_OMIT)) !== id) return undefined;
  return verifySignature(key.key, Buffer.from(id, "hex"), signature) ? handle : undefined;
}
