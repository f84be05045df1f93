import { DeaddropError } from "../../api/errors.ts";
import { trouble, unexplained, type TroubleView } from "../../api/troubles.ts";
import { isDatedAhead, presence } from "../../protocol/beats/life.ts";
import { ownSafeModeEnd, safeModeEnd, SHOWN_ID } from "../../protocol/escalations/safe-mode-end.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { HeldLine } from "../../store/store.ts";
import { isState } from "../../trust/tiers.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import { quote } from "../../wire/quote.ts";
import { pendingPolicy } from "../config/pending-policy.ts";
import type { Core } from "../core.ts";
import type { Known } from "../duties/duty.ts";
import type { Readiness } from "../lines/own-lines.ts";
import type { Session } from "../session/session.ts";
import type { Asked } from "./asked.ts";
import { isHeld } from "./listed.ts";
import { readHeld } from "./messages.ts";
import { otherMembers, type PeerView } from "./peers.ts";
import type { ObligationView } from "./pending.ts";
import { awaitsComparison, isUnderWay, receiptsOf } from "./sent.ts";
import type { StatusFacts } from "./status.ts";
import { unownedLogs } from "./unowned-logs.ts";

/** A peer whose heartbeat arrives so long after a message of ours has that message too, if all is well. */
const DELIVERED_WITHIN_MS = 10 * MINUTE_MS;
/** A live heartbeat is not under way for so long: one of two clocks is wrong. */
const CLOCK_DIFFERS_MS = 15 * MINUTE_MS;
/** Messages of ours that are looked at, the newest ones. */
const MOST_SENT = 128;
/** Offline is normal; after so long it is an error. */
const OFFLINE_MS = HOUR_MS;

/**
 * All that any view of this agent calls wrong, the most urgent first, without what others of them explain:
 * `status --check` and `doctor` both print this. Spec 8.6.
 */
export function troublesView(asked: Asked, status: StatusFacts): TroubleView[] {
  const { core } = asked.session;
  return unexplained([
    ...(status.daemon.running
      ? []
      : [trouble("no_daemon", { wire: status.wire_dir, handle: status.handle })]),
    ...safeModeTroubles(core),
    ...status.troubles,
    ...(core.roster.isForked ? [trouble("roster_forked", {})] : []),
    ...transportTroubles(core),
    ...status.peers.flatMap(peerTroubles),
    ...undelivered(core, findUnderWay(core)),
    ...incidentTroubles(status),
    ...overdueTroubles("overdue", status.owed_by_me),
    ...overdueTroubles("overdue_by_peers", status.owed_to_me),
    ...policyTroubles(asked.session),
    ...unreadNotices(core),
  ]);
}

/** What stops or delays lines of ours, safe mode aside, and what is wrong with files that we read and write. */
export function ownTroubles(asked: Asked): TroubleView[] {
  const { core, carriers, config } = asked.session;
  const { disk } = core.world;
  const { names, more } = unownedLogs(disk, config.wire.folder, carriers.folder.unowned);
  const files = `${names.join(", ")}${more === 0 ? "" : ` and ${more} more`}`;
  return [
    ...sendingStops(asked),
    ...asked.diskTroubles.map(({ area, error, sinceMs }) =>
      trouble("storage", { area, problem: error.message, hint: error.hint }, sinceMs),
    ),
    ...clockTroubles(core),
    ...(names.length === 0 ? [] : [trouble("unowned_log", { files })]),
  ];
}

/** What happened and may be over: it is wrong until it was read. */
function unreadNotices({ store }: Core): TroubleView[] {
  const unread = store.notices.countUnread();
  const { unread: count, newest } = store.told.unread();
  return [
    ...(unread === 0 ? [] : [trouble("notices", { count: unread })]),
    ...(newest === undefined
      ? []
      : [trouble("incident_notices", { count, subject: newest.subject }, newest.atMs)]),
  ];
}

/** Fetching or pushing fails; what the folder itself is short of is trouble of storage. Spec 5.2. */
function transportTroubles({ transports, world }: Core): TroubleView[] {
  return transports.flatMap((transport) => {
    const { problem } = transport.health();
    if (transport.kind === "folder" || problem === undefined) return [];
    const { code, detail, hint, sinceMs } = problem;
    const isNew = world.clock.wallMs() - sinceMs < OFFLINE_MS;
    const is = code === "unreachable" && isNew ? "offline" : "transport";
    return [trouble(is, { problem: detail, hint }, sinceMs)];
  });
}

