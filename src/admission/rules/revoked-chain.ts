import { isChained, type ChainState } from "../../wire/chain.ts";
import type { Message } from "../../wire/message.ts";
import type { TrustStore } from "../../trust/store.ts";

/**
 * The chain of a new key that the operator has confirmed begins where that of the revoked one ends,
 * at any `seq`: its agent may never have seen what the attacker wrote last, and its first line would
 * fork the chain. Spec 1.6, 2.5.
 *
 * @param message authentic, so its key is pinned and active
 * @returns the chain that the line has to go on with: `chain` itself but for that one line
 */
export function chainAfterRevoked(
  chain: ChainState,
  log: string,
  message: Message,
  store: TrustStore,
): ChainState {
  const { head } = chain;
  if (head === undefined || !isChained(message)) return chain;
  const { seq, prev } = message;
  // What is wrong by itself stays wrong.
  if (seq > 1 !== (prev !== undefined)) return chain;
  const keys = store.peers.get(message.from)?.keys ?? [];
  const lost = keys.find((key) => key.revoked === true && key.ends?.get(log)?.id === head.id);
  if (lost === undefined || lost.keyId === message.publicKeyId) return chain;
  return { head: prev === undefined ? undefined : { seq: seq - 1, id: prev }, gaps: [] };
}
