import { placeJson, type PlaceJson } from "../../wire/places.ts";
import type { PrivateTrust } from "../config/private-trust.ts";
import { askState } from "../duties/keys.ts";
import type { Known } from "../duties/duty.ts";
import type { KeyAction } from "../../store/keys.ts";

/** Our own keys on this wire, and what we have asked our peers about them. Spec 2.5. */
export interface KeysView {
  /** Id of the key that we sign with. */
  current: string;
  /** When we began to sign with it; null: with the first line. */
  since: string | null;
  /** The key that waits until every peer has acked it. */
  next: string | null;
  /** Keys that we sign with no longer and that peers still believe. */
  earlier: string[];
  asked: KeyRequestView[];
}

export interface KeyRequestView {
  place: PlaceJson;
  event_id: string;
  action: KeyAction;
  key_id: string;
  /** Who has to agree. */
  required: string[];
  status: "open" | "ratified" | "rejected" | "reverted" | "disputed";
}

const STATUS = {
  pending: "open",
  approved: "ratified",
  rejected: "rejected",
  ended: "reverted",
  disputed: "disputed",
} as const;

/** `deaddrop key show`. */
export function keysView(known: Known, trust: PrivateTrust): KeysView {
  const { keyId: current } = trust.identity.signer;
  const keys = trust.store.peers.get(known.place.self)?.keys ?? [];
  const since = keys.find(({ keyId }) => keyId === current)?.addedAt ?? "";
  const earlier = keys.filter(({ keyId, active }) => active && keyId !== current);
  return {
    current,
    since: since === "" ? null : since,
    next: trust.nextIdentity?.signer.keyId ?? null,
    earlier: earlier.map(({ keyId }) => keyId),
    asked: known.store.keyChanges.proposals().flatMap(({ n, action, keyId }) => {
      const asked = askState(known, n);
      if (asked === undefined) return [];
      const { place, parties, is } = asked;
      return {
        ...{ place: placeJson(place), event_id: place.id, action, key_id: keyId },
        ...{ required: [...parties], status: STATUS[is] },
      };
    }),
  };
}
