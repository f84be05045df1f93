import { emptyAgentNotices, type AgentNoticesState } from "./agent-notices/agent-notices-state.ts";
import { emptyAnnouncements, type AnnouncementsState } from "./keys/announcements.ts";
import { emptyClaims, type ClaimsState } from "./claims/claims-state.ts";
import { emptyDecisions, type DecisionsState } from "./decisions/decisions.ts";
import { emptyHeartbeats, type HeartbeatsState } from "./heartbeats/heartbeats.ts";
import { emptyIncidents, type IncidentsState } from "./incidents/incident-state.ts";
import { emptyKeyChanges, type KeyChangesState } from "./keys/key-changes.ts";
import { emptyLogs, type LogsState } from "./logs/logs-state.ts";
import { emptyMembers, type MembersState } from "./members/member-changes.ts";
import { emptyNotices, type NoticesState } from "./notices.ts";
import { emptyProposals, type ProposalsState } from "./decisions/proposals-state.ts";
import { emptyReceipts, type ReceiptsState } from "./receipts/receipts-state.ts";
import { emptySendKeys, type SendKeysState } from "./receipts/send-keys.ts";
import { emptyRequests, type RequestsState } from "./requests/requests-state.ts";
import { emptyReciprocations, type ReciprocationsState } from "./keys/reciprocations.ts";
import { emptyTally, type TallyState } from "./tally.ts";
import { emptyThreads, type ThreadsState } from "./threads/threads.ts";

/**
 * All that the fold remembers: plain data (maps, sets, arrays, objects, text, numbers) owned by one
 * loop and updated in place. Each part belongs to the file that names it.
 */
export interface State {
  readonly logs: LogsState;
  readonly threads: ThreadsState;
  readonly proposals: ProposalsState;
  readonly requests: RequestsState;
  readonly claims: ClaimsState;
  readonly decisions: DecisionsState;
  readonly heartbeats: HeartbeatsState;
  readonly receipts: ReceiptsState;
  readonly sendKeys: SendKeysState;
  readonly incidents: IncidentsState;
  readonly notices: NoticesState;
  readonly agentNotices: AgentNoticesState;
  readonly keyChanges: KeyChangesState;
  readonly members: MembersState;
  readonly reciprocations: ReciprocationsState;
  readonly announcements: AnnouncementsState;
  readonly tally: TallyState;
}

export function emptyState(): State {
  return {
    logs: emptyLogs(),
    threads: emptyThreads(),
    proposals: emptyProposals(),
    requests: emptyRequests(),
    claims: emptyClaims(),
    decisions: emptyDecisions(),
    heartbeats: emptyHeartbeats(),
    receipts: emptyReceipts(),
    sendKeys: emptySendKeys(),
    incidents: emptyIncidents(),
    notices: emptyNotices(),
    agentNotices: emptyAgentNotices(),
    keyChanges: emptyKeyChanges(),
    members: emptyMembers(),
    reciprocations: emptyReciprocations(),
    announcements: emptyAnnouncements(),
    tally: emptyTally(),
  };
}
