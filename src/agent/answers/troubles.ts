import { DeaddropError } from "../../api/errors.ts";
import { asTrouble, trouble, type StorageView, type TroubleView } from "../../api/troubles.ts";
import { presence } from "../../protocol/beats/life.ts";
import { ownSafeModeEnd, safeModeEnd } from "../../protocol/escalations/safe-mode-end.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import type { HeldLine } from "../../store/store.ts";
import { isState } from "../../trust/tiers.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import { quote } from "../../wire/quote.ts";
import { pendingPolicy } from "../config/pending-policy.ts";
import type { Core } from "../core.ts";
import type { Readiness } from "../lines/own-lines.ts";
import type { Session } from "../session/session.ts";
import type { Asked } from "./asked.ts";
import { readHeld } from "./messages.ts";
import { isHeld } from "./listed.ts";
import { otherMembers, type PeerView } from "./peers.ts";
import type { ObligationView } from "./pending.ts";
import { awaitsComparison, isUnderWay, receiptsOf } from "./sent.ts";
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
  const { core } = session;
  const { running } = status.daemon;
  const underWay = findUnderWay(core);
  return [
    ...(running ? [] : [noDaemon(status.wire_dir, status.handle)]),
    ...sendingStops(asked),
    ...storageView(asked).troubles.map(({ area, detail, hint, since }) =>
      trouble("storage", `${area}: ${detail}`, hint, since),
    ),
    ...status.peers.flatMap((peer) => peerTroubles(peer, running)),
    ...clockTroubles(core, underWay),
    ...undelivered(core, underWay),
    ...incidentTroubles(status),
    ...overdueTroubles(status.owed_by_me, "you owe", "deaddrop pending"),
    ...overdueTroubles(status.owed_to_me, "others owe you", "deaddrop team"),
    ...policyTroubles(session),
    ...unreadNotices(status),
    ...unreadIncidentNotices(core),
  ];
}

function unreadNotices({ notices }: Pick<StatusFacts, "notices">): TroubleView[] {
  if (notices === 0) return [];
  const detail = notices === 1 ? "1 notice is not read" : `${notices} notices are not read`;
  return [trouble("notices", detail, "deaddrop notices --unread --mark-read")];
}

