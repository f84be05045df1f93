import type { Message } from "../wire/message.ts";
import { mayBeUnsigned, type SigningPolicy } from "../trust/policy/config.ts";
import type { TrustStore } from "../trust/store.ts";

/**
 * What a reader of history knows of an unsigned line besides its content. A live line has no such
 * past: it is judged by the pins as they are now.
 */
export interface UnsignedPast {
  /** Our journal says what became of it when it was received. */
  readonly noted: "taken" | "refused" | undefined;
  /** It comes before the first line of its log that is signed with a key ever pinned for its author. */
  readonly isBeforeSigned: boolean;
}

/**
 * Why a line without a signature is refused; undefined when it may be taken. Spec 1.5 (v2.0): policy
 * has to admit it, and its author must be one of whom no key was ever pinned. A stopped or revoked key
 * counts too, so revoking a key never makes forging easier. What policy admitted before the key was
 * pinned stays admitted. `trust pin --unsigned` is the operator's exception.
 *
 * @param past undefined for a live line
 */
export function unsignedRefusal(
  { from, timestampMs }: Pick<Message, "from" | "timestampMs">,
  policy: SigningPolicy,
  store: TrustStore,
  past: UnsignedPast | undefined,
): string | undefined {
  if (!mayBeUnsigned(policy, from)) return `lines of ${from} have to be signed`;
  if (!mustSignByPin(store, from)) return undefined;
  const refusal = `a key of ${from} is pinned, so its lines have to be signed`;
  if (past === undefined || past.noted === "refused") return refusal;
  if (past.noted === "taken") return undefined;
  return past.isBeforeSigned && timestampMs < firstPinnedMs(store, from) ? undefined : refusal;
}

/** Whether the pins alone ask that the lines of an agent are signed. */
export function mustSignByPin(store: TrustStore, handle: string): boolean {
  const peer = store.peers.get(handle);
  return peer !== undefined && peer.keys.length > 0 && !peer.mayBeUnsigned;
}

/** Infinity where no file says: then only the order within the log decides. */
function firstPinnedMs(store: TrustStore, handle: string): number {
  const times = (store.peers.get(handle)?.keys ?? []).map(({ addedAt }) => Date.parse(addedAt));
  return Math.min(...times.map((ms) => (Number.isNaN(ms) ? Infinity : ms)));
}
