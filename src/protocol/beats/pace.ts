import type {
  HeartbeatTier,
  HeartbeatTiers,
  Transition,
} from "../../trust/policy/heartbeat-tiers.ts";

/** How fast we beat for one peer, and what that follows from; plain JSON. Spec 4.9. */
export interface Pace {
  readonly tier: HeartbeatTier;
  /** When the running interval between two beats began, milliseconds of Unix time; null before the first. */
  readonly sinceMs: number | null;
  /** Mail went to the peer or came from it in the running interval. */
  readonly hadMail: boolean;
  /** Full intervals without mail that followed each other in this tier. */
  readonly idleCycles: number;
  /** Beats since T0 began. */
  readonly beatsAtT0: number;
  /** Threads of the open conflicts that led to T0; empty when the agent asked for it. */
  readonly conflicts: readonly string[];
}

export const NEW_PACE: Pace = {
  ...{ tier: "T1_active", sinceMs: null, hadMail: false },
  ...{ idleCycles: 0, beatsAtT0: 0, conflicts: [] },
};

/** What changes a pace. */
export type PaceEvent =
  | { readonly is: "beat"; readonly atMs: number; readonly hasUnread: boolean }
  | { readonly is: "mail" | "state_change" | "heads_down" }
  | { readonly is: "conflict"; readonly thread: string }
  /** After each change of conflicts and of the agent's own state: what is left of them. */
  | {
      readonly is: "conflicts";
      readonly open: (thread: string) => boolean;
      readonly isHeadsDown: boolean;
    };

const HEADS_DOWN: HeartbeatTier = "T0_HEADS_DOWN";
const MOST_T0_BEATS = 20;
/** An interval of at least this share of the cadence is a full one: beats jitter by 5 %. */
const FULL_INTERVAL = 0.9;
/** Conflicts remembered for one peer; more of them are one long conflict. */
const MOST_CONFLICTS = 64;

/** The pace after an event. Spec 4.9. */
export function changePace(pace: Pace, event: PaceEvent, tiers: HeartbeatTiers): Pace {
  switch (event.is) {
    case "beat":
      return afterBeat(endLongT0(pace), event, tiers);
    case "mail":
      return move({ ...pace, hadMail: true, idleCycles: 0 }, "non_heartbeat_message", tiers);
    case "state_change":
      return move(pace, "state_change_posted", tiers);
    case "heads_down":
      return { ...move(pace, "conflict_or_multi_edit", tiers), beatsAtT0: 0 };
    case "conflict": {
      const { tier, ...rest } = move(pace, "conflict_or_multi_edit", tiers);
      const conflicts = [...new Set([...pace.conflicts, event.thread])].slice(0, MOST_CONFLICTS);
      return { ...rest, tier, beatsAtT0: 0, conflicts: tier === HEADS_DOWN ? conflicts : [] };
    }
    case "conflicts": {
      const conflicts = pace.conflicts.filter(event.open);
      const isOver = pace.conflicts.length > 0 && conflicts.length === 0 && !event.isHeadsDown;
      return isOver && pace.tier === HEADS_DOWN ? enter(pace, "T1_active") : { ...pace, conflicts };
    }
  }
}

/** The tier at which we beat: the fastest of those for our peers. */
export function fastestTier(
  paces: Iterable<Pace>,
  { cadencesMs }: Pick<HeartbeatTiers, "cadencesMs">,
): HeartbeatTier {
  let fastest: HeartbeatTier | undefined;
  for (const { tier } of paces)
    if (fastest === undefined || cadencesMs[tier] < cadencesMs[fastest]) fastest = tier;
  return fastest ?? NEW_PACE.tier;
}

function endLongT0(pace: Pace): Pace {
  if (pace.tier !== HEADS_DOWN) return pace;
  const beatsAtT0 = pace.beatsAtT0 + 1;
  return beatsAtT0 >= MOST_T0_BEATS ? enter(pace, "T1_active") : { ...pace, beatsAtT0 };
}

/** An early beat neither ends an interval nor begins one. */
function afterBeat(
  pace: Pace,
  { atMs, hasUnread }: { readonly atMs: number; readonly hasUnread: boolean },
  tiers: HeartbeatTiers,
): Pace {
  const { sinceMs } = pace;
  if (sinceMs === null || atMs < sinceMs) return { ...pace, sinceMs: atMs };
  if (atMs - sinceMs < tiers.cadencesMs[pace.tier] * FULL_INTERVAL) return pace;
  const idleCycles = pace.hadMail || hasUnread ? 0 : pace.idleCycles + 1;
  return move({ ...pace, sinceMs: atMs, hadMail: false, idleCycles }, "idle_cycles", tiers);
}

/** Follows the first transition that fits. */
function move(pace: Pace, when: Transition["when"], { transitions }: HeartbeatTiers): Pace {
  const found = transitions.find(
    (each) =>
      each.when === when &&
      (each.from.includes("*") || each.from.includes(pace.tier)) &&
      (when !== "idle_cycles" || pace.idleCycles >= (each.count ?? 1)),
  );
  return found === undefined || found.to === pace.tier ? pace : enter(pace, found.to);
}

function enter(pace: Pace, tier: HeartbeatTier): Pace {
  return { ...pace, tier, idleCycles: 0, beatsAtT0: 0, conflicts: [] };
}
