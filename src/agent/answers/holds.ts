import { join } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { evidenceFor } from "../../storage/files/evidence.ts";
import type { TrustStore } from "../../trust/store.ts";
import { placeJson, type PlaceJson } from "../../wire/places.ts";
import { FORKS } from "../duties/evidence.ts";
import type { Known } from "../duties/duty.ts";
import { waitsView } from "./waits.ts";

/** Why lines of a peer are no mail before the operator decides. */
export interface HoldView {
  /** The line that a reset follows unless another is named; null where it names none. */
  place: PlaceJson | null;
  /** Of a fork: all lines that contradict one another, those that were taken in first before others. */
  places: PlaceJson[];
  /** `log_forked`, `clock_skew`, or what the trust store says, such as `key_revoked`. */
  cause: string;
  detail: string;
  since: string;
  /** Files that keep what was found; absolute paths. */
  evidence: string[];
}

export interface HoldsView {
  peer: string;
  /** None: the peer is not held. */
  holds: HoldView[];
  /** By the operator. */
  blocked: boolean;
  /** False when each of its keys is stopped: nothing that it writes is believed. */
  can_speak: boolean;
  /** All evidence files about it, also of what was decided before. */
  evidence: string[];
}

/** What is needed besides the store. */
export interface HoldFiles {
  readonly trust: TrustStore;
  /** The folder of evidence files. */
  readonly evidence: string;
}

/** What is held of a peer, and why. Spec 1.6, 2.4, 2.5. @throws DeaddropError: it is no peer */
export function holdsView(known: Known, files: HoldFiles, peer: string): HoldsView {
  requirePeer(known, peer);
  const { world, store } = known;
  const pinned = files.trust.peers.get(peer);
  const keys = pinned?.keys ?? [];
  const evidence = evidenceFor(world.disk, files.evidence, peer, FORKS).map((name) =>
    join(files.evidence, name),
  );
  const holds: HoldView[] = [];
  if (pinned?.held !== undefined) {
    const { cause, detail, sinceMs } = pinned.held;
    const since = new Date(sinceMs).toISOString();
    holds.push({ ...{ place: null, places: [], cause, detail, since }, evidence: [] });
  }
  const { fork } = store.chains.whole(peer);
  for (const { code, place, detail, since } of waitsView(known, peer)) {
    if (code === "clock_skew" && place !== null)
      holds.push({ place, places: [place], cause: code, detail, since, evidence: [] });
    if (code !== "log_forked" || fork === null) continue;
    const rivals = store.chains.rivals(peer, fork);
    const first = rivals.find(({ isLinked }) => isLinked);
    holds.push({
      place: first === undefined ? null : placeJson(first.place),
      places: rivals.map((each) => placeJson(each.place)),
      ...{ cause: code, detail, since },
      evidence: evidence.filter((path) => path.includes(`-${FORKS}-${fork}.`)),
    });
  }
  return {
    ...{ peer, holds, evidence, blocked: pinned?.blocked ?? false },
    can_speak: keys.length === 0 || keys.some(({ active }) => active),
  };
}

function requirePeer({ place, members, store }: Known, handle: string): void {
  const isKnown = members.has(handle) || store.chains.lastHeld(handle) > 0;
  if (isKnown && handle !== place.self) return;
  const peers = [...members.keys()].filter((each) => each !== place.self);
  throw new DeaddropError("unknown_recipient", `"${handle}" is no peer on this wire`, {
    hint: `on this wire are: ${peers.join(", ")}`,
  });
}
