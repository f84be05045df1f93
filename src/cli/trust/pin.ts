import {
  acceptKey,
  changeInOrder,
  endRevocation,
  noteCard,
  pin,
  proveKey,
  setFlags,
  setTier,
  type StoreChange,
  type TrustChange,
} from "../../trust/pins.ts";
import type { TrustStore } from "../../trust/store.ts";
import type { Tier } from "../../trust/tiers.ts";
import { agentPlace } from "../agent-place.ts";
import { define } from "../command.ts";
import { emit } from "../output/output.ts";
import { trustRow } from "./list.ts";
import { changeTrust, requirePeer } from "./peer.ts";
import {
  PIN_OPTIONS,
  askForPin,
  isCompared,
  isProof,
  subjectOf,
  type Subject,
} from "./pin-subject.ts";

/** `deaddrop trust pin`: whose key it is, and how far it is believed, by the operator's decision. */
export const pinPeer = define({
  about: "pin a peer's key, or raise its tier, after comparing the fingerprint",
  args: {
    "<peer>": "whose key it is",
    "[key-or-card]":
      "base64, a .pub.json, a card or its https URL (default: the pinned key, else the wire's claim)",
  },
  options: PIN_OPTIONS,
  examples: [
    "deaddrop trust pin scribe --tier VERIFIED",
    "deaddrop trust pin scribe https://scribe.example/card.json",
  ],
  async run(cli, flags, { peer: handle, keyOrCard: source }) {
    const at = agentPlace(cli, flags);
    // Another program of ours may write unsigned lines into our own log.
    if (flags.unsigned !== true || handle !== at.place.handle) requirePeer(at, handle);
    const key = flags.unsigned === true ? undefined : await subjectOf(cli, at, handle, source);
    const compared = key !== undefined && isCompared(key, at, flags);
    const unsigned = flags.unsigned === true;
    const how = { tier: flags.tier, compared, unsigned, nowMs: cli.clock.nowMs() };
    const change = (current: TrustStore) => pinned(current, handle, key, how);
    await changeTrust(at, change, () => askForPin(cli, at, handle, key, flags));
    const row = trustRow(cli, flags, handle);
    const with_ = key === undefined ? "and may write unsigned lines" : `with ${key.keyId}`;
    emit(cli, flags, row, (paint) => `${paint("bold", handle)} is ${row?.tier ?? ""} ${with_}`);
  },
});

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
  const changes: TrustChange[] = [];
  if (key !== undefined)
    changes.push((current) => (proves ? proveKey : accept)(current, handle, key.key, at));
  if (tier !== undefined)
    changes.push((current) => setTier(current, handle, tier, nowMs, key === undefined && isNew));
  const card = key?.card;
  if (card !== undefined) changes.push((current) => noteCard(current, handle, { ...card, at }));
  changes.push((current) => setFlags(current, handle, { mayBeUnsigned: unsigned }));
  if (compared) changes.push((current) => endRevocation(current, handle));
  return changeInOrder(store, changes);
}
