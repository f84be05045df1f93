import { DeaddropError } from "../../api/errors.ts";
import { asTrouble, type StorageView, type TroubleView } from "../../api/troubles.ts";
import { presence } from "../../protocol/beats/life.ts";
import {
  ownSafeModeEnd,
  safeModeEnd,
  type SafeMode,
} from "../../protocol/escalations/safe-mode-end.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { HeldLine } from "../../store/store.ts";
import { isState } from "../../trust/tiers.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import { quote } from "../../wire/quote.ts";
import { pendingPolicy } from "../config/pending-policy.ts";
import type { Readiness } from "../lines/own-lines.ts";
import type { Session } from "../session/session.ts";
import type { Asked } from "./asked.ts";
import { readHeld } from "./messages.ts";
import { otherMembers, type PeerView } from "./peers.ts";
import type { ObligationView } from "./pending.ts";
import { awaitsComparison, receiptView } from "./sent.ts";
import type { StatusFacts } from "./status.ts";
import type { WaitView } from "./waits.ts";

/** A peer whose heartbeat arrives so long after a message of ours has that message too, if all is well. */
const DELIVERED_WITHIN_MS = 10 * MINUTE_MS;
/** A live heartbeat is not under way for so long: one of two clocks is wrong. */
const CLOCK_DIFFERS_MS = 15 * MINUTE_MS;
/** Messages of ours that are looked at, the newest ones. */
const MOST_SENT = 128;
/** Enough of an id to name a message by. */
const SHOWN_ID = 10;

/**
 * All that any view of this agent calls wrong, the most urgent first: `status --check` and `doctor` both print
 * this, and call nothing wrong only where this is empty. Spec 4.4.
 */
export function troublesView(asked: Asked, status: StatusFacts): TroubleView[] {
  const { session } = asked;
  const { running } = status.daemon;
  return [
    ...(running ? [] : [noDaemon(status.wire_dir, status.handle)]),
    ...sendingStops(asked),
    ...storageTroubles(asked),
    ...status.peers.flatMap((peer) => peerTroubles(peer, running)),
    ...clockTroubles(session),
    ...undelivered(session),
    ...incidentTroubles(status),
    ...overdueTroubles(status.owed_by_me, "you owe", "deaddrop pending"),
    ...overdueTroubles(status.owed_to_me, "others owe you", "deaddrop team"),
    ...policyTroubles(session),
    ...unreadNotices(status),
    ...unreadIncidentNotices(session),
  ];
}

function unreadNotices({ notices }: Pick<StatusFacts, "notices">): TroubleView[] {
  if (notices === 0) return [];
  const detail = notices === 1 ? "1 notice is not read" : `${notices} notices are not read`;
  return [{ what: "notices", detail, end: "deaddrop notices --unread --mark-read", since: null }];
}

/** What happened and may be over: it is wrong until the operator has seen it. */
function unreadIncidentNotices({ core }: Pick<Session, "core">): TroubleView[] {
  const { unread, newest } = core.store.told.unread();
  if (unread === 0 || newest === undefined) return [];
  const many = unread === 1 ? "1 notice of" : `${unread} notices, the newest of`;
  const { subject, peer, atMs } = newest;
  const detail = `your operator has not read ${many} ${peer ?? "this agent"}: ${subject}`;
  const since = new Date(atMs).toISOString();
  return [
    { what: "incident_notices", detail, end: "deaddrop incident notices --mark-read", since },
  ];
}

/** Mail of ours that a peer has not taken in, the oldest first. */
function underWay({ core }: Pick<Session, "core">, peer: string): HeldLine[] {
  const { store, place } = core;
  return store
    .newestSaid(place.self, MOST_SENT)
    .flatMap((n) => store.line(n) ?? [])
    .filter((line) => {
      const { receipts } = receiptView(core, { event_id: line.id });
      const state = receipts.find(({ to }) => to === peer)?.state;
      return state === "stored" || state === "published";
    })
    .toSorted((one, other) => one.n - other.n);
}

function isDatedAhead({ core }: Pick<Session, "core">, { sentMs }: HeldLine): boolean {
  const { world, place } = core;
  return sentMs - world.clock.wallMs() > place.limits.maxClockSkewSeconds * SECOND_MS;
}

/**
 * Messages of ours that wait at peers because of a clock: ours was ahead when they were dated, or it still
 * is, by what the peers' heartbeats say. Spec 2.4.
 */
