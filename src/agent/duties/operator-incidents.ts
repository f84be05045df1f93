import { isHeld } from "../answers/listed.ts";
import { presence, silenceMs } from "../../protocol/beats/life.ts";
import { safeModeEnd, SHOWN_ID } from "../../protocol/escalations/safe-mode-end.ts";
import { severityOf } from "../../protocol/escalations/incident-line.ts";
import { incidentTrouble, type IncidentTrouble } from "../../protocol/escalations/silence.ts";
import type { OperatorIncident } from "../../store/told.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";
import { isChained } from "../../wire/places.ts";
import { quote } from "../../wire/quote.ts";
import type { Charge } from "../lines/allowances.ts";
import type { Pass } from "../lines/carrier-reading.ts";
import type { Duty, Ground, Known } from "./duty.ts";

/** A gap that lasts so long is told. Spec 1.6. */
const GAP_MS = 10 * MINUTE_MS;
/** What is not authentic in carriers of one owner is told when it is more within an hour. 2.4. */
const QUIET: Charge = { lines: 100, bytes: 64 * 1024 };
/** Incidents of ours that are looked at for addressees that do not get or read them. */
const MOST_INCIDENTS = 256;
/** Of paths that a peer chooses. */
const MOST_PATH = 200;
const ACCEPTED: ReadonlySet<string | null> = new Set(["mail", "passed", null]);

type Raiser = (known: Known) => Iterable<OperatorIncident>;
const RAISERS: readonly Raiser[] = [
  identity,
  ...[forks, rosterFork, gaps, shorterCarriers, unreadable],
  ...[ownIncidents, safeMode, silentPeers, unownedLogs, transportTroubles],
];

/**
 * Tells our operator what follows from the store and from the last pass over the carriers. Everything is raised as
 * long as it is true, and told once. Spec 3.5.
 */
export function operatorIncidents(ground: Ground): Duty {
  const countJunk = junkCounter(ground);
  let pass: Pass | undefined;
  return {
    /** A line that its author has signed and that is refused: once for each author, reason and hour. 2.4. */
    take(into, { author, verdict, isLive, receivedMs, type, id }) {
      if (!isLive || verdict === null || ACCEPTED.has(verdict)) return;
      ground.tell(into, {
        key: hourlyKey(`refused:${author}:${verdict}`, receivedMs),
        cause: verdict,
        peer: author,
        subject: `a line of ${author} was refused: ${verdict}`,
        detail: `${quote(type)} ${id.slice(0, SHOWN_ID)}: it is held and not delivered${REFUSAL_HINTS[verdict]?.(author) ?? ""}`,
      });
    },

    decide(into) {
      const { lastPass } = ground;
      // Nothing new is true before carriers were read again.
      if (lastPass === undefined || lastPass === pass) return false;
      pass = lastPass;
      for (const raise of [...RAISERS, countJunk])
        for (const incident of raise(ground)) ground.tell(into, incident);
      return false;
    },
  };
}

/** It is about no peer: any program may have written that. */
function junkCounter({ world }: Known): Raiser {
  /** Of this hour of the clock, by the owner of the carriers. */
  const counts = new Map<string, Charge>();
  let countedHour = 0;
  return function* countJunk({ lastPass }) {
    const hour = Math.floor(world.clock.wallMs() / HOUR_MS);
    if (hour !== countedHour) counts.clear();
    countedHour = hour;
    for (const [owner, { lines, bytes }] of lastPass?.junk ?? []) {
      const before = counts.get(owner) ?? { lines: 0, bytes: 0 };
      counts.set(owner, { lines: before.lines + lines, bytes: before.bytes + bytes });
    }
    // What it says is right for longer when no more of it waits.
    if (lastPass?.hasMore === true) return;
    for (const [owner, { lines, bytes }] of counts) {
      if (lines <= QUIET.lines && bytes <= QUIET.bytes) continue;
      yield {
        key: `foreign_lines:${owner}:${hour}`,
        cause: "foreign_lines",
        subject: `the carriers of ${owner} hold lines that ${owner} did not sign`,
        detail: `${lines} lines (${bytes} bytes) of them came within this hour; they prove nothing about ${owner} and are passed over. See who may write its files`,
      };
    }
  };
}

