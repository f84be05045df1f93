import type { RefusalReason } from "../admission/checks.ts";
import type { HoldsView, LogWaitView } from "./holds.ts";
import type { KeysView } from "../protocol/keys/key-view.ts";
import type { PeerView as PeerLife } from "../protocol/heartbeats/liveness.ts";
import type { UnownedLogs } from "../storage/unowned-logs.ts";
import type { Tier } from "../trust/tiers.ts";
import type { AgentState } from "./client.ts";

export type { KeysView } from "../protocol/keys/key-view.ts";
export type { Presence } from "../protocol/heartbeats/liveness.ts";
/** `waits`: why logs of that peer do not move; a daemon of an older version does not say. */
export type PeerView = PeerLife & { waits?: LogWaitView[] };

/**
 * What an agent can be asked, and the answers: plain JSON in snake_case, which is what `--json`
 * prints. Fields may be added, never renamed or removed. Times are ISO-8601 in UTC. Spec 4.4.
 */

/** A message as it stands on the wire: its own fields, unknown ones included. Spec 1.2. */
export interface MessageFields {
  timestamp: string;
  from: string;
  to?: string[];
  type?: string;
  kind?: number;
  subject: string;
  body: unknown;
  refs?: string[];
  priority?: string;
  correlation_id: string;
  ack_required?: boolean;
  event_id?: string;
  public_key_id?: string;
  signature?: string;
  wire?: string;
  log?: string;
  seq?: number;
  prev?: string;
  [unknown: string]: unknown;
}

export interface InboxMessage extends MessageFields {
  _meta: InboxMeta;
}

export interface InboxMeta {
  /** Event id; the SHA-256 of the canonical bytes for lines that carry none. */
  id: string;
  received_at: string;
  tier: Tier | null;
  /** False for unsigned lines that policy admits. */
  verified: boolean;
  /** Correlation id. */
  thread: string;
  obligations: ObligationView[];
  read: boolean;
  after_gap: boolean;
}

export interface ThreadMessage extends MessageFields {
  _meta: {
    /** Event id; the SHA-256 of the canonical bytes for lines that carry none. */
    id: string;
    log: string;
    line: number;
    received_at: string;
    /** How far its author is believed; null: of no tier, or blocked. */
    tier: Tier | null;
    refused: RefusalReason | null;
    /** Event ids of the corrections of this message. */
    corrections: string[];
  };
}

export interface WhoamiView {
  handle: string;
  /** Name of this wire's private folders. */
  wire: string;
  wire_dir: string;
  wire_id: string | null;
  key_id: string;
  layout: "pairwise" | "outbox";
  roster: string[];
  daemon: { running: boolean; pid?: number };
  inbox_path: string;
  /** Why nothing is sent: somebody else writes with our key. `deaddrop reclaim` ends it. */
  in_use: string | null;
}

export interface StatusView extends WhoamiView {
  peers: PeerView[];
  unread: number;
  owed_to_me: ObligationView[];
  owed_by_me: ObligationView[];
  /** Open ones only. */
  incidents: IncidentView[];
  safe_mode: SafeModeView | null;
  /** Logs in the wire that nobody reads. Spec 1.1. */
  unowned_logs?: UnownedLogs;
  state: { state: AgentState; last_action: string | null; heads_down: boolean };
  /** One sensible command. */
  next: string;
}

export type ReceiptState = "stored" | "delivered" | "read" | "answered" | "refused";

export interface ReceiptView {
  to: string;
  state: ReceiptState;
  reason?: string;
  /** When the state was proved to us. */
  at: string | null;
}

export interface SentView {
  event_id: string;
  timestamp: string;
  to: string[];
  type: string;
  subject: string;
  correlation_id: string;
  receipts: ReceiptView[];
}

export interface ObligationView {
  event_id: string;
  correlation_id: string;
  type: string;
  /** Words of ours when `from` is below VERIFIED. Spec 2.3. */
  subject: string;
  from: string;
  owed_by: string;
  due_at: string | null;
  overdue: boolean;
  since: string;
}

export interface ThreadView {
  correlation_id: string;
  /** What it was asked by: one of its messages, or its own name when nobody's event id is like that. */
  named_by: "event_id" | "correlation_id";
  /** Event id of the root; null when we do not hold it. */
  root: string | null;
  status: "open" | "waiting_on" | "closed";
  waiting_on: string[];
  participants: string[];
  messages: ThreadMessage[];
  obligations: ObligationView[];
  proposals: ProposalView[];
}

export type ProposalStatus =
  "open" | "ratified" | "rejected" | "reverted" | "superseded" | "withdrawn" | "void";

