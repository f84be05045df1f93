import { trouble, type TroubleView } from "../../api/troubles.ts";
import { SHOWN_ID } from "../../protocol/escalations/safe-mode-end.ts";
import { isState } from "../../trust/tiers.ts";
import { placeJson, type Place, type PlaceJson } from "../../wire/places.ts";
import type { Known } from "../duties/duty.ts";
import type { Stop } from "../lines/carrier-reading.ts";

/** Why lines of a peer, or mail of it, do not move. Spec 1.6, 2.4. */
export interface WaitView extends TroubleView {
  since: string;
  /** Of the first line that waits for it; null: it is not known, or all wait. */
  place: PlaceJson | null;
}

/** What waits of a peer. */
export function waitsView(known: Known, peer: string): WaitView[] {
  const stop = known.lastPass?.stops.get(peer);
  return [
    ...decisionWaits(known, peer),
    ...gapWait(known, peer),
    ...(stop === undefined ? [] : [stopWait(peer, stop)]),
  ];
}

/** What the operator, or somebody's clock, has to put right: all mail behind it waits for the same. */
function decisionWaits({ store, place, world }: Known, peer: string): WaitView[] {
  const { fork } = store.chains.whole(peer);
  const rivals = fork === null ? [] : store.chains.rivals(peer, fork).slice(0, 2);
  const second = rivals[1];
  if (fork !== null && second !== undefined) {
    const lines = forkedLines(store, peer, fork);
    const forked = trouble("log_forked", { peer, seq: fork, lines });
    return [view(forked, second.receivedMs, second.place)];
  }
  const { tier, blocked, held } = place.believed(peer);
  const line = store.firstUndecided(peer);
  if (blocked || line === undefined) return [];
  const { receivedMs, sentMs, type } = line;
  if (held !== undefined) return [view(trouble("key_revoked", { peer }), receivedMs, line)];
  const isAhead = sentMs - place.limits.max_clock_skew_seconds * 1_000 > receivedMs;
  if (isAhead && sentMs > world.clock.wallMs()) {
    const difference = `a line of it is dated ${new Date(sentMs).toISOString()}, ahead of ours`;
    return [view(trouble("clock_skew", { peer, difference }), receivedMs, line)];
  }
  if (tier === "UNTRUSTED" && !isState(type))
    return [view(trouble("not_compared", { peer }), receivedMs, line)];
  const key = line.keyId ?? "its key";
  return [view(trouble("untrusted_key", { peer, key }), receivedMs, line)];
}

/** The ids of the first lines that contradict one another. */
export function forkedLines({ chains }: Known["store"], peer: string, fork: number): string {
  const rivals = chains.rivals(peer, fork).slice(0, 2);
  return rivals.map(({ place }) => place.id.slice(0, SHOWN_ID)).join(" and ");
}

function gapWait({ store }: Known, peer: string): WaitView[] {
  const sinceMs = store.chains.gapSince(peer);
  if (sinceMs === undefined) return [];
  const { seq } = store.chains.whole(peer);
  return [view(trouble("log_gap", { peer, seq }), sinceMs)];
}

function stopWait(peer: string, { code, detail: problem, sinceMs }: Stop): WaitView {
  return view(trouble(code, { peer, problem }), sinceMs);
}

function view(wait: TroubleView, sinceMs: number, place?: Place): WaitView {
  const since = new Date(sinceMs).toISOString();
  return { ...wait, since, place: place === undefined ? null : placeJson(place) };
}