/** Lines of ours that a peer has not taken in, the oldest first. */
interface UnderWay {
  readonly peer: string;
  readonly lines: readonly HeldLine[];
  /** Those of them that are dated ahead of our clock. */
  readonly ahead: readonly HeldLine[];
}

function findUnderWay(core: Core): readonly UnderWay[] {
  const { store, place, world } = core;
  const maxMs = world.clock.wallMs() + place.limits.max_clock_skew_seconds * SECOND_MS;
  const sent = store
    .newestSaid(place.self, MOST_SENT)
    .flatMap((n) => store.line(n) ?? [])
    .toSorted((one, other) => one.n - other.n)
    .map((line) => ({ line, receipts: receiptsOf(core, line) }));
  return otherMembers(core).map((peer) => {
    const lines = sent
      .filter(({ receipts }) => receipts.some(({ to, state }) => to === peer && isUnderWay(state)))
      .map(({ line }) => line);
    return { peer, lines, ahead: lines.filter(({ sentMs }) => sentMs > maxMs) };
  });
}

/**
 * Messages of ours that wait at peers because of a clock, ours was ahead when they were dated; and peers whose
 * heartbeats are dated otherwise than by our clock. Spec 2.4.
 */
function clockTroubles(core: Core): TroubleView[] {
  const { place, world } = core;
  return findUnderWay(core).flatMap(({ peer, lines, ahead }): TroubleView[] => {
    const [first, ...more] = ahead;
    if (first === undefined) return clockDiffers(core, peer, lines);
    const aheadMs = Math.max(...ahead.map(({ sentMs }) => sentMs)) - world.clock.wallMs();
    const others = more.length === 0 ? "" : ` and ${more.length} more`;
    const message = `${first.type} ${quote(readHeld(place.wireId, first).subject)}${others}`;
    const minutes = Math.round(aheadMs / MINUTE_MS);
    const facts = { ...{ message, peer, minutes }, handle: place.self };
    return [trouble("sent_ahead", facts, first.receivedMs)];
  });
}

function clockDiffers(core: Core, peer: string, lines: readonly HeldLine[]): TroubleView[] {
  const beat = latestBeat(core, peer);
  if (beat === undefined) return [];
  const behindMs = beat.receivedMs - beat.sentMs;
  const isAfter = lines.some(({ receivedMs }) => receivedMs < beat.receivedMs);
  const isBehind = beat.isLive && isAfter && behindMs > CLOCK_DIFFERS_MS;
  const difference = isBehind
    ? `its heartbeats are dated ${Math.round(behindMs / MINUTE_MS)} min behind ours`
    : datesAhead(core, peer);
  if (difference === undefined) return [];
  return [trouble("clock_skew", { peer, difference }, beat.receivedMs)];
}

/** How the heartbeats of a peer are dated ahead of our clock, so that none shows that it lives. */
export function datesAhead(known: Pick<Known, "store" | "place">, peer: string) {
  const beat = latestBeat(known, peer);
  if (beat?.isLive !== true) return undefined;
  const { sentMs: datedMs, receivedMs } = beat;
  const skewMs = known.place.limits.max_clock_skew_seconds * SECOND_MS;
  if (!isDatedAhead({ datedMs, receivedMs }, skewMs)) return undefined;
  return `its heartbeats are dated ${Math.round((datedMs - receivedMs) / MINUTE_MS)} min ahead of ours`;
}

function latestBeat({ store, place }: Pick<Known, "store" | "place">, peer: string) {
  const n = store.beats(place.self).latest(peer);
  return n === undefined ? undefined : store.line(n);
}

/**
 * Messages of ours that a peer does not take in, although its heartbeats arrive: it waits for the comparison of
 * digits, or it holds our chain. What waits because of a clock is in `clockTroubles`.
 */