export function clockTroubles(session: Pick<Session, "core">): TroubleView[] {
  const { core } = session;
  const { place, store, world } = core;
  const nowMs = world.clock.wallMs();
  return otherMembers(core).flatMap((peer): TroubleView[] => {
    const stored = underWay(session, peer);
    const ahead = stored.filter((each) => isDatedAhead(session, each));
    const [first, ...more] = ahead;
    if (first !== undefined) {
      const far = `${Math.round((Math.max(...ahead.map(({ sentMs }) => sentMs)) - nowMs) / MINUTE_MS)} min`;
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      const { subject } = readHeld(place.wireId, first);
      const detail = `your ${first.type} ${quote(subject)}${others} to ${peer} is dated ${far} ahead of this machine's clock, and waits there`;
      const end = `compare this machine's clock with a time server (timedatectl); ${peer}'s operator may let it pass as it is: deaddrop peer reset ${place.self}`;
      const since = new Date(first.receivedMs).toISOString();
      return [{ what: "clock", detail, end, since }];
    }
    const beatN = store.beats(place.self).latest(peer);
    const beat = beatN === undefined ? undefined : store.line(beatN);
    if (beat === undefined) return [];
    const behindMs = beat.receivedMs - beat.sentMs;
    const isAfter = stored.some(({ receivedMs }) => receivedMs < beat.receivedMs);
    if (!beat.isLive || !isAfter || behindMs <= CLOCK_DIFFERS_MS) return [];
    const detail = `the heartbeats of ${peer} are dated ${Math.round(behindMs / MINUTE_MS)} min behind this machine's clock`;
    const end = `compare the clocks of both machines with a time server (timedatectl)`;
    return [{ what: "clock", detail, end, since: null }];
  });
}

/**
 * Messages of ours that a peer does not take in, although its heartbeats arrive: it waits for the comparison of
 * digits, or it holds our chain. What waits because of a clock is in `clockTroubles`.
 */
function undelivered(session: Pick<Session, "core">): TroubleView[] {
  const { core } = session;
  const { place, store, world } = core;
  return otherMembers(core).flatMap((peer): TroubleView[] => {
    const stored = underWay(session, peer);
    if (stored.some((each) => isDatedAhead(session, each))) return [];
    const life = store.beats(place.self).life(peer);
    const isHeld =
      place.believed(peer).heldAfter !== undefined || store.chains.whole(peer).fork !== null;
    const isHeard = presence(life, place.tiers, world.clock.wallMs()) === "online";
    const mail = stored.filter(({ type }) => !isState(type));
    const isUncompared = mail.length > 0 && awaitsComparison(core, peer);
    const seenMs = life?.receivedMs ?? -Infinity;
    const late = isUncompared
      ? mail
      : stored.filter(
          ({ receivedMs }) => isHeard && !isHeld && seenMs - receivedMs >= DELIVERED_WITHIN_MS,
        );
    const [oldest] = late;
    if (oldest === undefined) return [];
    const count = late.length === 1 ? "1 message" : `${late.length} messages`;
    const why = isUncompared
      ? "until its operator has compared digits with you"
      : "although its heartbeats arrive";
    const end = isUncompared
      ? `deaddrop trust sas ${peer}, on both sides`
      : `have its operator run deaddrop status --check as ${peer}, and compare the clocks of both machines (timedatectl)`;
    const detail = `${peer} does not take in ${count} of yours ${why}`;
    const since = new Date(oldest.receivedMs).toISOString();
    return [{ what: "undelivered", detail, end, since }];
  });
}

