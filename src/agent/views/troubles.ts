import type { LogWaitView } from "../../api/holds.ts";
import { DeaddropError } from "../../api/errors.ts";
import { asTrouble, type StorageView, type TroubleView } from "../../api/troubles.ts";
import type { ObligationView, PeerView, SafeMode, StatusView } from "../../api/views.ts";
import { fairShare } from "../../protocol/fair-share.ts";
import { ownSafeModeEnd, safeModeEnd } from "../../protocol/escalations/safe-mode-end.ts";
import { safeMode } from "../../protocol/incidents/safe-mode.ts";
import type { SentMessage } from "../../protocol/receipts/sent.ts";
import { awaitsComparison } from "../../protocol/keys/announcements.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { isState } from "../../trust/tiers.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import { ownLogs } from "../../wire/layout.ts";
import { quote } from "../../wire/quote.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { pendingPolicy } from "../config/pending-policy.ts";
import type { Session } from "../session/session.ts";
import { obstructionOf, ownTrouble } from "../intake/trouble/log-holds.ts";

type StatusFacts = Omit<StatusView, "next">;

/**
 * All that any view of this agent calls wrong, the most urgent first: `status --check` and `doctor`
 * both print this, and call nothing wrong only where this is empty. Spec 4.4.
 */
export function troublesView(session: Session, status: StatusFacts): TroubleView[] {
  return [
    ...(status.daemon.running ? [] : [noDaemon(status.wire_dir, status.handle)]),
    ...sendingStops(session),
    ...storageTroubles(session),
    ...status.peers.flatMap((peer) => peerTroubles(peer, status.daemon.running)),
    ...clockTroubles(session),
    ...undelivered(session, status.peers, (message) => isDatedAhead(session, message)),
    ...incidentTroubles(status),
    ...overdueTroubles(status.owed_by_me, "you owe", "deaddrop pending"),
    ...overdueTroubles(status.owed_to_me, "others owe you", "deaddrop team"),
    ...policyTroubles(session),
    ...unreadNotices(status),
    ...unreadIncidentNotices(session),
  ];
}

/** Troubles of one kind that are listed one by one; of the rest only the number is said. */
const MAX_LISTED = 20;
/** A peer's heartbeat that arrives so long after a message of ours covers it, if all is well. */
const DELIVERED_WITHIN_MS = 10 * MINUTE_MS;
/** A live heartbeat is not under way for so long: one of two clocks is wrong. */
const CLOCK_DIFFERS_MS = 15 * MINUTE_MS;
/** Enough of an id to name a message by. */
const SHOWN_ID = 10;

function unreadNotices({ notices }: Pick<StatusView, "notices">): TroubleView[] {
  if (notices === 0) return [];
  const detail = notices === 1 ? "1 notice is not read" : `${notices} notices are not read`;
  return [{ what: "notices", detail, end: "deaddrop notices --unread --mark-read", since: null }];
}

/** What happened and may be over: it is wrong until the operator has seen it. */
function unreadIncidentNotices({ memory }: Pick<Session, "memory">): TroubleView[] {
  const { notices, unread } = memory.state.notices;
  const newest = notices.findLast(({ cause }) => cause !== "reset");
  if (unread === 0 || newest === undefined) return [];
  const many = unread === 1 ? "1 notice of" : `${unread} notices, the newest of`;
  const { subject, peer = "this agent", at } = newest;
  const detail = `your operator has not read ${many} ${peer}: ${subject}`;
  const since = new Date(at).toISOString();
  return [
    { what: "incident_notices", detail, end: "deaddrop incident notices --mark-read", since },
  ];
}

/** Whether a message of ours is dated so far ahead of this clock that readers hold it back. Spec 2.4. */
export function isDatedAhead(
  { world, place }: Pick<Session, "world" | "place">,
  { timestamp }: Pick<SentMessage, "timestamp">,
): boolean {
  const skewMs = place.config.limits.maxClockSkewSeconds * SECOND_MS;
  return (parseTimestamp(timestamp) ?? 0) - world.clock.wallMs() > skewMs;
}

/**
 * Messages of ours that wait at peers because of a clock: ours was ahead when they were dated, or it still
 * is, by what the peers' heartbeats say. Spec 2.4.
 */
