import { daemonOf, type Asked } from "./asked.ts";
import type { StatusView, WhoamiView } from "../../api/views.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { openIncidents } from "./incidents.ts";
import { owedLists } from "./pending.ts";
import { peersView } from "./peers.ts";
import { safeModeView } from "./safe-mode.ts";
import { parkedView, stateView } from "./state.ts";
import { nextCommand } from "./next-command.ts";
import { clockTroubles, sendingStops, storageView, stopOf } from "./troubles.ts";
import { unownedLogs } from "./unowned-logs.ts";

/** Rows of each list: what one author has most of hides nothing of another's. */
const MAX_STATUS_ROWS = 20;

/** Who the agent is, and on which wire. Spec 4.4. */
export function whoamiView(asked: Asked): WhoamiView {
  const { core, config } = asked.session;
  const { handle, paths } = config;
  const inUse = core.readiness.is === "in use" ? stopOf(asked.session, core.readiness) : undefined;
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
    in_use: inUse?.detail ?? null,
  };
}

/** All of it but `next`. */
export type StatusFacts = Omit<StatusView, "next">;

export function statusFacts(asked: Asked): StatusFacts {
  const { session, isDaemon } = asked;
  const { core, carriers, config } = session;
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
    stops: [
      ...sendingStops(asked).filter(({ what }) => what === "sending"),
      ...clockTroubles(core),
    ],
    storage: storageView(asked),
    unowned_logs: unownedLogs(core.world.disk, config.wire.folder, carriers.folder.unowned),
    state: stateView(core),
    parked: parkedView(core, { isDaemon }),
  };
}

export function statusView(asked: Asked): StatusView {
  const view = statusFacts(asked);
  return { ...view, next: nextCommand(view, sendingStops(asked)) };
}
