import type { ListedNotice } from "../agent/answers/agent-notices.ts";
import type { IncidentView } from "../agent/answers/incidents.ts";
import type { PeerView } from "../agent/answers/peers.ts";
import type { ObligationView } from "../agent/answers/pending.ts";
import type { SafeModeView } from "../agent/answers/safe-mode.ts";
import type { ParkedView, StateView } from "../agent/answers/status.ts";
import type { VIEWS } from "../agent/answers/views.ts";
import type { RoundView } from "./rounds.ts";
import type { TransportView } from "./transport.ts";
import type { ToolSessionView } from "./tool-sessions.ts";
import type { TroubleView } from "./troubles.ts";

// Each is declared where it is made.
export type { DecisionsView, DecisionView, DoubtfulEntry } from "../agent/answers/decisions.ts";
export type { HoldsView } from "../agent/answers/holds.ts";
export type { IncidentAddressee, IncidentView } from "../agent/answers/incidents.ts";
export type { KeysView } from "../agent/answers/keys.ts";
export type { MailView, Marks, NewsView } from "../agent/answers/mail.ts";
export type { WaitedFor } from "../agent/answers/waited-for.ts";
export type { MemberChangeView, MemberRow, MembersView } from "../agent/answers/members.ts";
export type * from "../agent/answers/messages.ts";
export type { PeerView } from "../agent/answers/peers.ts";
export type { ObligationView } from "../agent/answers/pending.ts";
export type { ProposalStatus, ProposalView } from "../agent/answers/proposals.ts";
export type { RequestStatus, RequestView } from "../agent/answers/requests.ts";
export type { NoticeView, SafeModeView } from "../agent/answers/safe-mode.ts";
export type { ReceiptStage, ReceiptView, SentView } from "../agent/answers/sent.ts";
export type { ParkedView, StateView } from "../agent/answers/status.ts";
export type { TeamMemberView } from "../agent/answers/team.ts";
export type { ThreadView } from "../agent/answers/threads.ts";
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

/** What the agent was told by its daemon, the newest 256, oldest first. Spec 3.12. */
export type AgentNoticeView = ListedNotice;

export interface WhoamiView {
  handle: string;
  /** Name of this wire's private folders. */
  wire: string;
  /** The wire's folder. */
  wire_dir: string;
  wire_id: string | null;
  /** The key that we sign with. */
  key_id: string;
  /** Everybody who was ever a member. */
  roster: string[];
  /** Who is one now. */
  members: string[];
  /** Whether it runs, and its process id. */
  daemon: { running: boolean; pid?: number };
  /** A file with a line for each message, for programs that read files. */
  inbox_path: string;
}

export interface StatusView extends WhoamiView {
  peers: PeerView[];
  /** Unread messages. */
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
  /** Null: there is none. */
  safe_mode: SafeModeView | null;
  /** What stops or delays our lines, safe mode aside, and what is wrong with files. `status --check` has all. */
  troubles: TroubleView[];
  /** Messages of ours that are durable here and in no carrier yet, while a disk fails. They are published later. */
  waiting: number;
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

export type ViewName = keyof typeof VIEWS;
export type Views = { [N in ViewName]: ReturnType<(typeof VIEWS)[N]["render"]> };
export type ViewArgs = { [N in ViewName]: ReturnType<(typeof VIEWS)[N]["parse"]> };

/** A view without required arguments may be asked for by its name alone. */
export type ViewParameters<N extends ViewName> = undefined extends ViewArgs[N]
  ? []
  : Record<string, never> extends ViewArgs[N]
    ? [args?: ViewArgs[N]]
    : [args: ViewArgs[N]];
