import type { AgentState } from "../protocol/env.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Draft } from "../wire/compose.ts";
import type { HoldsView } from "./holds.ts";
import type { ViewName, ViewParameters, Views } from "./views.ts";

/**
 * What commands, MCP and the library say to an agent, whether its daemon answers over the socket
 * or the agent is opened in this process for the moment of the call. Spec 4.1, 4.4.
 * Views are plain JSON in snake_case and are what `--json` prints: fields may be added, never
 * renamed or removed. Times are ISO-8601 in UTC. Lists are oldest first.
 */
export interface Client {
  readonly handle: string;
  readonly wireDir: string;
  readonly viaDaemon: boolean;
  /** All or nothing, one group. Throws DeaddropError when nothing was sent. */
  send(drafts: readonly Draft[]): Promise<SendAnswer>;
  view<N extends ViewName>(name: N, ...args: ViewParameters<N>): Promise<Views[N]>;
  markRead(ids: readonly string[] | "all"): Promise<{ read: number }>;
  setStatus(status: StatusChange): Promise<void>;
  /** The operator's word: a peer's held logs are taken again. Answers what was held. */
  resetPeer(peer: string): Promise<HoldsView>;
  /** The operator's word that the other copy of our key is stopped: we write again. */
  reclaim(): Promise<ReclaimAnswer>;
  /** Takes in what is new in the peers' logs now. */
  tick(): Promise<void>;
  /** Reads configuration, pins and tiers again after the operator has changed them. */
  reload(): Promise<void>;
  close(): void;
}

export type { AgentState } from "../protocol/env.ts";

/** Where a client belongs. `peers` stands in for a roster on wires that declare none (1.1). */
export interface ClientPlace {
  wireDir: string;
  handle: string;
  env?: NodeJS.ProcessEnv;
  peers?: readonly string[];
}

export interface StatusChange {
  state?: AgentState;
  lastAction?: string;
  headsDown?: boolean;
}

/** After what our logs go on now, and what was promised and has lost its place in them. */
export interface ReclaimAnswer {
  logs: { log: string; seq: number; event_id: string }[];
  given_up: { log: string; seq: number; event_id: string }[];
  /** Where the lines that were given up are kept. */
  kept_in: string | null;
}

/** `queued`: durable here and going out by itself; do not send it again. Spec 4.1. */
export interface SendAnswer {
  outcome: "sent" | "queued";
  messages: SentLine[];
  /** Who has announced a tier of ours at which it refuses such lines; absent when nobody has. */
  refused_by?: TierRefusal[];
}

/** A recipient that has not verified us, by its own word. Spec 2.3. */
export interface TierRefusal {
  peer: string;
  /** What we are there. */
  tier: Tier;
}

export interface SentLine {
  event_id: string;
  log: string;
  seq: number;
  timestamp: string;
  correlation_id: string;
  to: string[];
}