const REFUSAL_HINTS: Readonly<Partial<Record<string, (author: string) => string>>> = {
  clock_skew: (author) =>
    `; it is not delivered: have ${author}'s operator set the clock, and ${author} send it again`,
  tier_refused: (author) => `; how far you believe ${author}: deaddrop trust list`,
};

function* identity({ readiness, place: { self } }: Known): Generator<OperatorIncident> {
  if (readiness.is !== "in use") return;
  yield {
    key: `identity_in_use:${readiness.at}`,
    cause: "identity_in_use",
    subject: "our key is used elsewhere",
    detail: `line ${readiness.at} of ${self} carries our signature, and we did not write it; nothing more is sent until you decide: stop the other copy, then: deaddrop reclaim`,
    concernsWire: true,
  };
}

function* forks({ store, place: { self } }: Known): Generator<OperatorIncident> {
  for (const [author, seq] of store.chains.forks()) {
    if (author === self) continue;
    const rivals = store.chains.rivals(author, seq).slice(0, 2);
    const ids = rivals.map(({ place }) => place.id.slice(0, SHOWN_ID)).join(" and ");
    const what = rivals.length > 1 ? "contradict each other" : "contradicts the line before it";
    yield {
      key: `log_forked:${author}:${seq}`,
      cause: "log_forked",
      peer: author,
      subject: `the chain of ${author} is forked at line ${seq}`,
      detail: `${ids} ${what}; nothing more of ${author} is delivered until you decide which is followed: deaddrop peer show ${author}`,
      concernsWire: true,
    };
  }
}

function* rosterFork({ roster: { isForked, after } }: Known): Generator<OperatorIncident> {
  if (!isForked) return;
  const place = typeof after === "number" ? String(after) : after.id;
  yield {
    key: `roster_forked:${place}`,
    cause: "roster_forked",
    subject: "two changes of members were approved that follow the same one",
    detail:
      "neither is applied, nor any later one. The operators agree on the roster, raise roster_epoch in config.json, and each runs: deaddrop config accept",
    concernsWire: true,
  };
}

function* gaps({ store, world, place: { self } }: Known): Generator<OperatorIncident> {
  for (const { author, sinceMs } of store.chains.gaps(world.clock.wallMs() - GAP_MS)) {
    if (author === self) continue;
    const { seq } = store.chains.whole(author);
    yield {
      key: `log_gap:${author}:${sinceMs}`,
      cause: "log_gap",
      peer: author,
      subject: `lines of ${author} are missing`,
      detail: `what follows line ${seq} is here without the lines between since ${new Date(sinceMs).toISOString()}; it is delivered, marked after_gap, and the missing lines are asked for`,
      concernsWire: true,
    };
  }
}

function* shorterCarriers({ lastPass, world }: Known): Generator<OperatorIncident> {
  for (const [name, owner] of lastPass?.shorter ?? [])
    yield {
      key: hourlyKey(`log_behind:${name}`, world.clock.wallMs()),
      cause: "log_behind",
      peer: owner,
      subject: `${quote(name, MOST_PATH)} lacks lines that it had`,
      detail: `what we hold of ${owner} stays; find out who has cut that file, or put an older copy of it there`,
      concernsWire: true,
    };
}

function* unreadable({ lastPass, world }: Known): Generator<OperatorIncident> {
  for (const [carrier, { message, hint }] of lastPass?.troubles ?? [])
    yield {
      key: hourlyKey(`log_unreadable:${carrier}`, world.clock.wallMs()),
      cause: "log_unreadable",
      subject: `${quote(carrier, MOST_PATH)} cannot be read`,
      detail: `${message}; ${hint}`,
    };
}

function* unownedLogs({ transports }: Known): Generator<OperatorIncident> {
  for (const path of transports.flatMap(({ unowned = [] }) => unowned))
    yield {
      key: `unowned_log:${path}`,
      cause: "unowned_log",
      subject: `nobody reads ${quote(path, MOST_PATH)}`,
      detail:
        "its name is that of no agent of this wire: what is said in it counts for nothing. Remove it, or find out who means to speak there",
    };
}

const PLACES = { git: "the remote", folder: "the wire's folder" };