export interface ProposalView {
  proposal_id: string;
  correlation_id: string;
  proposer: string;
  /** Words of ours when the proposer is below VERIFIED. Spec 2.3. */
  subject: string;
  required: string[];
  /** `void`: it can never be ratified, e.g. it names nobody whom it needs. */
  status: ProposalStatus;
  /** What an open one waits for; null when it has ended. */
  waits_for: string | null;
  /** Event id of the line that decided. */
  decided_by: string | null;
  /** What each required party's last word is: the event id it supports, "rejected", or null. */
  support: Record<string, string | null>;
}

/** One line of decisions.jsonl. Spec 3.4. Hand-written entries may lack anything but the text. */
export interface DecisionRecord {
  decision_id: string;
  ratified_at: string;
  proposer: string;
  /** How far the proposer is believed here; null: of no tier, or blocked. */
  proposer_tier?: Tier | null;
  acked_by: string[];
  decision: string;
  canonical: boolean;
  refs: string[];
  affected_domains: string[];
  domain_owners: Record<string, string>;
  correlation_id: string;
  proposal_id: string;
  ack_ids: string[];
  ratified_by: string;
  supersedes: string | null;
  recorded_by: string;
  event_id: string;
  public_key_id: string;
  signature: string;
}

export interface DecisionsView {
  in_force: DecisionRecord[];
  pending: Partial<DecisionRecord>[];
  unproved: Partial<DecisionRecord>[];
  superseded: DecisionRecord[];
}

export interface IncidentView {
  event_id: string;
  correlation_id: string;
  from: string;
  severity: "low" | "medium" | "high" | "critical";
  subject: string;
  raised_at: string;
  addressees: IncidentAddressee[];
  status: "open" | "acked" | "escalated" | "resolved";
  automatic: boolean;
  cause?: string;
}

export interface IncidentAddressee {
  handle: string;
  acked: boolean;
  acked_at: string | null;
  due_at: string | null;
  escalated: boolean;
}

/** An automatic incident that our own operator was told. */
export interface NoticeView {
  at: string;
  cause: string;
  peer: string | null;
  subject: string;
  detail: string;
}

export interface SafeModeView {
  active: boolean;
  since: string;
  /** Author of the incident and of its escalation: who can end it for all. */
  author: string;
  incident_id: string;
  escalation_id: string;
  /** The addressee who did not ack. */
  of: string;
}

export interface StatsView {
  days: number;
  messages: number;
  /** 0 to 1. */
  heartbeat_share: number;
  by_type: Record<string, number>;
  proposal_ack_pairs: number;
  decisions: number;
  incidents: number;
  incidents_acked_in_time: number;
  disagreements: number;
}

export interface ResolvedId {
  event_id: string;
  correlation_id: string;
  from: string;
  type: string;
  subject: string;
  log: string;
  to: string[];
}

export interface Views {
  whoami: WhoamiView;
  status: StatusView;
  peers: PeerView[];
  inbox: InboxMessage[];
  sent: SentView[];
  pending: ObligationView[];
  thread: ThreadView[];
  search: ThreadMessage[];
  decisions: DecisionsView;
  proposals: ProposalView[];
  incidents: IncidentView[];
  notices: NoticeView[];
  holds: HoldsView;
  safe_mode: SafeModeView | null;
  receipt: { receipts: ReceiptView[] };
  stats: StatsView;
  keys: KeysView;
  resolve_id: ResolvedId;
}

export type ViewName = keyof Views;

/** Arguments of the views that take any. `limit` keeps the newest. */
export interface ViewArgs {
  whoami: undefined;
  status: undefined;
  peers: undefined;
  inbox: { unread?: boolean; limit?: number; from?: string; thread?: string };
  sent: { limit?: number };
  pending: undefined;
  /** `by`: "event_id" takes it for no correlation id. */
  thread: { id: string; by?: "event_id" };
  search: { text: string; limit?: number };
  decisions: { all?: boolean };
  proposals: undefined;
  incidents: undefined;
  notices: undefined;
  holds: { peer: string };
  safe_mode: undefined;
  receipt: { event_id: string };
  stats: undefined;
  keys: undefined;
  /** Event id, or unique prefix of it (6 characters or more). */
  resolve_id: { id: string };
}

/** A view without required arguments may be asked for by its name alone. */
export type ViewParameters<N extends ViewName> = undefined extends ViewArgs[N]
  ? []
  : Record<string, never> extends ViewArgs[N]
    ? [args?: ViewArgs[N]]
    : [args: ViewArgs[N]];
