import type { ListedNotice } from "../protocol/agent-notices/agent-notices-state.ts";
import type { SortedEntries } from "../protocol/decisions/decisions-view.ts";
import type { ProposalView } from "../protocol/decisions/proposals-view.ts";
import type { AgentState } from "../protocol/env.ts";
import type { PeerLife, Presence } from "../protocol/heartbeats/liveness.ts";
import type { IncidentView } from "../protocol/incidents/incident-view.ts";
import type { SafeMode } from "../protocol/escalations/safe-mode-end.ts";
import type { MembersView } from "../protocol/members/members-view.ts";
import type { KeysView } from "../protocol/keys/key-view.ts";
import type { MailView, Marks } from "../protocol/receipts/mail.ts";
import type { WaitedFor } from "../protocol/receipts/awaited.ts";
import type { NewsView } from "../protocol/receipts/news.ts";
import type { ReceiptView, SentView } from "../protocol/receipts/sent-view.ts";
import type { ClaimMode } from "../protocol/claims/claim-line.ts";
import type { CheckView, ClaimForecast, ClaimView } from "../protocol/claims/claim-shapes.ts";
import type { RequestView } from "../protocol/requests/requests-view.ts";
import type { ObligationView, ThreadOutline } from "../protocol/threads/threads-view.ts";
import type { UnownedLogs } from "../storage/unowned-text.ts";
import type { Tier } from "../trust/tiers.ts";
import type { GrowthView } from "./growth.ts";
import type { LayoutView } from "../protocol/logs/layout-change.ts";
import type { HoldsView, LogWaitView } from "./holds.ts";
import type { InboxMessage, InboxPage, InboxQuery, SearchPage, ThreadMessage } from "./messages.ts";
import type { RoundView } from "./rounds.ts";
import type { TransportView } from "./transport.ts";
import type { ToolSessionView } from "./tool-sessions.ts";
import type { StorageView, TroubleView } from "./troubles.ts";

export type * from "./messages.ts";
// What the core makes is declared there, once.
export type {
  CheckedPath,
  CheckView,
  ClaimForecast,
  ClaimStatus,
  ClaimView,
  PathBlock,
} from "../protocol/claims/claim-shapes.ts";
export type { ProposalStatus, ProposalView } from "../protocol/decisions/proposals-view.ts";
export type { Presence } from "../protocol/heartbeats/liveness.ts";
export type { IncidentAddressee, IncidentView } from "../protocol/incidents/incident-view.ts";
export type { SafeMode } from "../protocol/escalations/safe-mode-end.ts";
export type { MemberChangeView, MemberRow, MembersView } from "../protocol/members/members-view.ts";
export type { KeysView } from "../protocol/keys/key-view.ts";
export type { MailView, Marks } from "../protocol/receipts/mail.ts";
export type { WaitedFor } from "../protocol/receipts/awaited.ts";
export type { NewsView } from "../protocol/receipts/news.ts";
export type { ReceiptStage } from "../protocol/receipts/sent.ts";
export type { ReceiptView, SentView } from "../protocol/receipts/sent-view.ts";
export type { RequestStatus, RequestView } from "../protocol/requests/requests-view.ts";
export type { ObligationView } from "../protocol/threads/threads-view.ts";

/**
 * What an agent can be asked, and the answers: plain JSON in snake_case, which is what `--json`
 * prints. Fields may be added, never renamed or removed. Times are ISO-8601 in UTC. Spec 4.4.
 */

/** `waits`: why logs of that peer do not move; a daemon of an older version does not say. */
export type PeerView = PeerLife & { waits?: LogWaitView[] };

export interface WhoamiView {
  handle: string;
  /** Name of this wire's private folders. */
  wire: string;
  wire_dir: string;
  wire_id: string | null;
  key_id: string;
  layout: "pairwise" | "outbox";
  /** Everybody who was ever a member. */
  roster: string[];
  /** Who is one now; a daemon of an older version does not say. */
  members?: string[];
  daemon: { running: boolean; pid?: number };
  inbox_path: string;
  /** Why nothing is sent: another program writes with our key. `deaddrop reclaim` ends it. */
  in_use: string | null;
}

export interface StatusView extends WhoamiView {
  peers: PeerView[];
  unread: number;
  /** Whose messages are unread, and how many of each; a daemon of an older version does not say. */
  unread_from?: { handle: string; count: number }[];
  /** Unread notices. Spec 3.12. */
  notices: number;
  /** At most 20 of each list; where there are more, authors have turns. */
  owed_to_me: ObligationView[];
  owed_by_me: ObligationView[];
  /** Open ones only. */
  incidents: IncidentView[];
  /** How many more there are of each list. */
  left_out?: { owed_to_me: number; owed_by_me: number; incidents: number };
  safe_mode: SafeMode | null;
  /**
   * What stops lines of ours, safe mode aside, or makes them wait at peers since they are dated ahead; a
   * daemon of an older version does not say.
   */
  stops?: TroubleView[];
  /** What the disk does not take; a daemon of an older version does not say. */
  storage?: StorageView;
  /** Logs in the wire folder that no agent reads. Spec 1.1. */
  unowned_logs?: UnownedLogs;
  state: { state: AgentState; last_action: string | null; heads_down: boolean };
  /** It has approved its shutdown; a daemon of an older version does not say. Spec 3.8. */
  parked?: ParkedView | null;
  /** Sessions of coding tools that the daemon knows. Spec 8.3. */
  sessions?: ToolSessionView[];
  /** Collaboration rounds that the daemon watches for the agent. Spec 6.3. */
  rounds?: RoundView[];
  /** How the wire is shared with other machines; null: by its folder alone. Spec 5.2. */
  transport?: TransportView | null;
  /** One sensible command. */
  next: string;
}

