import {
  agentNoticesView,
  unreadNotices,
} from "../../protocol/agent-notices/agent-notices-state.ts";
import { ownLogs } from "../../wire/layout.ts";
import type { EntryRecord } from "../../protocol/decisions/record/decision-record.ts";
import type { ClaimFacts } from "../../protocol/claims/claim-standing.ts";
import { claimsView, forecastClaim } from "../../protocol/claims/claims-view.ts";
import { checkPaths } from "../../protocol/claims/path-check.ts";
import { decisionsView, type SortedEntries } from "../../protocol/decisions/decisions-view.ts";
import { incidentsView, unresolvedIncidents } from "../../protocol/incidents/incident-view.ts";
import { awaitsComparison } from "../../protocol/keys/announcements.ts";
import { keysView } from "../../protocol/keys/key-view.ts";
import { membersView } from "../../protocol/members/members-view.ts";
import { peersView } from "../../protocol/heartbeats/liveness.ts";
import { proposalsView } from "../../protocol/decisions/proposals-view.ts";
import { unreadCount } from "../../protocol/receipts/receipts-state.ts";
import type { Env } from "../../protocol/env.ts";
import { authorTier } from "../../protocol/routing.ts";
import type { ParkingState } from "../../protocol/requests/parking.ts";
import { layoutView } from "../../protocol/logs/layout-change.ts";
import { requestsView } from "../../protocol/requests/requests-view.ts";
import { safeMode } from "../../protocol/incidents/safe-mode.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { mailView, unreadByAuthor } from "../../protocol/receipts/mail.ts";
import { newsView } from "../../protocol/receipts/news.ts";
import type { SentMessage } from "../../protocol/receipts/sent.ts";
import { receiptView, sentView, type WaitsFor } from "../../protocol/receipts/sent-view.ts";
import { pendingView } from "../../protocol/threads/threads-view.ts";
import type {
  DecisionsView,
  NoticeView,
  ParkedView,
  PeerView,
  Rated,
  StatusView,
  ViewArgs,
  ViewName,
  Views,
  WhoamiView,
} from "../../api/views.ts";
import { isState } from "../../trust/tiers.ts";
import { unownedLogs } from "../../storage/unowned-logs.ts";
import { DeaddropError } from "../../api/errors.ts";
import { inboxPage, inboxView } from "./inbox-view.ts";
import { threadMessagesView } from "./message-views.ts";
import { waitViews } from "../intake/trouble/log-waits.ts";
import { holdsView } from "../effects/peer-reset.ts";
import { nextCommand } from "./next-command.ts";
import { resolveId } from "./resolve-id.ts";
import { searchView } from "./search-view.ts";
import type { Session } from "../session/session.ts";
import { teamView } from "./team-view.ts";
import { statsView } from "./stats.ts";
import {
  clockTroubles,
  isDatedAhead,
  sendingStops,
  storageView,
  troublesView,
} from "./troubles.ts";

type Render<N extends ViewName> = (
  session: Session,
  args: ViewArgs[N],
  isDaemon: boolean,
) => Views[N];

