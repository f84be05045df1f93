import { DeaddropError } from "../../api/errors.ts";
import { changePrivateTrust, readPrivateTrust } from "../../agent/config/trust-store.ts";
import {
  acceptKey,
  endRevocation,
  noteCard,
  pin,
  proveKey,
  setMayBeUnsigned,
  setTier,
  type StoreChange,
} from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import type { Tier } from "../../trust/tiers.ts";
import { agentPlace, reloadDaemon } from "../agent-place.ts";
import type { ConsentFlags } from "../input/confirm.ts";
import type { Cli, GlobalFlags } from "../context.ts";
import { emit } from "../output/output.ts";
import { trustRows } from "./list.ts";
import { requirePeer } from "./peer.ts";
import { askForPin, isCompared, isProof, subjectOf, type Subject } from "./pin-subject.ts";

export interface PinFlags extends GlobalFlags, ConsentFlags {
  tier?: Tier;
  fingerprint?: string;
  unsigned?: boolean;
}

/** `deaddrop trust pin`: whose key it is, and how far it is believed, by the operator's decision. */
export async function run(
  cli: Cli,
  handle: string,
  source: string | undefined,
  flags: PinFlags,
): Promise<void> {
  const at = agentPlace(cli, flags);
  // Another program of ours may write unsigned lines into our own log.
  if (flags.unsigned !== true || handle !== at.place.handle) requirePeer(at, handle);
  const key = flags.unsigned === true ? undefined : await subjectOf(cli, at, handle, source);
  const compared = key !== undefined && isCompared(key, at, flags);
  const unsigned = flags.unsigned === true;
  const how = { tier: flags.tier, compared, unsigned, nowMs: cli.clock.nowMs() };
  const change = (current: TrustStore) => pinned(current, handle, key, how);
  const planned = change(readPrivateTrust(at.host.disk, at.place.paths));
  if (!planned.ok) throw new DeaddropError("refused", planned.detail);
  await askForPin(cli, at, handle, key, flags);
  changePrivateTrust(at.host.disk, at.place.paths, change);
  await reloadDaemon(at.place.paths);
  const row = trustRows(agentPlace(cli, flags)).find((each) => each.handle === handle);
  const with_ = key === undefined ? "and may write unsigned lines" : `with ${key.keyId}`;
  emit(cli, flags, row, (paint) => `${paint("bold", handle)} is ${row?.tier ?? ""} ${with_}`);
}

interface HowToPin {
  readonly tier: Tier | undefined;
  readonly compared: boolean;
  readonly unsigned: boolean;
  readonly nowMs: number;
}

/**
 * Pure: the key beside those pinned, the tier when one is named, where a card came from. A hold over
 * a lost key ends once the new one has been compared. Spec 2.5.
 */
function pinned(
  store: TrustStore,
  handle: string,
  key: Subject | undefined,
  { tier, compared, unsigned, nowMs }: HowToPin,
): StoreChange {
  const peer = store.peers.get(handle);
  const isNew = (peer?.keys.length ?? 0) === 0;
  const at = new Date(nowMs).toISOString();
  // A card that nobody has compared is not kept beside a pin, not even one made this moment.
  const accept = key?.from === "card" && !compared ? pin : acceptKey;
  // Somebody who stole the lost key may have brought in others.
  const isReplaced = compared && peer?.held?.cause === "key_revoked";
  const proves = isProof(tier) || isReplaced;
  let result: StoreChange = { ok: true, store };
  if (key !== undefined && proves) result = proveKey(store, handle, key.key, at);
  else if (key !== undefined) result = accept(store, handle, key.key, at);
  if (result.ok && tier !== undefined) {
    result = setTier(result.store, handle, tier, nowMs, key === undefined && isNew);
  }
  if (result.ok && key?.card !== undefined) {
    result = noteCard(result.store, handle, { ...key.card, at });
  }
  if (result.ok) result = setMayBeUnsigned(result.store, handle, unsigned);
  return result.ok && compared ? endRevocation(result.store, handle) : result;
}
