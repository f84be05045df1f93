import type { Draft } from "../wire/compose.ts";
import type { UnsignedDecision } from "./decisions/record/decision-record.ts";
import type { AgentState, HeartbeatTier } from "./env.ts";
import type { NotWokenBody } from "./heartbeats/not-woken.ts";
import type { NoticeNews } from "./agent-notices/agent-notice.ts";

/** What `decide` wants done, as data. The same effect comes again until its event is folded. */
export type Effect =
  /** Our heartbeat in that log. */
  | { readonly do: "beat"; readonly log: string; readonly body: HeartbeatBody }
  /** A message of the daemon's own. */
  | { readonly do: "send"; readonly draft: Draft; readonly log: string }
  /** One line for decisions.jsonl, unless the file has a proved entry for the proposal. */
  | { readonly do: "record"; readonly decision: UnsignedDecision }
  /** One line for incident_log.jsonl, unless the file has that id. */
  | { readonly do: "mirror"; readonly id: string; readonly raw: string }
  /** Something for our own agent, and what it is told of that lasts. Spec 3.12. */
  | { readonly do: "notify"; readonly news: NoticeNews }
  /** The operator's stop hook, for an agent that has approved its shutdown. `by`: that approval. */
  | {
      readonly do: "stop_agent";
      readonly by: string;
      readonly request: string;
      readonly peer: string;
    }
  /** Something for our own operator. */
  | { readonly do: "tell"; readonly incident: AutomaticIncident };

/** Spec 3.5: it asks for no ack, never escalates, and starts no safe mode. */
export interface AutomaticIncident {
  /** The same matter has the same key, so that it is told once. */
  readonly key: string;
  readonly cause: string;
  readonly peer?: string;
  readonly subject: string;
  readonly detail: string;
  /** Whether it gets a line in incident_log.jsonl too. */
  readonly concernsWire: boolean;
}

/** The body of our heartbeats. Spec 3.1. */
export interface HeartbeatBody {
  readonly wakeup_count: number;
  readonly state: AgentState;
  readonly last_action?: string;
  readonly next_eta: string;
  readonly inbox_unread_count: number;
  readonly tier: HeartbeatTier;
  readonly agent_last_seen?: string;
  /** By peer. Spec 8.3. */
  readonly not_woken?: Readonly<Record<string, NotWokenBody>>;
  readonly heads: Readonly<Record<string, HeadBody>>;
}

/** How far we have read one peer log. Spec 3.2. */
export interface HeadBody {
  readonly lines: number;
  readonly seq?: number;
  readonly event_id?: string;
  readonly read_lines: number;
  readonly refused: readonly (readonly [first: number, last: number, reason: string])[];
}