const renderers: { [N in ViewName]: Render<N> } = {
  whoami: (session, _args, isDaemon) => whoami(session, isDaemon),
  status: (session, _args, isDaemon) => {
    const view = status(session, isDaemon);
    return bounded({ ...view, next: nextCommand(view, sendingStops(session)) });
  },
  troubles: (session, _args, isDaemon) => troublesView(session, status(session, isDaemon)),
  peers: (session) => peers(session),
  team: (session, _args, isDaemon) => teamView(session, isDaemon),
  inbox: (session, args) => inboxView(session, args),
  inbox_page: (session, args) => inboxPage(session, args),
  news: ({ memory, env, world }, args) =>
    newsView(memory.state, env, world.clock.wallMs(), args.for ?? "any"),
  mail: ({ memory, env, world }, args) =>
    mailView(memory.state, env, world.clock.wallMs(), args?.marks ?? {}),
  sent: (session, args) =>
    sentView(session.memory.state.receipts.sent, args?.limit, waitsIn(session)),
  pending: ({ memory, env, world }) => pendingView(memory.state, env, world.clock.wallMs()),
  thread: (session, args) => threadMessagesView(session, args),
  search_page: (session, args) => searchView(session, args),
  decisions: ({ memory, env }) => withTiers(decisionsView(memory.state.decisions), env),
  proposals: ({ memory, env }) => proposalsView(memory.state.proposals, memory.state.logs, env),
  requests: ({ memory, env }, args) =>
    requestsView(memory.state.requests, memory.state.logs, env, args?.named),
  check: ({ memory, env, world }, args) =>
    checkPaths(memory.state, env, world.clock.wallMs(), args.paths),
  claims: (session) => claimsView(claimFacts(session)),
  claim_forecast: (session, args) => forecastClaim(claimFacts(session), args),
  incidents: ({ memory, env }) => incidentsView(memory.state.incidents, env, memory.state.logs),
  notices: (session) => notices(session),
  agent_notices: ({ memory }, args) =>
    agentNoticesView(memory.state.agentNotices, args?.unread === true),
  layout: ({ memory: { state }, env }) => layoutView(state.proposals, state.logs, env),
  holds: (session, args) => holdsView(session, args.peer),
  safe_mode: ({ memory, env }) => safeMode(memory.state.incidents, env) ?? null,
  receipt: (session, args) => receipts(session, args.event_id),
  stats: (session) => statsView(session),
  members: ({ memory, env }) => membersView(memory.state, env),
  keys: ({ memory, env }) => keysView(memory.state.keyChanges, memory.state.proposals, env),
  resolve_id: (session, args) => resolveId(session, args.id),
};

/** Rows of each list of `status`. */
const MAX_STATUS_ROWS = 20;

function claimFacts({ memory, env, world }: Session): ClaimFacts {
  const { claims, logs } = memory.state;
  return { claims, logs, env, nowMs: world.clock.wallMs() };
}

/** Every text of a peer below VERIFIED is shown with its tier. Spec 2.3. */
function withTiers(view: SortedEntries, env: Env): DecisionsView {
  const rated = <Entry extends EntryRecord>(entries: readonly Entry[]): Rated<Entry>[] =>
    // They are copies already, made for this view.
    entries.map((entry) =>
      Object.assign(entry, { proposer_tier: authorTier(env, String(entry.proposer ?? "")) }),
    );
  return {
    in_force: rated(view.in_force),
    pending: rated(view.pending),
    unproved: rated(view.unproved),
    superseded: rated(view.superseded),
  };
}

/** One view, by its name. Throws DeaddropError for an id that there is not. */
export function view<N extends ViewName>(
  session: Session,
  name: N,
  args: ViewArgs[N],
  isDaemon: boolean,
): Views[N] {
  const render: Render<N> = renderers[name];
  return render(session, args ?? ({} as ViewArgs[N]), isDaemon);
}

function whoami(
  { place, memory, files, world }: Pick<Session, "place" | "memory" | "files" | "world">,
  isDaemon: boolean,
): WhoamiView {
  const { handle, paths, config, layout, identity } = place;
  const pid = world.daemonElsewhere === undefined ? process.pid : world.daemonElsewhere.pid;
  const blocked = ownLogs(layout, handle)
    .map(({ name }) => files.own.writer.blocked(name))
    .find((trouble) => trouble?.code === "identity_in_use");
  return {
    handle,
    wire: paths.wireKey,
    wire_dir: paths.wireDir,
    wire_id: config.wireId ?? null,
    key_id: identity.signer.keyId,
    layout: layout.kind,
    roster: [...layout.roster],
    members: [...layout.members],
    daemon: isDaemon
      ? { running: true, ...(pid === undefined ? {} : { pid }) }
      : { running: false },
    inbox_path: paths.inbox,
    in_use: memory.inUse?.detail ?? blocked?.message ?? null,
  };
}

