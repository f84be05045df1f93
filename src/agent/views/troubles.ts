import type { LogWaitView } from "../../api/holds.ts";
import { DeaddropError } from "../../api/errors.ts";
import { asTrouble, type StorageView, type TroubleView } from "../../api/troubles.ts";
import type { PeerView, SafeMode, StatusView } from "../../api/views.ts";
import { ownSafeModeEnd, safeModeEnd } from "../../protocol/incidents/safe-mode-end.ts";
import { safeMode } from "../../protocol/incidents/safe-mode.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { ownLogs } from "../../wire/layout.ts";
import { pendingPolicy } from "../config/pending-policy.ts";
import type { Session } from "../session/session.ts";
import { obstructionOf, ownTrouble } from "../intake/trouble/log-holds.ts";

/**
 * All that is wrong now, the most urgent first: `status --check` and `doctor` both print this.
 * Spec 4.4.
 */
export function troublesView(session: Session, status: Omit<StatusView, "next">): TroubleView[] {
  return [
    ...(status.daemon.running ? [] : [noDaemon(status.wire_dir, status.handle)]),
    ...sendingStops(session),
    ...storageTroubles(session),
    ...status.peers.flatMap((peer) => peerTroubles(peer, status.daemon.running)),
    ...policyTroubles(session),
    ...unreadNotices(status),
  ];
}

function unreadNotices({ notices }: Pick<StatusView, "notices">): TroubleView[] {
  if (notices === 0) return [];
  const detail = notices === 1 ? "1 notice is not read" : `${notices} notices are not read`;
  return [{ what: "notices", detail, end: "deaddrop notices --unread --mark-read", since: null }];
}

/** Nothing is received and no beat is sent; a peer that waits for us takes us for silent. */
export function noDaemon(wireDir: string, handle: string): TroubleView {
  return {
    what: "daemon",
    detail: "no daemon runs: nothing is received, and no heartbeat is sent",
    end: `deaddrop service install --wire ${wireDir} --as ${handle}, or deaddrop daemon in the foreground`,
    since: null,
  };
}

/** What stops lines of ours: all of them, those to one log, or most types. */
export function sendingStops(
  session: Pick<Session, "place" | "files" | "memory" | "env">,
): TroubleView[] {
  const { place, memory, env } = session;
  const mode = safeMode(memory.state.incidents, env);
  return [
    ...closedLogs(session),
    ...(mode === undefined ? [] : [safeModeTrouble(place.handle, mode)]),
  ];
}

/** Why nothing gets into our logs, or into some of them. */
function closedLogs({
  place,
  files,
  memory,
}: Pick<Session, "place" | "files" | "memory">): TroubleView[] {
  const all = ownTrouble({ memory, files });
  if (all !== undefined) return [stopOf(all)];
  return ownLogs(place.layout, place.handle).flatMap(({ name }) => {
    const problem =
      files.own.writer.blocked(name) ?? obstructionOf(memory.intakes.get(name)?.status);
    return problem === undefined ? [] : [stopOf(problem)];
  });
}

/** What the disk does not take, and what waits for it. Spec 4.1, Storage trouble. */
export function storageView({ files }: Pick<Session, "files">): StorageView {
  return { troubles: files.troubles.shown(), waiting: files.own.writer.waiting.lines };
}

function storageTroubles(session: Pick<Session, "files">): TroubleView[] {
  const { troubles, waiting } = storageView(session);
  return troubles.map(({ area, detail, hint, since }) => {
    const wait = area === "own logs" && waiting > 0 ? ` (waiting: ${waiting})` : "";
    return { what: "storage", detail: `${area}: ${detail}${wait}`, end: hint, since };
  });
}

function stopOf(problem: StorageError): TroubleView {
  const trouble = asTrouble("sending", problem);
  if (problem.code === "log_damaged") return { ...trouble, end: "deaddrop reclaim --from FILE" };
  return problem.code === "identity_in_use" ? { ...trouble, end: "deaddrop reclaim" } : trouble;
}

function safeModeTrouble(self: string, mode: SafeMode): TroubleView {
  return {
    what: "safe_mode",
    detail: `${mode.of} did not ack an incident of ${mode.author}, so most types are not sent`,
    end: ownSafeModeEnd(mode, self) ?? safeModeEnd(mode, self, "agent"),
    since: mode.since,
  };
}

function peerTroubles(peer: PeerView, isHeard: boolean): TroubleView[] {
  const { handle, held, presence, last_seen_at, waits = [] } = peer;
  if (held) {
    const detail = `${handle} is held: nothing more of it is taken in; deaddrop peer show ${handle} says why`;
    return [{ what: "held", detail, end: `deaddrop peer reset ${handle}`, since: null }];
  }
  const waiting = waits.map((wait) => waitTrouble(handle, wait));
  // Without a daemon nobody listens, and a silence says nothing of the peer.
  if (presence !== "silent" || !isHeard) return waiting;
  const silent: TroubleView = {
    what: "silent",
    detail: `${handle} is silent: its daemon has stopped, or what it writes does not get here`,
    end: `have its operator run deaddrop doctor as ${handle}, where ${handle} runs`,
    since: last_seen_at,
  };
  return [silent, ...waiting];
}

function waitTrouble(handle: string, { log, because, detail, since }: LogWaitView): TroubleView {
  const named = detail.startsWith(log) ? detail : `${log}: ${detail}`;
  return { what: "waiting", detail: `a log waits: ${named}`, end: endOf(handle, because), since };
}

function endOf(handle: string, because: LogWaitView["because"]): string {
  if (because === "ahead") {
    return `compare this machine's clock with a time server, and with the peer's (timedatectl); to deliver it as it is dated: deaddrop peer reset ${handle}`;
  }
  if (because === "comparison") return `deaddrop trust sas ${handle}`;
  if (because === "hole") {
    return `start the daemon of ${handle}, which restores it: deaddrop daemon --as ${handle}, where ${handle} runs`;
  }
  if (because === "obstructed") return "look what is there, and move it away: ls -l";
  return `deaddrop peer show ${handle}`;
}

function policyTroubles({ world, place }: Pick<Session, "world" | "place">): TroubleView[] {
  try {
    const { lines } = pendingPolicy(world.disk, place);
    if (lines.length === 0) return [];
    return [pendingTrouble(lines)];
  } catch (error) {
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    return [asTrouble("policy", error)];
  }
}

/** `lines`: what differs, in words. */
export function pendingTrouble(lines: readonly string[]): TroubleView {
  const detail = `the wire's config.json or tiers.json differs from what you accepted: ${lines.join("; ")}`;
  return { what: "policy", detail, end: "deaddrop config accept", since: null };
}
