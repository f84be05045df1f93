import type { Asked } from "./asked.ts";
import type { TroubleView } from "../../api/troubles.ts";
import type { ObligationView, StatusView, WhoamiView } from "../../api/views.ts";
import type { AgentState } from "../../protocol/beats/beat.ts";
import type { Known } from "../duties/duty.ts";
import { readOwnState } from "../own-state.ts";
import { readParked, type StopEnd } from "../parked.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { openIncidents } from "./incidents.ts";
import { owedLists } from "./pending.ts";
import { peersView } from "./peers.ts";
import { safeModeView } from "./safe-mode.ts";
import { countWaiting, ownTroubles, safeModeTroubles, sendingStops } from "./troubles.ts";

/** Rows of each list: what one author has most of hides nothing of another's. */
const MAX_STATUS_ROWS = 20;

/** Who the agent is, and on which wire. Spec 4.4. */
export function whoamiView(asked: Asked): WhoamiView {
  const { core, config } = asked.session;
  const { handle, paths } = config;
  return {
    handle,
    wire: paths.wireKey,
    wire_dir: paths.wireDir,
    wire_id: core.place.wireId,
    key_id: core.place.signer.keyId,
    roster: [...core.roster.handles],
    members: [...core.members.keys()],
    daemon: daemonOf(asked),
    inbox_path: paths.inbox,
  };
}

/** All of it but `next`. */
export type StatusFacts = Omit<StatusView, "next">;

export function statusFacts(asked: Asked): StatusFacts {
  const { session, isDaemon } = asked;
  const { core } = session;
  const { store } = core;
  const { left_out: left, ...owed } = owedLists(core, MAX_STATUS_ROWS);
  const incidents = openIncidents(core);
  const shown = fairShare(incidents, MAX_STATUS_ROWS, ({ from }) => from);
  return {
    ...whoamiView(asked),
    peers: peersView(core),
    unread: store.mail.count({ unread: true }),
    unread_from: store.mail.unread().map(({ author, count }) => ({ handle: author, count })),
    notices: store.notices.countUnread(),
    ...owed,
    incidents: shown,
    left_out: { ...left, incidents: incidents.length - shown.length },
    safe_mode: safeModeView(core),
    troubles: ownTroubles(asked),
    waiting: countWaiting(asked),
    state: stateView(core),
    parked: parkedView(core, { isDaemon }),
  };
}

export function statusView(asked: Asked): StatusView {
  const view = statusFacts(asked);
  return {
    ...view,
    next: nextCommand(view, [...sendingStops(asked), ...safeModeTroubles(asked.session.core)]),
  };
}

/** Which daemon runs the agent. */
function daemonOf({ session, isDaemon }: Asked): { running: boolean; pid?: number } {
  const { daemonElsewhere } = session.world;
  const pid = daemonElsewhere === undefined ? process.pid : daemonElsewhere.pid;
  const isRunning = isDaemon || daemonElsewhere !== undefined;
  return isRunning ? { running: true, ...(pid === undefined ? {} : { pid }) } : { running: false };
}

/** What the agent says of itself. */
export interface StateView {
  readonly state: AgentState;
  /** What it did last, in its own words. */
  readonly last_action: string | null;
  /** It asks not to be disturbed. */
  readonly heads_down: boolean;
}

/** Since when the agent is parked, and by whose request. `wake` ends it. Spec 3.8. */
export interface ParkedView {
  readonly since: string;
  /** Who asked. */
  readonly peer: string;
  /** Event ids of the request, and of our approval. */
  readonly request: string;
  readonly approval: string;
  /** How the command ended that ends the agent; `waiting`: for a daemon that runs it. */
  readonly stop_hook: "waiting" | "running" | StopEnd["outcome"];
}

/** Part of `status`. @internal */
export function stateView({ store }: Pick<Known, "store">): StateView {
  const { state, lastAction, headsDown } = readOwnState(store);
  return { state, last_action: lastAction, heads_down: headsDown };
}

/** Part of `status`; null: the agent is not parked. @internal */
export function parkedView(
  { store }: Pick<Known, "store">,
  { isDaemon }: { readonly isDaemon: boolean },
): ParkedView | null {
  const parked = readParked(store);
  if (parked === undefined) return null;
  const { sinceMs, peer, request, approval, stop } = parked;
  return {
    since: new Date(sinceMs).toISOString(),
    ...{ peer, request, approval },
    stop_hook: stop?.outcome ?? (isDaemon ? "running" : "waiting"),
  };
}

/** Enough of an id to name a message by. */
const SHOWN_ID = 12;

/**
 * One sensible command, the most urgent first: start the daemon, end what stops sending, look at a
 * held peer, read, answer. It never agrees to anything, and nothing is answered unread. Spec 8.6.
 *
 * @param stops what stops lines of ours
 */
function nextCommand(view: Omit<StatusView, "next">, stops: readonly TroubleView[]): string {
  if (!view.daemon.running) return "deaddrop service install";
  const [stop] = stops;
  // Where no command ends it, the one that says what a person has to do.
  if (stop !== undefined) return isCommand(stop.end) ? stop.end : "deaddrop status --check";
  if (view.parked !== undefined && view.parked !== null) return "deaddrop status wake";
  const held = view.peers.find((peer) => peer.held);
  if (held !== undefined) return `deaddrop peers show ${held.handle}`;
  if (view.unread > 0) return "deaddrop inbox --unread --mark-read";
  if (view.notices > 0) return "deaddrop inbox notices --unread --mark-read";
  const incident = view.owed_by_me.find(({ type }) => type === "incident");
  const [owed] = incident === undefined ? view.owed_by_me : [incident];
  if (owed !== undefined) return answerTo(owed);
  const stranger = view.peers.find(({ trust_tier }) => trust_tier === "UNTRUSTED");
  if (stranger !== undefined) return `deaddrop trust sas ${stranger.handle}`;
  return "deaddrop inbox --follow";
}

function isCommand(end: string): boolean {
  return end.startsWith("deaddrop ");
}

/** What wants a yes or a no is read once more; which answer it gets is the agent's to decide. */
function answerTo({ type, event_id, request_id }: ObligationView): string {
  const id = event_id.slice(0, SHOWN_ID);
  if (request_id !== null) {
    return `deaddrop thread ${id}, then deaddrop respond ${id} yes or no`;
  }
  switch (type) {
    case "incident":
      return `deaddrop incident ack ${id}`;
    case "proposal":
      return `deaddrop thread ${id}, then accept, reject or counter it: deaddrop help accept`;
    case "request":
      return `deaddrop reply ${id}`;
    default:
      return `deaddrop ack ${id}`;
  }
}