function status(
  session: Pick<Session, "world" | "place" | "memory" | "env" | "files">,
  isDaemon: boolean,
): Omit<StatusView, "next"> {
  const { memory, env, world } = session;
  const { state } = memory;
  const wallMs = world.clock.wallMs();
  const pending = pendingView(state, env, wallMs);
  return {
    ...whoami(session, isDaemon),
    peers: peers(session),
    unread: unreadCount(state.receipts, env),
    unread_from: [...unreadByAuthor(state.receipts, env)].map(([handle, count]) => ({
      handle,
      count,
    })),
    notices: unreadNotices(state.agentNotices),
    owed_to_me: pending.filter(({ from, owed_by }) => from === env.self && owed_by !== env.self),
    owed_by_me: pending.filter(({ owed_by }) => owed_by === env.self),
    incidents: unresolvedIncidents(state.incidents, env, state.logs),
    safe_mode: safeMode(state.incidents, env) ?? null,
    stops: [
      ...sendingStops(session).filter(({ what }) => what === "sending"),
      ...clockTroubles(session),
    ],
    storage: storageView(session),
    unowned_logs: unownedLogs(session.world.disk, session.place.wire.folder, env.layout),
    state: {
      state: state.heartbeats.status,
      last_action: state.heartbeats.lastAction ?? null,
      heads_down: state.heartbeats.headsDown,
    },
    parked: parkedView(state.heartbeats.parking, isDaemon),
  };
}

/** What one author has most of hides nothing of another's, and a screen stays a screen. */
function bounded(view: StatusView): StatusView {
  const owedToMe = fairShare(view.owed_to_me, MAX_STATUS_ROWS, ({ owed_by: by }) => by);
  const owedByMe = fairShare(view.owed_by_me, MAX_STATUS_ROWS, ({ from }) => from);
  const incidents = fairShare(view.incidents, MAX_STATUS_ROWS, ({ from }) => from);
  return {
    ...view,
    owed_to_me: owedToMe,
    owed_by_me: owedByMe,
    incidents,
    left_out: {
      owed_to_me: view.owed_to_me.length - owedToMe.length,
      owed_by_me: view.owed_by_me.length - owedByMe.length,
      incidents: view.incidents.length - incidents.length,
    },
  };
}

function parkedView({ parked }: ParkingState, isDaemon: boolean): ParkedView | null {
  if (parked === undefined) return null;
  const { at, peer, request, by: approval, stop } = parked;
  const since = new Date(at).toISOString();
  return {
    since,
    peer,
    request,
    approval,
    stop_hook: stop?.outcome ?? (isDaemon ? "running" : "waiting"),
  };
}

/**
 * What its beats say of each peer, and why a log of it does not move. Beats behind mail that waits for
 * the comparison of digits are not read: whether that peer lives is not known.
 */
function peers({ memory, env, world }: Pick<Session, "world" | "memory" | "env">): PeerView[] {
  return peersView(memory.state, env, world.clock.wallMs()).map((peer) => {
    const waits = waitViews(memory, world, peer.handle);
    const isUncompared = waits.some(({ because }) => because === "comparison");
    return { ...peer, presence: isUncompared ? "unknown" : peer.presence, waits };
  });
}

function notices({ memory }: Pick<Session, "memory">): NoticeView[] {
  return memory.state.notices.notices.map(({ at, cause, peer, subject, detail }) => ({
    at: new Date(at).toISOString(),
    cause,
    peer: peer ?? null,
    subject,
    detail,
  }));
}

/** Why messages of ours that are stored wait at their addressees. Spec 2.4. */
function waitsIn(session: Pick<Session, "memory" | "env" | "world" | "place">) {
  const { memory, env } = session;
  return (peer: string, message: SentMessage): WaitsFor | undefined => {
    const isMail = !isState(message.type);
    if (isMail && awaitsComparison(memory.state.announcements, env, peer)) return "comparison";
    return isDatedAhead(session, message) ? "clock" : undefined;
  };
}

function receipts(
  session: Pick<Session, "memory" | "env" | "world" | "place">,
  id: string,
): Views["receipt"] {
  const sent = receiptView(session.memory.state.receipts.sent, id, waitsIn(session));
  if (sent !== undefined) return { receipts: sent.receipts };
  throw new DeaddropError("unknown_id", `no message of yours has the event id "${id}"`, {
    hint: "deaddrop sent lists what you sent",
  });
}