/** What was found in a place of the wire and is not taken. Spec 5.2. */
function* transportTroubles({ transports }: Known): Generator<OperatorIncident> {
  for (const transport of transports)
    for (const { cause, where, detail } of transport.health().troubles) {
      const place = PLACES[transport.kind];
      const subjects = {
        wire_tampered: `${place} holds what does not belong there`,
        history_rewritten: `the history of ${place} was rewritten`,
        foreign_wire: `${place} is another wire`,
      };
      const matter = sha256Hex(Buffer.from(`${where}\n${detail}`)).slice(0, 16);
      yield {
        key: `${cause}:${matter}`,
        cause,
        subject: `${subjects[cause]}: ${where}`,
        detail,
      };
    }
}

function* silentPeers(known: Known): Generator<OperatorIncident> {
  const { members, place, store, world } = known;
  for (const peer of members.keys()) {
    const life = peer === place.self ? undefined : store.beats(place.self).life(peer);
    if (life === undefined || presence(life, place.tiers, world.clock.wallMs()) !== "silent")
      continue;
    // What it wrote since may only not be here yet.
    const readMs = known.knownMs(peer) ?? -Infinity;
    if (readMs < life.receivedMs + silenceMs(known.cadenceMs(peer)) || isHeld(known, peer))
      continue;
    yield {
      key: `peer_silent:${peer}:${life.receivedMs}`,
      cause: "peer_silent",
      peer,
      subject: `${peer} is silent`,
      detail: `the last heartbeat of ${peer} reached us at ${new Date(life.receivedMs).toISOString()}; its daemon has stopped, or what it writes does not reach this wire`,
    };
  }
}

const INCIDENT_WORDS: Readonly<
  Record<IncidentTrouble, (peer: string) => { readonly subject: string; readonly detail: string }>
> = {
  incident_unread: (peer) => ({
    subject: `the agent of ${peer} has not read an incident`,
    detail: `nothing escalates while that is so: reach ${peer} by another way`,
  }),
  incident_not_covered: (peer) => ({
    subject: `an incident has not reached ${peer}`,
    detail: `no heartbeat of ${peer} shows that it has arrived, so it cannot be escalated: reach ${peer} by another way`,
  }),
};

function* ownIncidents(known: Known): Generator<OperatorIncident> {
  const { history, onlookers, place, store, world } = known;
  for (const { place: incident, by: peer } of store.owed.incidents(
    place.self,
    "raised",
    MOST_INCIDENTS,
  )) {
    if (!isChained(incident) || !onlookers.chains(peer)) continue;
    // A deadline runs out only when all is read that the addressee had written.
    if (known.knownMs(peer) === undefined || isHeld(known, peer)) continue;
    const addressee = {
      ...{ incident, of: peer, whole: onlookers.whole(peer), cadenceMs: known.cadenceMs(peer) },
    };
    const cause = incidentTrouble(history, addressee, world.clock.wallMs());
    const line = history.linked(incident);
    if (cause === undefined || line === undefined) continue;
    const { subject, detail } = INCIDENT_WORDS[cause](peer);
    yield {
      key: `${cause}:${incident.id}:${peer}`,
      cause,
      peer,
      subject: `${subject}: ${line.subject}`,
      detail: `${severityOf(line) ?? "medium"}, ${incident.id.slice(0, SHOWN_ID)}; ${detail}`,
    };
  }
}

function* safeMode({ safeMode: mode, place: { self } }: Known): Generator<OperatorIncident> {
  if (mode === undefined || mode.author === self) return;
  const [escalation, incident] = [mode.escalation_id, mode.incident_id];
  yield {
    key: `safe_mode:${escalation}`,
    cause: "safe_mode",
    subject: `safe mode: ${mode.of} did not ack an incident of ${mode.author}`,
    detail: `since ${mode.since}, by escalation ${escalation.slice(0, SHOWN_ID)} of incident ${incident.slice(0, SHOWN_ID)}; ${safeModeEnd(mode, self, "operator")}`,
  };
}

/** Of a matter that is told once in each hour of our clock. */
function hourlyKey(matter: string, atMs: number): string {
  return `${matter}:${Math.floor(atMs / HOUR_MS)}`;
}