function undelivered(core: Core, underWay: readonly UnderWay[]): TroubleView[] {
  const { place, store, world } = core;
  return underWay.flatMap(({ peer, lines }): TroubleView[] => {
    const life = store.beats(place.self).life(peer);
    const isHeard = presence(life, place.tiers, world.clock.wallMs()) === "online";
    const seenMs = isHeard && !isHeld(core, peer) ? (life?.receivedMs ?? 0) : 0;
    const mail = awaitsComparison(core, peer) ? lines.filter(({ type }) => !isState(type)) : [];
    const late = lines.filter(({ receivedMs }) => seenMs - receivedMs >= DELIVERED_WITHIN_MS);
    const of = (code: "mail_waits" | "undelivered", [oldest, ...more]: readonly HeldLine[]) =>
      oldest === undefined
        ? []
        : [trouble(code, { peer, messages: more.length + 1 }, oldest.receivedMs)];
    return [...of("mail_waits", mail), ...of("undelivered", late)];
  });
}

function incidentTroubles({ incidents, owed_by_me, left_out }: StatusFacts): TroubleView[] {
  const owed = new Set(owed_by_me.map(({ event_id }) => event_id));
  return [
    ...incidents.map(({ event_id, from: author, severity, status, subject, raised_at }) => {
      const facts = { author, severity, status, subject, id: event_id.slice(0, SHOWN_ID) };
      const code = owed.has(event_id) ? "incident_unacked" : "incident_open";
      return trouble(code, facts, raised_at);
    }),
    ...(left_out.incidents === 0
      ? []
      : [trouble("incidents_left_out", { count: left_out.incidents })]),
  ];
}

/** Incidents are listed by themselves. */
function overdueTroubles(
  code: "overdue" | "overdue_by_peers",
  owed: readonly ObligationView[],
): TroubleView[] {
  const overdue = owed.filter((each) => each.overdue && each.type !== "incident");
  const [oldest] = overdue;
  if (oldest === undefined) return [];
  return [trouble(code, { count: overdue.length, subject: oldest.subject }, oldest.due_at)];
}

/** What stops all lines of ours. */
export function sendingStops({ session }: Pick<Asked, "session">): TroubleView[] {
  const { readiness, place, members } = session.core;
  return [
    ...(members.has(place.self) ? [] : [trouble("left_wire", { handle: place.self })]),
    ...(readiness.is === "ready" ? [] : [stopOf(session, readiness)]),
  ];
}

/** What stops most types. */
export function safeModeTroubles({ safeMode: mode, place: { self } }: Core): TroubleView[] {
  if (mode === undefined) return [];
  const { author, of: silent, since } = mode;
  const end = ownSafeModeEnd(mode, self) ?? safeModeEnd(mode, self, "agent");
  return [trouble("safe_mode", { author, silent, end }, since)];
}

/** Why nothing is signed. Spec 1.6. */
export function stopOf(
  { core, config }: Pick<Session, "core" | "config">,
  readiness: Exclude<Readiness, { is: "ready" }>,
): TroubleView {
  const { self: handle } = core.place;
  switch (readiness.is) {
    case "unmarked":
      return trouble("mark_missing", { handle });
    case "in use":
      return trouble("identity_in_use", { seq: readiness.at });
    case "behind": {
      const { mark, whole: held } = readiness;
      return trouble("own_lines_missing", { handle, mark, held, folder: config.wire.folder });
    }
  }
}

/** How many lines of ours wait for the disk. */
export function countWaiting({ session: { core }, diskTroubles }: Asked): number {
  if (diskTroubles.length === 0) return 0;
  const through = Math.min(...core.transports.map(({ publishedThrough }) => publishedThrough));
  return Math.max(0, core.store.chains.whole(core.place.self).seq - through);
}

function peerTroubles({ handle: peer, held, presence: is, last_seen_at, waits }: PeerView) {
  return [
    ...(held ? [trouble("peer_held", { peer })] : []),
    ...waits.map(({ place: _, ...wait }) => wait),
    ...(is === "silent" ? [trouble("peer_silent", { peer }, last_seen_at)] : []),
  ];
}

function policyTroubles({ core, config }: Pick<Session, "core" | "config">): TroubleView[] {
  try {
    const { lines } = pendingPolicy(core.world.disk, config);
    return lines.length === 0 ? [] : [trouble("config_drift", { differences: lines.join("; ") })];
  } catch (error) {
    if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
    return [trouble("config_drift", { differences: error.message })];
  }
}