/** One agent of the wire as its team sees it. Spec 3.8. */
export interface TeamMemberView {
  handle: string;
  is_self: boolean;
  presence: Presence;
  state: string | null;
  last_action: string | null;
  agent_last_seen: string | null;
  /** What it has asked of others and not been given, the 8 oldest, and how many there are. */
  waits_for: ObligationView[];
  waits_for_in_all: number;
  /** What others have asked of it. */
  owes: ObligationView[];
  owes_in_all: number;
}

/** Since when the agent is parked, and by whose request. `wake` ends it. Spec 3.8. */
export interface ParkedView {
  since: string;
  /** Who asked. */
  peer: string;
  /** Event ids of the request, and of our approval. */
  request: string;
  approval: string;
  /** How the command ended that ends the agent; `waiting`: for a daemon that runs it. */
  stop_hook: "waiting" | "running" | "done" | "failed" | "none";
}

export interface ThreadView extends Omit<ThreadOutline, "messages"> {
  /**
   * What `id` was: the id of one of its messages, or its own name when no event id begins like
   * that.
   */
  named_by: "event_id" | "correlation_id";
  messages: ThreadMessage[];
}

/** The entries of decisions.jsonl, each with how far its proposer is believed here. Spec 3.4. */
export type DecisionsView = {
  [Group in keyof SortedEntries]: Rated<SortedEntries[Group][number]>[];
};

/** One decision that is proved. */
export type DecisionRecord = DecisionsView["in_force"][number];

/** Every text of a peer below VERIFIED is shown with its tier; null: of no tier, or blocked. Spec 2.3. */
export type Rated<Entry> = Entry & { proposer_tier: Tier | null };

/** What the agent was told by its daemon, the newest 256, oldest first. Spec 3.12. */
export type AgentNoticeView = ListedNotice;

/** An automatic incident that our own operator was told. */
export interface NoticeView {
  at: string;
  cause: string;
  peer: string | null;
  subject: string;
  detail: string;
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
  /** Of these, older ones that are not tracked any more; a daemon of an older version does not say. */
  incidents_forgotten?: number;
  /** Of those that are tracked. */
  incidents_acked_in_time: number;
  disagreements: number;
  /** What grows with use; a daemon of an older version does not say. */
  growth?: GrowthView[];
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
  troubles: TroubleView[];
  peers: PeerView[];
  team: TeamMemberView[];
  inbox: InboxMessage[];
  inbox_page: InboxPage;
  news: NewsView;
  mail: MailView;
  sent: SentView[];
  pending: ObligationView[];
  thread: ThreadView[];
  search_page: SearchPage;
  decisions: DecisionsView;
  proposals: ProposalView[];
  requests: RequestView[];
  check: CheckView;
  claims: ClaimView[];
  claim_forecast: ClaimForecast;
  incidents: IncidentView[];
  notices: NoticeView[];
  agent_notices: AgentNoticeView[];
  holds: HoldsView;
  layout: LayoutView;
  safe_mode: SafeMode | null;
  receipt: { receipts: ReceiptView[] };
  stats: StatsView;
  members: MembersView;
  keys: KeysView;
  resolve_id: ResolvedId;
}

export type ViewName = keyof Views;

/** Arguments of the views that take any. `limit` keeps the newest. */
export interface ViewArgs {
  whoami: undefined;
  status: undefined;
  troubles: undefined;
  peers: undefined;
  team: undefined;
  inbox: InboxQuery & { limit?: number };
  /** `limit` alone keeps the oldest, and has the others counted. */
  inbox_page: InboxQuery & { limit?: number; newest?: boolean; after?: string };
  /** `for`: what makes it ready; "any" unless given. */
  news: { for?: WaitedFor };
  /** `marks`: what the asker knows already. */
  mail: { marks?: Marks };
  sent: { limit?: number };
  pending: undefined;
  /** `by`: "event_id" takes it for no correlation id. */
  thread: { id: string; by?: "event_id" };
  /** `limit`: at most so many; `before`: the `next` of the page before. */
  search_page: { text: string; limit?: number; before?: string };
  decisions: { all?: boolean };
  proposals: undefined;
  /** `named`: those of which `request_id` or event id begin so (6 characters or more). */
  requests: { named?: string };
  check: { paths: readonly string[] };
  claims: undefined;
  claim_forecast: { paths: readonly string[]; mode: ClaimMode };
  incidents: undefined;
  notices: undefined;
  agent_notices: { unread?: boolean };
  holds: { peer: string };
  layout: undefined;
  safe_mode: undefined;
  receipt: { event_id: string };
  stats: undefined;
  members: undefined;
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