/** What happened and may be over: it is wrong until the operator has seen it. */
function unreadIncidentNotices({ store }: Core): TroubleView[] {
  const { unread, newest } = store.told.unread();
  if (unread === 0 || newest === undefined) return [];
  const many = unread === 1 ? "1 notice of" : `${unread} notices, the newest of`;
  const { subject, peer, atMs } = newest;
  const detail = `your operator has not read ${many} ${peer ?? "this agent"}: ${subject}`;
  const end = "deaddrop incident notices --mark-read";
  return [trouble("incident_notices", detail, end, atMs)];
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
 * Messages of ours that wait at peers because of a clock: ours was ahead when they were dated, or it still
 * is, by what the peers' heartbeats say. Spec 2.4.
 */
export function clockTroubles(core: Core, underWay = findUnderWay(core)): TroubleView[] {
  const { place, store, world } = core;
  return underWay.flatMap(({ peer, lines, ahead }): TroubleView[] => {
    const [first, ...more] = ahead;
    if (first !== undefined) {
      const aheadMs = Math.max(...ahead.map(({ sentMs }) => sentMs)) - world.clock.wallMs();
      const others = more.length === 0 ? "" : ` and ${more.length} more`;
      const { subject } = readHeld(place.wireId, first);
      const detail = `your ${first.type} ${quote(subject)}${others} to ${peer} is dated ${Math.round(aheadMs / MINUTE_MS)} min ahead of this machine's clock, and waits there`;
      const end = `compare this machine's clock with a time server (timedatectl); ${peer}'s operator may let it pass as it is: deaddrop peer reset ${place.self}`;
      return [trouble("clock", detail, end, first.receivedMs)];
    }
    const beatN = store.beats(place.self).latest(peer);
    const beat = beatN === undefined ? undefined : store.line(beatN);
    if (beat === undefined) return [];
    const behindMs = beat.receivedMs - beat.sentMs;
    const isAfter = lines.some(({ receivedMs }) => receivedMs < beat.receivedMs);
    if (!beat.isLive || !isAfter || behindMs <= CLOCK_DIFFERS_MS) return [];
    const detail = `the heartbeats of ${peer} are dated ${Math.round(behindMs / MINUTE_MS)} min behind this machine's clock`;
    const end = `compare the clocks of both machines with a time server (timedatectl)`;
    return [trouble("clock", detail, end)];
  });
}

/**
 * Messages of ours that a peer does not take in, although its heartbeats arrive: it waits for the comparison of
 * digits, or it holds our chain. What waits because of a clock is in `clockTroubles`.
 */
function undelivered(core: Core, underWay: readonly UnderWay[]): TroubleView[] {
  const { place, store, world } = core;
  return underWay.flatMap(({ peer, lines, ahead }): TroubleView[] => {
    if (ahead.length > 0) return [];
    const life = store.beats(place.self).life(peer);
    const isHeard = presence(life, place.tiers, world.clock.wallMs()) === "online";
    const mail = lines.filter(({ type }) => !isState(type));
    const isUncompared = mail.length > 0 && awaitsComparison(core, peer);
    const seenMs = isHeard && !isHeld(core, peer) ? (life?.receivedMs ?? 0) : 0;
    const late = isUncompared
      ? mail
      : lines.filter(({ receivedMs }) => seenMs - receivedMs >= DELIVERED_WITHIN_MS);
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
    return [trouble("undelivered", detail, end, oldest.receivedMs)];
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
    ...incidents.map(({ event_id, from, severity, status, subject, raised_at }) => {
      const id = event_id.slice(0, SHOWN_ID);
      const resolve = `deaddrop incident resolve ${id}`;
      const detail = `${severity} incident of ${from}, ${status}: ${subject}`;
      const others = from === self ? resolve : `have ${from} resolve it: ${resolve} --as ${from}`;
      const end = owed.has(event_id) ? `deaddrop incident ack ${id}` : others;
      return trouble("incident", detail, end, raised_at);
    }),
    ...(left_out.incidents === 0
      ? []
      : [
          trouble(
            "incident",
            `${left_out.incidents} more incidents are not resolved`,
            "deaddrop incident list",
          ),
        ]),
  ];
}

/** Incidents are listed by themselves. */
function overdueTroubles(owed: readonly ObligationView[], who: string, end: string): TroubleView[] {
  const overdue = owed.filter((each) => each.overdue && each.type !== "incident");
  const [oldest] = overdue;
  if (oldest === undefined) return [];
  const count = overdue.length === 1 ? "an answer that is" : `${overdue.length} answers that are`;
  const detail = `${who} ${count} overdue, ${overdue.length === 1 ? "" : "the oldest "}to: ${oldest.subject}`;
  return [trouble("overdue", detail, end, oldest.due_at)];
}

/** Peers that wait for a heartbeat of ours take us for silent. */
export function noDaemon(wireDir: string, handle: string): TroubleView {
  return trouble(
    "daemon",
    "no daemon runs: messages are received only while a command runs, and no heartbeat is sent",
    `deaddrop service install --wire ${wireDir} --as ${handle}, or deaddrop daemon --detach`,
  );
}

/** What stops lines of ours: all of them, or most types. */
export function sendingStops({ session }: Pick<Asked, "session">): TroubleView[] {
  const { readiness, safeMode, place, members } = session.core;
  const { self } = place;
  const stops: TroubleView[] = [];
  if (!members.has(self)) {
    const end = `a member lets it come back: deaddrop member add ${self}`;
    stops.push(trouble("sending", `${self} has left this wire`, end));
  }
  if (readiness.is !== "ready") stops.push(stopOf(session, readiness));
  if (safeMode !== undefined) {
    const { of, author, since } = safeMode;
    const detail = `${of} did not ack an incident of ${author}, so most types are not sent`;
    const end = ownSafeModeEnd(safeMode, self) ?? safeModeEnd(safeMode, self, "agent");
    stops.push(trouble("safe_mode", detail, end, since));
  }
  return stops;
}

/** Why nothing is signed. Spec 1.6. */
export function stopOf(
  { core, config }: Pick<Session, "core" | "config">,
  readiness: Exclude<Readiness, { is: "ready" }>,
): TroubleView {
  const { self } = core.place;
  switch (readiness.is) {
    case "unmarked":
      return trouble(
        "sending",
        `nothing says what the key of ${self} has signed: it was restored, or it is used elsewhere`,
        "deaddrop reclaim",
      );
    case "in use":
      return trouble(
        "sending",
        `line ${readiness.at} of ${self} is on the wire, and nothing here has signed it`,
        "deaddrop reclaim",
      );
    case "behind":
      return trouble(
        "sending",
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

function peerTroubles(peer: PeerView, hasDaemon: boolean): TroubleView[] {
  const { handle, held, presence: is, last_seen_at, waits } = peer;
  if (held) {
    const detail = `${handle} is held: no mail of it is delivered; deaddrop peer show ${handle} says why`;
    return [trouble("held", detail, `deaddrop peer reset ${handle}`)];
  }
  const waiting = waits.map(({ because, detail, since }) =>
    trouble("waiting", `lines of ${handle} wait: ${detail}`, endOf(handle, because), since),
  );
  // Without a daemon nobody listens, and a silence says nothing of the peer.
  if (is !== "silent" || !hasDaemon) return waiting;
  const detail = `${handle} is silent: its daemon has stopped, or what it writes does not get here`;
  const end = `have its operator run deaddrop doctor as ${handle}, where ${handle} runs`;
  return [trouble("silent", detail, end, last_seen_at), ...waiting];
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
  return trouble("policy", detail, "deaddrop config accept");
}
