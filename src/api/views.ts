import type { ListedNotice } from "../agent/answers/agent-notices.ts";
import type { DecisionsView } from "../agent/answers/decisions.ts";
import type { HoldsView } from "../agent/answers/holds.ts";
import type { IncidentView } from "../agent/answers/incidents.ts";
import type { KeysView } from "../agent/answers/keys.ts";
import type { MailView, Marks, NewsView, WaitedFor } from "../agent/answers/mail.ts";
import type { MembersView } from "../agent/answers/members.ts";
import type {
  InboxMessage,
  InboxPage,
  InboxQuery,
  ResolvedId,
  SearchPage,
} from "../agent/answers/messages.ts";
import type { PeerView as PeerWith } from "../agent/answers/peers.ts";
import type { ObligationView } from "../agent/answers/pending.ts";
import type { ProposalView } from "../agent/answers/proposals.ts";
import type { RequestView } from "../agent/answers/requests.ts";
import type { NoticeView, SafeModeView } from "../agent/answers/safe-mode.ts";
import type { ReceiptView, SentView } from "../agent/answers/sent.ts";
import type { ParkedView, StateView } from "../agent/answers/state.ts";
import type { StatsView } from "../agent/answers/stats.ts";
import type { TeamMemberView as TeamMember } from "../agent/answers/team.ts";
import type { ThreadView } from "../agent/answers/threads.ts";
import type { WaitView } from "../agent/answers/waits.ts";
import type { ClaimMode } from "../protocol/claims/claim-line.ts";
import type { CheckView, ClaimForecast } from "../protocol/claims/claim-shapes.ts";
import type { PlacedClaim } from "../protocol/claims/standing.ts";
import type { UnownedLogs } from "../storage/unowned-text.ts";
import type { RoundView } from "./rounds.ts";
import type { TransportView } from "./transport.ts";
import type { ToolSessionView } from "./tool-sessions.ts";
import type { StorageView, TroubleView } from "./troubles.ts";

// Each is declared where it is made.
export type { DecisionsView, DecisionView, DoubtfulEntry } from "../agent/answers/decisions.ts";
export type { HoldsView } from "../agent/answers/holds.ts";
export type { IncidentAddressee, IncidentView } from "../agent/answers/incidents.ts";
export type { KeysView } from "../agent/answers/keys.ts";
export type { MailView, Marks, NewsView, WaitedFor } from "../agent/answers/mail.ts";
export type { MemberChangeView, MemberRow, MembersView } from "../agent/answers/members.ts";
export type * from "../agent/answers/messages.ts";
export type { ObligationView } from "../agent/answers/pending.ts";
export type { ProposalStatus, ProposalView } from "../agent/answers/proposals.ts";
export type { RequestStatus, RequestView } from "../agent/answers/requests.ts";
export type { NoticeView, SafeModeView } from "../agent/answers/safe-mode.ts";
export type { ReceiptStage, ReceiptView, SentView } from "../agent/answers/sent.ts";
export type { ParkedView, StateView } from "../agent/answers/state.ts";
export type { StatsView } from "../agent/answers/stats.ts";
export type { ThreadView } from "../agent/answers/threads.ts";
export type { WaitView } from "../agent/answers/waits.ts";
export type { Presence } from "../protocol/beats/life.ts";
export type {
  CheckedPath,
  CheckView,
  ClaimForecast,
  ClaimStatus,
  PathBlock,
} from "../protocol/claims/claim-shapes.ts";
export type { PlacedClaim as ClaimView } from "../protocol/claims/standing.ts";

/**
 * What an agent can be asked, and the answers: plain JSON in snake_case, which is what `--json`
 * prints. Fields may be added, never renamed or removed. Times are ISO-8601 in UTC. Spec 8.6.
 */

export type PeerView = PeerWith<WaitView>;
export type TeamMemberView = TeamMember<ObligationView>;
/** What the agent was told by its daemon, the newest 256, oldest first. Spec 3.12. */
export type AgentNoticeView = ListedNotice;

export interface WhoamiView {
  handle: string;
  /** Name of this wire's private folders. */
  wire: string;
  wire_dir: string;
  wire_id: string | null;
  key_id: string;
  /** Everybody who was ever a member. */
  roster: string[];
  /** Who is one now. */
  members: string[];
  daemon: { running: boolean; pid?: number };
  inbox_path: string;
  /** Why nothing is sent: another program writes with our key. `deaddrop reclaim` ends it. */
  in_use: string | null;
}

export interface StatusView extends WhoamiView {
  peers: PeerView[];
  unread: number;
  /** Whose messages are unread, and how many of each. */
  unread_from: { handle: string; count: number }[];
  /** Unread notices. Spec 3.12. */
  notices: number;
  /** At most 20 of each list; where there are more, authors have turns. */
  owed_to_me: ObligationView[];
  owed_by_me: ObligationView[];
  /** Open ones only. */
  incidents: IncidentView[];
  /** How many more there are of each list. */
  left_out: { owed_to_me: number; owed_by_me: number; incidents: number };
  safe_mode: SafeModeView | null;
  /**
   * What stops lines of ours, safe mode aside, or makes them wait at peers since they are dated ahead; a
   * daemon of an older version does not say.
   */
  stops: TroubleView[];
  /** What the disk does not take. */
  storage: StorageView;
  /** Logs in the wire folder that no agent reads. Spec 1.1. */
  unowned_logs: UnownedLogs;
  state: StateView;
  /** It has approved its shutdown. Spec 3.8. */
  parked: ParkedView | null;
  /** Sessions of coding tools that the daemon knows. Spec 8.3. */
  sessions?: ToolSessionView[];
  /** Collaboration rounds that the daemon watches for the agent. Spec 6.3. */
  rounds?: RoundView[];
  /** How the wire is shared with other machines; null: by its folder alone. Spec 5.2. */
  transport?: TransportView | null;
  /** One sensible command. */
  next: string;
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
  claims: PlacedClaim[];
  claim_forecast: ClaimForecast;
  incidents: IncidentView[];
  notices: NoticeView[];
  agent_notices: AgentNoticeView[];
  holds: HoldsView;
  safe_mode: SafeModeView | null;
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