export function clockTroubles(
  session: Pick<Session, "memory" | "env" | "world" | "place">,
): TroubleView[] {
  const { memory, env, world, place } = session;
  const { receipts, heartbeats } = memory.state;
  const messages = [...receipts.sent.messages.values()];
  return env.layout.members.flatMap((peer): TroubleView[] => {
    const stored = messages.filter((each) => each.receipts.get(peer)?.stage === "stored");
    const ahead = stored.filter((each) => isDatedAhead(session, each));
    const [first, ...more] = ahead;
    if (first !== undefined) {
      const lastMs = Math.max(...ahead.map(({ timestamp }) => parseTimestamp(timestamp) ?? 0));
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      const far = `${Math.round((lastMs - world.clock.wallMs()) / MINUTE_MS)} min`;
      const detail = `your ${first.type} ${quote(first.subject)} (line ${first.line} of ${first.log})${others} to ${peer} is dated ${far} ahead of this machine's clock, and waits there until your next line, which is dated right`;
      const end = `the next heartbeat of your daemon lets it pass (where none runs: deaddrop daemon --detach); ${peer}'s operator may let it pass as it is: deaddrop peer reset ${place.handle}`;
      return [{ what: "clock", detail, end, since: new Date(first.at).toISOString() }];
    }
    const beat = heartbeats.peerBeats.get(peer);
    const writtenMs = Date.parse(beat?.nextEta ?? "") - (beat?.cadenceMs ?? NaN);
    const behindMs = (beat?.at ?? 0) - writtenMs;
    const isAfter = stored.some(({ at }) => at < (beat?.at ?? 0));
    if (beat?.live !== true || !isAfter || !(behindMs > CLOCK_DIFFERS_MS)) return [];
    const detail = `the heartbeats of ${peer} are dated ${Math.round(behindMs / MINUTE_MS)} min behind this machine's clock; if this clock is the wrong one, what you send waits there for 15 min and is refused then`;
    const end = `compare this machine's clock with a time server (timedatectl); ${peer}'s operator may let pass what waits: deaddrop peer reset ${place.handle}`;
    return [{ what: "clock", detail, end, since: null }];
  });
}

/**
 * Messages of ours that a peer does not take in, although its heartbeats arrive: it waits for the
 * comparison of digits, or it holds our log. What waits because of a clock is in `clockTroubles`.
 */
function undelivered(
  { memory, env }: Pick<Session, "memory" | "env">,
  peers: readonly PeerView[],
  isAhead: (message: SentMessage) => boolean,
): TroubleView[] {
  const { receipts, announcements } = memory.state;
  const messages = [...receipts.sent.messages.values()];
  return peers.flatMap(({ handle, held, last_seen_at: seen }): TroubleView[] => {
    const stored = messages.filter((each) => each.receipts.get(handle)?.stage === "stored");
    if (stored.some(isAhead)) return [];
    const mail = stored.filter(({ type }) => !isState(type));
    const isUncompared = mail.length > 0 && awaitsComparison(announcements, env, handle);
    const seenMs = Date.parse(seen ?? "");
    const late = isUncompared
      ? mail
      : stored.filter(({ at }) => !held && seenMs - at >= DELIVERED_WITHIN_MS);
    const [oldest] = late;
    if (oldest === undefined) return [];
    const count = late.length === 1 ? "1 message" : `${late.length} messages`;
    const why = isUncompared
      ? "until its operator has compared digits with you"
      : "although its heartbeats arrive";
    const end = isUncompared
      ? `deaddrop trust sas ${handle}, on both sides`
      : `have its operator run deaddrop status --check as ${handle}, and compare the clocks of both machines (timedatectl)`;
    const detail = `${handle} does not take in ${count} of yours ${why}`;
    const since = new Date(oldest.at).toISOString();
    return [{ what: "undelivered", detail, end, since }];
  });
}

function incidentTroubles({ handle: self, incidents, owed_by_me }: StatusFacts): TroubleView[] {
  const owed = new Set(owed_by_me.map(({ event_id }) => event_id));
  const shown = fairShare(incidents, MAX_LISTED, ({ from }) => from);
  const left = incidents.length - shown.length;
  return [
    ...shown.map(({ event_id, from, severity, status, subject, raised_at }): TroubleView => {
      const id = event_id.slice(0, SHOWN_ID);
      const resolve = `deaddrop incident resolve ${id}`;
      const detail = `${severity} incident of ${from}, ${status}: ${subject}`;
      const others = from === self ? resolve : `have ${from} resolve it: ${resolve} --as ${from}`;
      const end = owed.has(event_id) ? `deaddrop incident ack ${id}` : others;
      return { what: "incident", detail, end, since: raised_at };
    }),
    ...(left === 0 ? [] : [moreIncidents(left)]),
  ];
}

function moreIncidents(left: number): TroubleView {
  const detail = `${left} more incidents are not resolved`;
  return { what: "incident", detail, end: "deaddrop incident list", since: null };
}

/** Incidents are listed by themselves. */
function overdueTroubles(owed: readonly ObligationView[], who: string, end: string): TroubleView[] {
  const overdue = owed.filter((each) => each.overdue && each.type !== "incident");
  const [oldest] = overdue;
  if (oldest === undefined) return [];
  const count = overdue.length === 1 ? "an answer that is" : `${overdue.length} answers that are`;
  const detail = `${who} ${count} overdue, ${overdue.length === 1 ? "" : "the oldest "}to: ${oldest.subject}`;
  return [{ what: "overdue", detail, end, since: oldest.due_at }];
}

/** Peers that wait for a heartbeat of ours take us for silent. */
export function noDaemon(wireDir: string, handle: string): TroubleView {
  return {
    what: "daemon",
    detail:
      "no daemon runs: messages are received only while a command runs, and no heartbeat is sent",
    end: `deaddrop service install --wire ${wireDir} --as ${handle}, or deaddrop daemon --detach`,
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
