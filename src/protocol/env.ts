import type { Domain } from "../trust/policy/config.ts";
import type { HeartbeatTier, Transition } from "../trust/policy/heartbeat-tiers.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Layout } from "../wire/layout.ts";
import type { AnswerTimes } from "../wire/limits.ts";
import type { OwnKeys } from "./keys/own-keys.ts";

export type { HeartbeatTier };
export const AGENT_STATES = ["idle", "busy", "blocked", "paused"] as const;
export type AgentState = (typeof AGENT_STATES)[number];

/** Milliseconds between the beats of each tier. Spec 3.1. */
export type Cadences = Readonly<Record<HeartbeatTier, number>>;

/** The domains of the pinned configuration, by name. Spec 3.6. */
export type Domains = ReadonlyMap<string, Domain>;

/** How far an agent is trusted. Spec 2.3. */
export interface Standing {
  /** Blocked agents, and those of a tier that does not exist, have none. */
  readonly tier: Tier | undefined;
  /** Since when it is ATTESTED or TRUSTED, in ms. */
  readonly sinceMs: number | undefined;
  /** Since when it has this very tier, in ms. */
  readonly setAtMs?: number | undefined;
  /** Counted so far. */
  readonly reciprocations?: number;
}

/** What the fold knows of the world besides the events; the same for all of one wire's agents. */
export interface Env {
  readonly self: string;
  readonly layout: Layout;
  readonly policy: WirePolicy;
  tierOf(handle: string): Standing;
  /** Our own keys, where they may change. Spec 2.5. */
  readonly ownKeys?: OwnKeys;
  readonly reading: ReadingProgress;
  /** The proposal by which members changed last, by the pinned configuration. Spec 3.11. */
  readonly membersChangedBy?: string | undefined;
}

/** The domains whose owners are members: who left grants nothing and is asked for nothing. Spec 1.1. */
export function domainsOwned(domains: Domains, { members, left }: Layout): Domains {
  if (left.size === 0) return domains;
  return new Map([...domains].filter(([, { owner }]) => members.includes(owner)));
}

/** What of the pinned configuration the protocol goes by. */
export interface WirePolicy {
  readonly domains: Domains;
  readonly cadences: Cadences;
  readonly answerTimes: AnswerTimes;
  /** Between the tiers, by the pinned `tiers.json`; the defaults when absent. */
  readonly transitions?: readonly Transition[];
}

/** What is unread, and why. */
export interface ReadingProgress {
  /** Peers whose lines we do not take until the operator decides. */
  readonly heldPeers: ReadonlySet<string>;
  /** Whether we ourselves leave lines of that log unread: its author is held, or over a limit. */
  holdsBack(log: string): boolean;
  /**
   * Whether we have read all that was in that log at that moment (wall ms) at least. A log that comes
   * from another machine is read that far once a fetch that began no earlier has ended, and what it
   * brought is read; -Infinity asks for any fetch. Spec 5.
   */
  caughtUp(log: string, momentMs: number): boolean;
}

export interface Now {
  readonly wallMs: number;
  readonly monoMs: number;
}
