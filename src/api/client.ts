import type { AgentState } from "../protocol/env.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Ask } from "./operations.ts";
import type { ViewName, ViewParameters, Views } from "./views.ts";

/** A way to an agent: its daemon's socket, or the agent opened in this process for each call. */
export interface AgentReach {
  readonly viaDaemon: boolean;
  /** Any operation of the table, e.g. `ask("read", { ids })`. Throws DeaddropError. */
  readonly ask: Ask;
  close(): void;
}

/**
 * What commands, MCP and the library say to an agent, whichever way it is reached. Spec 4.1, 4.4.
 * Views are plain JSON in snake_case and are what `--json` prints: fields may be added, never
 * renamed or removed. Times are ISO-8601 in UTC. Lists are oldest first.
 */
export interface Client extends AgentReach {
  readonly handle: string;
  readonly wireDir: string;
  /** The operation "view", with the type of that view. */
  view<N extends ViewName>(name: N, ...args: ViewParameters<N>): Promise<Views[N]>;
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
