import { encodeBase64 } from "../../wire/signature.ts";
import { acceptKey, pin, setTier, type StoreChange } from "../pins.ts";
import type { Peer, PinnedKey, TrustStore } from "../store.ts";
import { parseTrustFile, type TrustDocument } from "../trust-file.ts";
import { compareTiers, type Tier } from "../tiers.ts";

/** An advertised key that is not what we pinned. It is never used. Spec 2.1. */
export interface Drift {
  /** The same for the same drift, so that it is told once. */
  readonly key: string;
  readonly handle: string;
  readonly keyId: string;
  readonly cause:
    "unknown_agent" | "earlier_key" | "unpinned_key" | "differs" | "deactivated" | "unusable";
  readonly detail: string;
}

/** Anybody who can write the advertised file can fill it; an operator reads no more than this. */
const MAX_DRIFTS = 256;

/**
 * Where what the wire advertises departs from what we pinned. Keys advertised as inactive are
 * used by nobody and are passed over. Spec 2.1 (`trust_drift`).
 */
export function trustDrift(store: TrustStore, advertised: TrustDocument): readonly Drift[] {
  const drifts: Drift[] = [];
  for (const peer of advertised.peers.values()) {
    for (const key of peer.keys) {
      if (!key.active) continue;
      const drift = driftOf(store.peers.get(peer.handle), peer, key);
      if (drift !== undefined) drifts.push(drift);
    }
  }
  for (const problem of advertised.problems) {
    drifts.push({ key: problem, handle: "", keyId: "", cause: "unusable", detail: problem });
  }
  return drifts.slice(0, MAX_DRIFTS);
}

function driftOf(
  pinned: Peer | undefined,
  { handle, keys }: Peer,
  key: PinnedKey,
): Drift | undefined {
  const known = pinned?.keys.find((other) => other.keyId === key.keyId);
  const advertised = encodeBase64(key.key);
  const drift = (cause: Drift["cause"], words: string): Drift => {
    return {
      key: `${cause} ${key.keyId} ${advertised}`,
      handle,
      keyId: key.keyId,
      cause,
      detail: `the wire advertises the key ${key.keyId} (${advertised}) for ${handle}, ${words}`,
    };
  };
  if (pinned === undefined || pinned.keys.length === 0) {
    return drift("unknown_agent", "of whom nothing is pinned");
  }
  if (known === undefined && isBeforePinned(key, keys, pinned)) {
    return drift("earlier_key", "from before the one that is pinned here; it is not used");
  }
  if (known === undefined) {
    return drift("unpinned_key", `which is not among its pinned keys (${keyIds(pinned)})`);
  }
  if (Buffer.compare(known.key, key.key) !== 0) {
    return drift("differs", "which differs from the key pinned under that id");
  }
  return known.active ? undefined : drift("deactivated", "which was deactivated here");
}

/** What a change of keys leaves: for some time the wire advertises the old one beside the new one. */
function isBeforePinned(key: PinnedKey, advertised: readonly PinnedKey[], pinned: Peer): boolean {
  const isPinned = ({ keyId }: PinnedKey): boolean =>
    pinned.keys.some((other) => other.active && other.keyId === keyId);
  const atMs = Date.parse(key.addedAt);
  return advertised.some((other) => isPinned(other) && atMs < Date.parse(other.addedAt));
}

function keyIds(peer: Peer): string {
  return peer.keys.map((key) => key.keyId).join(", ");
}

/** What an import came to: the new store, and a line for a person on each agent. */
export type ImportResult =
  | { readonly ok: true; readonly store: TrustStore; readonly lines: readonly string[] }
  | { readonly ok: false; readonly detail: string };

/**
 * Takes the agents of a trust file into the private store (`deaddrop trust import`). They enter at
 * UNTRUSTED; with `acceptWireTrust` at the tier the file states, TRUSTED excepted, and those of a
 * v3.0 file, which states none, at ATTESTED. Agents that have a pin keep it, and their tier.
 * Spec 2.1.
 */
export function importTrust(
  store: TrustStore,
  bytes: Uint8Array,
  file: string,
  how: { readonly acceptWireTrust: boolean; readonly nowMs: number },
): ImportResult {
  const parsed = parseTrustFile(bytes, file, "ATTESTED");
  if (!parsed.ok) return parsed;
  const lines = parsed.document.problems.map((problem) => `left out: ${problem}`);
  let result = store;
  for (const peer of parsed.document.peers.values()) {
    const tier = how.acceptWireTrust ? atMostAttested(peer.tier) : "UNTRUSTED";
    const taken = importPeer(result, peer, tier, how.nowMs);
    if (taken.ok) result = taken.store;
    lines.push(taken.ok ? `${peer.handle}: ${taken.line}` : `${peer.handle}: ${taken.detail}`);
  }
  // However many steps it took, it is one change to the store.
  if (result !== store) result = { ...result, version: store.version + 1 };
  return { ok: true, store: result, lines };
}

function importPeer(
  store: TrustStore,
  offered: Peer,
  tier: Tier,
  nowMs: number,
):
  | { readonly ok: true; readonly store: TrustStore; readonly line: string }
  | { readonly ok: false; readonly detail: string } {
  const active = offered.keys.filter((key) => key.active);
  if (active.length === 0) return { ok: false, detail: "has no active key; nothing to pin" };
  const isNew = (store.peers.get(offered.handle)?.keys.length ?? 0) === 0;
  const now = new Date(nowMs).toISOString();
  let current = store;
  const add = isNew ? acceptKey : pin;
  for (const { key, addedAt } of active) {
    const added: StoreChange = add(current, offered.handle, key, addedAt || now);
    if (!added.ok) return added;
    current = added.store;
  }
  if (!isNew && !isProvenBy(store.peers.get(offered.handle), active, tier)) {
    return { ok: true, store: current, line: "pinned already; unchanged" };
  }
  const raised = setTier(current, offered.handle, tier, nowMs);
  if (!raised.ok) return raised;
  const line = `pinned ${active.map((key) => key.keyId).join(", ")} at ${tier}`;
  return { ok: true, store: raised.store, line };
}

/** Pinned by a card alone, and the file, which the operator believes, speaks of the same keys. */
function isProvenBy(peer: Peer | undefined, offered: readonly PinnedKey[], tier: Tier): boolean {
  if (peer?.tier !== "UNTRUSTED" || tier === "UNTRUSTED") return false;
  return peer.keys.every(({ key, active }) => {
    return active && offered.some((other) => Buffer.compare(other.key, key) === 0);
  });
}

function atMostAttested(tier: Tier | undefined): Tier {
  if (tier === undefined) return "UNTRUSTED";
  return compareTiers(tier, "ATTESTED") > 0 ? "ATTESTED" : tier;
}
