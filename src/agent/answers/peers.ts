import { readBeat, type Beat } from "../../protocol/beats/beat.ts";
import { presence, type Presence } from "../../protocol/beats/life.ts";
import { tierNamed, type Tier } from "../../trust/tiers.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { textField } from "../../protocol/body.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import type { Known } from "../duties/duty.ts";
import { isHeld, isVerified, tierOf } from "./listed.ts";
import type { Recipient } from "../lines/check-drafts.ts";
import { readHeld } from "./messages.ts";
import { waitsView, type WaitView } from "./waits.ts";

/** What is known of one peer: daemon alive and agent alive apart. Spec 3.1. */
export interface PeerView {
  readonly handle: string;
  /** Null: of no tier, or blocked. */
  readonly trust_tier: Tier | null;
  /** How far it trusts us, by its last announcement. Spec 2.3. */
  readonly trusts_us: Tier | null;
  /** The heartbeat tier that the peer named last, such as "T1_active". */
  readonly heartbeat_tier: string | null;
  /** Whether its daemon is heard. Spec 3.1. */
  readonly presence: Presence;
  /** What its agent does, such as `busy`, by its last heartbeat. */
  readonly state: string | null;
  /** What its agent did last, in its own words; null: not said, or it is below VERIFIED. */
  readonly last_action: string | null;
  /** When we received its last sign of life: the daemon is alive. */
  readonly last_seen_at: string | null;
  /** When the agent itself last did something, as its beats say. */
  readonly agent_last_seen: string | null;
  /** When its next heartbeat is due. */
  readonly next_eta: string | null;
  /** We take in no more of its lines until the operator decides. */
  readonly held: boolean;
  /** Its unread messages, by its last heartbeat. */
  readonly inbox_unread_count: number | null;
  /** Lines in its name that nothing has proved to be its own. */
  readonly foreign_lines: number;
  /** Lines of its chain whose own key is not pinned here: later ones prove them. */
  readonly unpinned_lines: number;
  /** Why lines of that peer do not move. */
  readonly waits: readonly WaitView[];
}

/** Every other member, in the order of the roster. */
export function peersView(known: Known): PeerView[] {
  return otherMembers(known).map((handle) => peerView(known, handle));
}

export function otherMembers({ members, place }: Pick<Known, "members" | "place">): string[] {
  return [...members.keys()].filter((handle) => handle !== place.self);
}

/** What is known of each other member when something is sent. Spec 2.3, 3.1, 8.3. */
export function recipientsOf(
  known: Pick<Known, "store" | "place" | "members">,
): ReadonlyMap<string, Recipient> {
  return new Map(
    otherMembers(known).map((handle) => {
      const { state, notWoken } = latestBeat(known, handle)?.beat ?? {};
      const tierThere = tierNamed(known.store.tiers.given(handle) ?? "");
      const tierHere = tierOf(known, handle) ?? undefined;
      return [handle, { tierThere, tierHere, isPaused: state === "paused", notWoken }];
    }),
  );
}

function peerView(known: Known, handle: string): PeerView {
  const { store, place, world } = known;
  const believed = tierOf(known, handle);
  const life = store.beats(place.self).life(handle);
  const { body, beat } = latestBeat(known, handle) ?? {};
  const isShown = isVerified(believed);
  return {
    handle,
    trust_tier: believed,
    trusts_us: tierNamed(store.tiers.given(handle) ?? "") ?? null,
    heartbeat_tier: shownTier(beat, isShown, Object.keys(place.tiers.cadencesMs)),
    presence: presence(life, place.tiers, world.clock.wallMs()),
    state: beat?.state ?? null,
    last_action: isShown ? (beat?.lastAction ?? null) : null,
    last_seen_at: life === undefined ? null : new Date(life.receivedMs).toISOString(),
    agent_last_seen: instant(body, "agent_last_seen"),
    next_eta: instant(body, "next_eta"),
    held: isHeld(known, handle),
    inbox_unread_count: beat?.unread ?? null,
    foreign_lines: store.chains.countUnproven(handle),
    unpinned_lines: store.chains.countUnverified(handle),
    waits: waitsView(known, handle),
  };
}

/** Of a stranger only words that we know are shown. Spec 2.3. */
function shownTier(
  beat: Beat | undefined,
  isShown: boolean,
  known: readonly string[],
): string | null {
  const tier = beat?.tier;
  return tier !== undefined && (isShown || known.includes(tier)) ? tier : null;
}

/** What the latest beat of a peer says; undefined before the first. */
function latestBeat(
  { store, place }: Pick<Known, "store" | "place">,
  handle: string,
): { readonly body: JsonValue; readonly beat: Beat } | undefined {
  const n = store.beats(place.self).latest(handle);
  const line = n === undefined ? undefined : store.line(n);
  if (line === undefined) return undefined;
  const { body, sentMs } = readHeld(place.wireId, line);
  return { body, beat: readBeat(body, sentMs, place.self) };
}

/** An instant that a beat states, as it states it. */
function instant(body: JsonValue | undefined, name: string): string | null {
  const text = body === undefined ? undefined : textField(body, name);
  return text !== undefined && parseTimestamp(text) !== undefined ? text : null;
}
