import { fromPlain } from "../../wire/json/json.ts";
import { logsTo } from "../../wire/layout.ts";
import { acceptsType, tierNamed, type Tier } from "../../trust/tiers.ts";
import { isForUs } from "../addressing.ts";
import { textField } from "../body.ts";
import type { Effect } from "../effects.ts";
import type { CoreEvent } from "../events.ts";
import type { Env } from "../env.ts";

/** The tiers that agents have announced to each other. Spec 2.3. */
export interface AnnouncementsState {
  /** Peers whose lines to us were refused, or wait, for their tier. */
  readonly refused: Set<string>;
  /** The tier that we told a peer last. */
  readonly said: Map<string, string>;
  /** The tier that a peer gives us, by its last announcement. */
  readonly given: Map<string, Tier>;
}

export function emptyAnnouncements(): AnnouncementsState {
  return { refused: new Set(), said: new Map(), given: new Map() };
}

export function applyAnnouncements(state: AnnouncementsState, event: CoreEvent, env: Env): void {
  if (event.kind === "held_back" && event.because === "comparison") {
    const { owner } = env.layout.logs.get(event.log) ?? {};
    if (owner !== undefined) state.refused.add(owner);
  }
  if (event.kind !== "line") return;
  const { type, from, body } = event.message;
  if (event.refused === "tier_refused" && event.live && isForUs(event, env)) {
    state.refused.add(from);
  }
  if (type !== "trust_tier_announcement" || event.refused !== undefined) return;
  const about = textField(body, "about");
  const tier = textField(body, "tier");
  if (about === undefined || tier === undefined) return;
  if (event.own && env.layout.roster.includes(about)) state.said.set(about, tier);
  const given = tierNamed(tier);
  if (!event.own && about === env.self && given !== undefined) state.given.set(from, given);
}

/**
 * Whether our mail to a peer waits there for the comparison of digits: the peer has announced so, or it
 * has said nothing, and we have not compared them either. Spec 2.4.
 */
export function awaitsComparison(state: AnnouncementsState, env: Env, peer: string): boolean {
  if (peer === env.self || !env.layout.members.includes(peer)) return false;
  return (state.given.get(peer) ?? env.tierOf(peer).tier) === "UNTRUSTED";
}

/** Which of these recipients have announced that they refuse lines of that type from us. */
export function refusalsOf(
  state: AnnouncementsState,
  env: Env,
  type: string,
  to: readonly string[],
): { peer: string; tier: Tier }[] {
  const isAddressed = (peer: string) => to.includes("*") || to.includes(peer);
  return [...state.given]
    .filter(([peer, tier]) => env.layout.members.includes(peer) && !acceptsType(tier, type))
    .filter(([, tier]) => tier !== "UNTRUSTED")
    .flatMap(([peer, tier]) => (isAddressed(peer) ? [{ peer, tier }] : []));
}

/**
 * A tier refusal is answered once, and again only when the tier has changed: then the refused peer
 * learns that it may send. Spec 2.3.
 */
export function decideAnnouncements(state: AnnouncementsState, env: Env): Effect[] {
  const peers = new Set([...state.refused, ...state.said.keys()]);
  return [...peers].flatMap((peer) => {
    const { tier } = env.tierOf(peer);
    const isAsked = env.layout.members.includes(peer) && !env.reading.heldPeers.has(peer);
    if (tier === undefined || state.said.get(peer) === tier || !isAsked) return [];
    return logsTo(env.layout, env.self, [peer]).map(({ name }): Effect => ({
      do: "send",
      log: name,
      draft: {
        to: [peer],
        type: "trust_tier_announcement",
        subject: `${peer} is ${tier} here`,
        body: fromPlain({ about: peer, tier }),
        priority: "low",
      },
    }));
  });
}
