import type { ReclaimAnswer } from "../agent/lines/operator-decisions.ts";
import type { SentLine } from "../agent/answers/sent.ts";
import type { ArchivedFile } from "../carriers/archive-year.ts";
import type { SendKey } from "../store/sends.ts";
import type { Tier } from "../trust/tiers.ts";
import type { Ask } from "./operations.ts";
import type { ViewName, ViewParameters, Views } from "./views.ts";

/** A way to an agent: its daemon's socket, or the agent opened in this process for each call. */
export interface AgentReach {
  readonly viaDaemon: boolean;
  /** Why this process can only read; undefined where it can do all. */
  readonly readOnly?: Error | undefined;
  /** Any operation of the table, e.g. `ask("read", { ids })`. Throws DeaddropError. */
  readonly ask: Ask;
  close(): void;
}

/**
 * What commands, MCP and the library use, in whichever way they reach the agent. Spec 4.1, 8.6.
 * Views are plain JSON in snake_case and are what `--json` prints: fields may be added, never
 * renamed or removed. Times are ISO-8601 in UTC. Lists are oldest first.
 */
export interface Client extends AgentReach {
  readonly handle: string;
  readonly wireDir: string;
  /** The operation "view", with the type of that view. */
  view<N extends ViewName>(name: N, ...args: ViewParameters<N>): Promise<Views[N]>;
}

export type { ArchivedFile, ReclaimAnswer, SentLine };
/** A name that its caller gives a send, and what it sends. Spec 8.1. */
export type RequestKey = SendKey;

/** Which agent a client is of. `peers` replaces the roster on wires that declare none (1.1). */
export interface ClientPlace {
  wireDir: string;
  handle: string;
  env?: NodeJS.ProcessEnv;
  peers?: readonly string[];
}

/** What became of each file when a year was archived. Spec 1.10. */
export interface ArchiveAnswer {
  readonly year: number;
  readonly files: readonly ArchivedFile[];
}

/** It is durable here and goes out by itself. Spec 4.7. */
export interface SendAnswer {
  outcome: "sent";
  messages: SentLine[];
  /**
   * Recipients that have announced a tier of ours at which they refuse such lines; absent when
   * there is none.
   */
  refused_by?: TierRefusal[];
  /** Recipients where it waits until digits are compared; absent when there is none. Spec 2.4. */
  awaits_comparison?: readonly string[];
  /** The call was carried out before, under the same key: this is what was sent then. Spec 8.1. */
  repeated?: true;
  /** It approves our shutdown: we are parked from now on. Spec 3.8. */
  parks?: true;
  /** Recipients that say that they are paused: it is stored there, and waits. Spec 3.8. */
  paused?: readonly string[];
  /** Stored, but not published yet: why. Publishing is retried. Spec 4.11. */
  unpublished?: string;
  /** Recipients whose agents are not woken for it until then (ISO-8601, UTC), as they say. Spec 8.3. */
  not_woken?: readonly { readonly peer: string; readonly until: string }[];
}

/** A recipient that has not verified us, as it has announced. Spec 2.3. */
export interface TierRefusal {
  peer: string;
  /** What we are there. */
  tier: Tier;
}