function incidentTroubles({
  handle: self,
  incidents,
  owed_by_me,
  left_out,
}: StatusFacts): TroubleView[] {
  const owed = new Set(owed_by_me.map(({ event_id }) => event_id));
  return [
    ...incidents.map(({ event_id, from, severity, status, subject, raised_at }): TroubleView => {
      const id = event_id.slice(0, SHOWN_ID);
      const resolve = `deaddrop incident resolve ${id}`;
      const detail = `${severity} incident of ${from}, ${status}: ${subject}`;
      const others = from === self ? resolve : `have ${from} resolve it: ${resolve} --as ${from}`;
      const end = owed.has(event_id) ? `deaddrop incident ack ${id}` : others;
      return { what: "incident", detail, end, since: raised_at };
    }),
    ...(left_out.incidents === 0 ? [] : [moreIncidents(left_out.incidents)]),
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

/** What stops lines of ours: all of them, or most types. */
export function sendingStops({ session }: Pick<Asked, "session">): TroubleView[] {
  const { core } = session;
  const { readiness, safeMode, place, members } = core;
  return [
    ...(members.has(place.self) ? [] : [hasLeft(place.self)]),
    ...(readiness.is === "ready" ? [] : [stopOf(session, readiness)]),
    ...(safeMode === undefined ? [] : [safeModeTrouble(place.self, safeMode)]),
  ];
}

function hasLeft(self: string): TroubleView {
  const end = `a member lets it come back: deaddrop member add ${self}`;
  return { what: "sending", detail: `${self} has left this wire`, end, since: null };
}

/** Why nothing is signed. Spec 1.6. */
export function stopOf(
  { core, config }: Pick<Session, "core" | "config">,
  readiness: Exclude<Readiness, { is: "ready" }>,
): TroubleView {
  const { self } = core.place;
  const stop = (detail: string, end: string): TroubleView => ({
    ...{ what: "sending", detail, end, since: null },
  });
  switch (readiness.is) {
    case "unmarked":
      return stop(
        `nothing says what the key of ${self} has signed: it was restored, or it is used elsewhere`,
        "deaddrop reclaim",
      );
    case "in use":
      return stop(
        `line ${readiness.at} of ${self} is on the wire, and nothing here has signed it`,
        "deaddrop reclaim",
      );
    case "behind":
      return stop(
        `${self} has signed ${readiness.mark} lines and only ${readiness.whole} of them are held; the others are looked for in the files of ${config.wire.folder} and at peers`,
        "deaddrop reclaim --from FILE",
      );
  }
}

/** What the disk does not take, and how many lines of ours wait for it. */
export function storageView({ session: { core }, diskTroubles }: Asked): StorageView {
  const { self } = core.place;
  const through = Math.min(...core.transports.map(({ publishedThrough }) => publishedThrough));
  const waiting = Math.max(0, core.store.chains.whole(self).seq - through);
  return {
    troubles: diskTroubles.map(({ area, error, sinceMs }) => ({
      ...{ area, code: error.code, detail: error.message, hint: error.hint },
      since: new Date(sinceMs).toISOString(),
    })),
    waiting: diskTroubles.length === 0 ? 0 : waiting,
  };
}

function storageTroubles(asked: Asked): TroubleView[] {
  return storageView(asked).troubles.map(({ area, detail, hint, since }) => {
    return { what: "storage", detail: `${area}: ${detail}`, end: hint, since };
  });
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
  const { handle, held, presence: is, last_seen_at, waits } = peer;
  if (held) {
    const detail = `${handle} is held: no mail of it is delivered; deaddrop peer show ${handle} says why`;
    return [{ what: "held", detail, end: `deaddrop peer reset ${handle}`, since: null }];
  }
  const waiting = waits.map((wait) => waitTrouble(handle, wait));
  // Without a daemon nobody listens, and a silence says nothing of the peer.
  if (is !== "silent" || !isHeard) return waiting;
  const silent: TroubleView = {
    what: "silent",
    detail: `${handle} is silent: its daemon has stopped, or what it writes does not get here`,
    end: `have its operator run deaddrop doctor as ${handle}, where ${handle} runs`,
    since: last_seen_at,
  };
  return [silent, ...waiting];
}

function waitTrouble(handle: string, { because, detail, since }: WaitView): TroubleView {
  const what = `lines of ${handle} wait: ${detail}`;
  return { what: "waiting", detail: what, end: endOf(handle, because), since };
}

function endOf(handle: string, because: WaitView["because"]): string {
  if (because === "ahead")
    return `compare this machine's clock with a time server, and with the peer's (timedatectl); to deliver it as it is dated: deaddrop peer reset ${handle}`;
  if (because === "comparison") return `deaddrop trust sas ${handle}`;
  if (because === "gap")
    return `start the daemon of ${handle}, which publishes them again: deaddrop daemon --as ${handle}, where ${handle} runs`;
  if (because === "obstructed") return "look what is there, and move it away: ls -l";
  return `deaddrop peer show ${handle}`;
}

function policyTroubles({ core, config }: Pick<Session, "core" | "config">): TroubleView[] {
  try {
    const { lines } = pendingPolicy(core.world.disk, config);
    return lines.length === 0 ? [] : [pendingTrouble(lines)];
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
