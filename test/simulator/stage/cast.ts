import type { Luck } from "../luck.ts";

/** Writes by hand, in no chain, and asks and answers all the same. */
export const PLAIN = "ann";
/** A member that writes what it likes. */
export const HOSTILE = "eve";

const HONEST = ["forge", "scribe", "quill", "anvil"] as const;

/** Who is in a run, and how lines travel there. */
export interface Cast {
  readonly honest: readonly string[];
  /** The pinned roster, and who of it chains. */
  readonly roster: ReadonlyMap<string, boolean>;
  /** An agent that is no member at first; undefined: members stay as they are. */
  readonly newcomer: string | undefined;
  readonly hasPlain: boolean;
  readonly hasHostile: boolean;
  /** Each agent has a folder of its own, between which lines are delayed, reordered, repeated and lost. */
  readonly hasHosts: boolean;
}

export function castOf(luck: Luck): Cast {
  const hasMembers = luck.chance(0.2);
  const count = luck.weighted([
    [50, 2],
    [35, 3],
    [15, 4],
  ]);
  const honest = HONEST.slice(0, hasMembers ? 4 : count);
  const newcomer = hasMembers ? honest.at(-1) : undefined;
  const hasPlain = luck.chance(0.3);
  const hasHostile = luck.chance(0.35);
  const roster = new Map([
    ...honest.filter((name) => name !== newcomer).map((name) => [name, true] as const),
    ...(hasPlain ? [[PLAIN, false] as const] : []),
    // Whom nobody has to ask can stop no change of members.
    ...(hasHostile ? [[HOSTILE, false] as const] : []),
  ]);
  return { honest, roster, newcomer, hasPlain, hasHostile, hasHosts: luck.chance(0.4) };
}
