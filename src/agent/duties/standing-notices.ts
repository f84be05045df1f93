import { trouble } from "../../api/troubles.ts";
import { isHeld } from "../answers/listed.ts";
import { datesAhead } from "../answers/troubles.ts";
import { presence } from "../../protocol/beats/life.ts";
import { safeModeEnd } from "../../protocol/escalations/safe-mode-end.ts";
import type { Matter } from "../../store/notices.ts";
import type { StoreWriter } from "../../store/store.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import type { Known } from "./duty.ts";
import { occasion } from "./notice-words.ts";

// What lasts, and is told when it begins and when it ends: `meta` has what the agent was told last.

const SAFE_MODE = "notices safe mode";
const MEMBERS = "notices members";
const PEERS = "notices peers";
/** Handles that one text names. */
const MOST_NAMED = 8;

/** Of several escalations one is told at a time: when it ends, another one may go on. */
export function tellSafeMode(known: Known, into: StoreWriter, nowMs: number): void {
  const { store, place } = known;
  const mode = known.safeMode;
  const told = store.meta(SAFE_MODE) ?? "";
  const about = mode?.escalation_id ?? "";
  if (about === told) return;
  into.setMeta(SAFE_MODE, about);
  if (mode === undefined) {
    const text = "Safe mode has ended: all messages are sent again.";
    store.notices.add({ kind: "safe_mode_ended", about: told, text, peer: undefined }, nowMs);
    return;
  }
  const { author, of: silent } = mode;
  const ends = safeModeEnd(mode, place.self, "agent");
  const { detail, end } = trouble("safe_mode", { author, silent, end: ends });
  const text = `Safe mode ${told === "" ? "has begun" : "goes on"}: ${detail}; ${end}.`;
  store.notices.add({ kind: "safe_mode_begun", about, text, peer: undefined }, nowMs);
}

/** Who has joined and left, and that two changes follow the same one. Spec 3.11. */
export function tellMembers(
  { store, place, roster }: Pick<Known, "store" | "place" | "roster">,
  into: StoreWriter,
  { isNews, nowMs }: { readonly isNews: boolean; readonly nowMs: number },
): void {
  const now = [...roster.roster.keys()].toSorted();
  const said = store.meta(MEMBERS);
  const told = said === undefined ? now : (JSON.parse(said) as readonly string[]);
  if (JSON.stringify(now) !== said) into.setMeta(MEMBERS, JSON.stringify(now));
  if (!isNews) return;
  const joined = now.filter((handle) => !told.includes(handle));
  const left = told.filter((handle) => !roster.roster.has(handle));
  const [first] = [...joined, ...left].filter((handle) => handle !== place.self);
  if (first !== undefined) {
    const parts = [
      ...(joined.length === 0 ? [] : [`${list(joined)} joined`]),
      ...(left.length === 0 ? [] : [`${list(left)} left`]),
    ];
    const text = `The members of this wire have changed: ${parts.join(", ")}. \`deaddrop members\` lists them.`;
    const about = occasion(first, nowMs);
    store.notices.add({ kind: "members_changed", about, text, peer: first }, nowMs);
  }
  if (!roster.isForked) return;
  const about = typeof roster.after === "number" ? `epoch ${roster.after}` : roster.after.id;
  const { detail, end } = trouble("roster_forked", {});
  const text = `${detail}: ${end}.`;
  store.notices.add({ kind: "roster_forked", about, text, peer: undefined }, nowMs);
}

type PeerFacts = Pick<Known, "store" | "place" | "members" | "knownMs">;

/** How a peer is, as far as our agent may have to wait for it; well when it is not listed. */
type Standing = "held" | "silent";
/** Rounds are not further apart while the process runs. */
const MOST_APART_MS = 2 * MINUTE_MS;

/** Whether our agent knows that a peer is silent. */
export function isToldSilent({ store }: Pick<Known, "store">, peer: string): boolean {
  return readStandings(store.meta(PEERS) ?? "{}").get(peer) === "silent";
}

function readStandings(said: string): Map<string, Standing> {
  return new Map(Object.entries(JSON.parse(said) as Record<string, Standing>));
}

/** Peers that are held, silent or back, while anything is owed between the two. */
export class PeerNotices {
  /** Since when we listen to a peer that was read to its end: nobody is silent before that. Wall ms. */
  readonly #listensMs = new Map<string, number>();
  #lookedMs = -Infinity;

  tell(known: PeerFacts, into: StoreWriter, nowMs: number): void {
    const { store, place } = known;
    // We were suspended, or our clock was set.
    if (Math.abs(nowMs - this.#lookedMs) > MOST_APART_MS) this.#listensMs.clear();
    this.#lookedMs = nowMs;
    const said = store.meta(PEERS) ?? "{}";
    const told = readStandings(said);
    const now = new Map<string, Standing>();
    for (const peer of known.members.keys()) {
      if (peer === place.self) continue;
      const before = told.get(peer);
      const standing = this.#standing(known, peer, before, nowMs);
      if (standing !== undefined) now.set(peer, standing);
      if (standing === before) continue;
      const matter = matterOf(known, peer, standing, nowMs);
      if (matter !== undefined) store.notices.add(matter, nowMs);
      // It will not close what all have agreed to.
      if (standing === "silent") store.notices.hasten(peer);
    }
    const after = JSON.stringify(Object.fromEntries(now));
    if (after !== said) into.setMeta(PEERS, after);
  }

  #standing(
    known: PeerFacts,
    peer: string,
    before: Standing | undefined,
    nowMs: number,
  ): Standing | undefined {
    const { store, place } = known;
    if (isHeld(known, peer)) return "held";
    if (known.knownMs(peer) === undefined) return before === "held" ? undefined : before;
    const listensMs = this.#listensMs.get(peer) ?? nowMs;
    this.#listensMs.set(peer, listensMs);
    const life = store.beats(place.self).life(peer);
    const since = life && { ...life, receivedMs: Math.max(life.receivedMs, listensMs) };
    const is = presence(since, place.tiers, nowMs);
    if (is === "silent") return datesAhead(known, peer) === undefined ? "silent" : before;
    return before === "held" || is === "online" ? undefined : before;
  }
}

function matterOf(
  { store, place }: PeerFacts,
  peer: string,
  standing: Standing | undefined,
  nowMs: number,
): Matter | undefined {
  const byIt = store.owed.count(peer, place.self);
  const byUs = store.owed.count(place.self, peer);
  if (byIt + byUs === 0) return undefined;
  const owed = [
    ...(byIt === 0 ? [] : [`it owes you ${answers(byIt)}`]),
    ...(byUs === 0 ? [] : [`you owe it ${answers(byUs)}`]),
  ].join(" and ");
  const about = occasion(peer, nowMs);
  switch (standing) {
    case "held": {
      const text = `${trouble("peer_held", { peer }).detail}, and ${owed}.`;
      return { kind: "peer_held", about, text, peer };
    }
    case "silent": {
      const sinceMs = store.beats(place.self).life(peer)?.receivedMs ?? nowMs;
      const { detail } = trouble("peer_silent", { peer });
      const text = `${detail}; its last heartbeat came at ${new Date(sinceMs).toISOString()}, and ${owed}.`;
      return { kind: "peer_silent", about: occasion(peer, sinceMs), text, peer };
    }
    case undefined:
      return { kind: "peer_back", about, text: `${peer} is back, and ${owed}.`, peer };
  }
}

function answers(count: number): string {
  return count === 1 ? "1 answer" : `${count} answers`;
}

function list(handles: readonly string[]): string {
  const more = handles.length - MOST_NAMED;
  const named = handles.slice(0, MOST_NAMED).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}
