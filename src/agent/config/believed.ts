import type { Peer, TrustStore } from "../../trust/store.ts";
import type { Believed } from "../lines/intake.ts";

const STRANGER: Believed = {
  ...{ tier: "UNTRUSTED", isBlocked: false, allowsUnchained: false, allowsUnsigned: false },
  keys: [],
};
const READ = new WeakMap<Peer, Believed>();

/** What the private trust store says of an agent, as lines are judged by it. Spec 2.1, 2.3. */
export function believedIn(store: TrustStore, handle: string): Believed {
  const peer = store.peers.get(handle);
  if (peer === undefined) return STRANGER;
  // It is asked for each line; a peer that is changed is another value.
  const known = READ.get(peer) ?? readPeer(peer);
  READ.set(peer, known);
  return known;
}

function readPeer(peer: Peer): Believed {
  return {
    tier: peer.tier,
    isBlocked: peer.blocked,
    ...(peer.held === undefined ? {} : { heldAfter: lastGood(peer) }),
    allowsUnchained: peer.allowUnchained,
    allowsUnsigned: peer.mayBeUnsigned,
    keys: peer.keys.map(({ keyId, key, active, last }) => ({
      ...{ keyId, key, isActive: active },
      ...(last === undefined ? {} : { last }),
    })),
  };
}

/** Behind the last good line of each key that was revoked nothing is mail; null: there is none. */
function lastGood({ keys }: Peer): NonNullable<Believed["heldAfter"]> | null {
  const lasts = keys.filter(({ revoked }) => revoked === true).map(({ last }) => last);
  const [lowest] = lasts.toSorted((one, other) => (one?.seq ?? 0) - (other?.seq ?? 0));
  return lowest ?? null;
}
