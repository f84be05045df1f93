import { isState } from "../../trust/tiers.ts";
import { placeJson, type Place, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";
import type { Stop } from "../lines/carrier-reading.ts";

/**
 * Why lines of a peer, or mail of it, do not move. Spec 1.6, 2.4.
 * - "fork", "held": the operator has to decide.
 * - "comparison": nobody has compared digits with it.
 * - "key": the line is signed with a key that nobody has pinned.
 * - "ahead": the line is dated ahead of our clock.
 * - "gap": the line before it is missing.
 * - "rate", "allowance": limits of ours. "storage": our disk does not take it. "obstructed": in the place of its
 *   file is nothing that we may read.
 */
export type WaitReason = "fork" | "held" | "comparison" | "key" | "ahead" | "gap" | Stop["because"];

export interface WaitView {
  because: WaitReason;
  /** Of the first line that waits for it; null: it is not known, or all wait. */
  place: PlaceJson | null;
  detail: string;
  since: string;
}

/** What waits of a peer. */
export function waitsView(known: Known, peer: string): WaitView[] {
  const { lastPass } = known;
  const stop = lastPass?.stops.get(peer);
  return [
    ...decisionWaits(known, peer),
    ...gapWait(known, peer),
    ...(stop === undefined ? [] : [view(stop.because, undefined, stop.detail, stop.sinceMs)]),
  ];
}

/** What the operator, or somebody's clock, has to put right: all mail behind it waits for the same. */
function decisionWaits({ store, place, world }: Known, peer: string): WaitView[] {
  const { fork } = store.chains.whole(peer);
  const [first, second = first] = fork === null ? [] : store.chains.rivals(peer, fork);
  if (second !== undefined)
    return [view("fork", second.place, `${peer} has signed two lines ${fork}`, second.receivedMs)];
  const { tier, blocked, held } = place.believed(peer);
  const line = store.firstUndecided(peer);
  if (blocked || line === undefined) return [];
  const { receivedMs, sentMs, type } = line;
  if (held !== undefined)
    return [
      view("held", line, `a key of ${peer} was revoked, and no other was compared`, receivedMs),
    ];
  const isAhead = sentMs - place.limits.max_clock_skew_seconds * 1_000 > receivedMs;
  if (isAhead && sentMs > world.clock.wallMs()) {
    const detail = `it is dated ${new Date(sentMs).toISOString()}, ahead of our clock`;
    return [view("ahead", line, detail, receivedMs)];
  }
  if (tier === "UNTRUSTED" && !isState(type))
    return [view("comparison", line, `digits were not compared with ${peer}`, receivedMs)];
  return [view("key", line, `${line.keyId ?? "its key"} is not believed`, receivedMs)];
}

function gapWait({ store }: Known, peer: string): WaitView[] {
  const sinceMs = store.chains.gapSince(peer);
  if (sinceMs === undefined) return [];
  const { seq } = store.chains.whole(peer);
  return [view("gap", undefined, `lines of ${peer} behind line ${seq} are missing`, sinceMs)];
}

function view(
  because: WaitReason,
  place: Place | undefined,
  detail: string,
  sinceMs: number,
): WaitView {
  const since = new Date(sinceMs).toISOString();
  return { because, place: place === undefined ? null : placeJson(place), detail, since };
}
