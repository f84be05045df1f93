import { incidentOf } from "../../api/troubles.ts";
import { isHeld } from "../answers/listed.ts";
import { datesAhead } from "../answers/troubles.ts";
import { forkedLines } from "../answers/waits.ts";
import { presence, silenceMs } from "../../protocol/beats/life.ts";
import { safeModeEnd, SHOWN_ID } from "../../protocol/escalations/safe-mode-end.ts";
import { severityOf } from "../../protocol/escalations/incident-line.ts";
import { incidentTrouble } from "../../protocol/escalations/silence.ts";
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
      const facts = {
        ...{ peer: author, reason: verdict, line: `${quote(type)} ${id.slice(0, SHOWN_ID)}` },
      };
      const matter = hourlyKey(`${author}:${verdict}`, receivedMs);
      ground.tell(into, { ...incidentOf("line_refused", facts, matter), cause: verdict });
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
      yield incidentOf("foreign_lines", { owner, lines, bytes }, `${owner}:${hour}`);
    }
  };
}

function* identity({ readiness }: Known): Generator<OperatorIncident> {
  if (readiness.is !== "in use") return;
  const { at: seq } = readiness;
  yield incidentOf("identity_in_use", { seq }, String(seq));
}

function* forks({ store, place: { self } }: Known): Generator<OperatorIncident> {
  for (const [peer, seq] of store.chains.forks()) {
    if (peer === self) continue;
    const lines = forkedLines(store, peer, seq);
    yield incidentOf("log_forked", { peer, seq, lines }, `${peer}:${seq}`);
  }
}

function* rosterFork({ roster: { isForked, after } }: Known): Generator<OperatorIncident> {
  const matter = typeof after === "number" ? String(after) : after.id;
  if (isForked) yield incidentOf("roster_forked", {}, matter);
}

function* gaps({ store, world, place: { self } }: Known): Generator<OperatorIncident> {
  for (const { author: peer, sinceMs } of store.chains.gaps(world.clock.wallMs() - GAP_MS)) {
    const { seq } = store.chains.whole(peer);
    if (peer !== self) yield incidentOf("log_gap", { peer, seq }, `${peer}:${sinceMs}`);
  }
}

function* shorterCarriers({ lastPass, world }: Known): Generator<OperatorIncident> {
  for (const [name, peer] of lastPass?.shorter ?? []) {
    const facts = { peer, file: quote(name, MOST_PATH) };
    yield incidentOf("log_behind", facts, hourlyKey(name, world.clock.wallMs()));
  }
}

function* unreadable({ lastPass, world }: Known): Generator<OperatorIncident> {
  for (const [carrier, { message }] of lastPass?.troubles ?? []) {
    const problem = `${quote(carrier, MOST_PATH)}: ${message}`;
    const matter = hourlyKey(carrier, world.clock.wallMs());
    yield incidentOf("log_unreadable", { problem }, matter);
  }
}

function* unownedLogs({ transports }: Known): Generator<OperatorIncident> {
  for (const path of transports.flatMap(({ unowned = [] }) => unowned))
    yield incidentOf("unowned_log", { files: quote(path, MOST_PATH) }, path);
}

const PLACES = { git: "the remote", folder: "the wire's folder" };

/** What was found in a place of the wire and is not taken. Spec 5.2. */
function* transportTroubles({ transports }: Known): Generator<OperatorIncident> {
  for (const transport of transports)
    for (const { cause, where, detail: problem } of transport.health().troubles) {
      const matter = sha256Hex(Buffer.from(`${where}\n${problem}`)).slice(0, 16);
      yield incidentOf(cause, { place: PLACES[transport.kind], where, problem }, matter);
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
    const matter = `${peer}:${life.receivedMs}`;
    const difference = datesAhead(known, peer);
    yield difference === undefined
      ? incidentOf("peer_silent", { peer }, matter)
      : incidentOf("clock_skew", { peer, difference }, matter);
  }
}

function* ownIncidents(known: Known): Generator<OperatorIncident> {
  const { history, situation, place, store, world } = known;
  for (const { place: incident, by: peer } of store.owed.incidents(
    place.self,
    "raised",
    MOST_INCIDENTS,
  )) {
    if (!isChained(incident) || !situation.chains(peer)) continue;
    // A deadline runs out only when all is read that the addressee had written.
    if (known.knownMs(peer) === undefined || isHeld(known, peer)) continue;
    const addressee = {
      ...{ incident, of: peer, whole: situation.whole(peer), cadenceMs: known.cadenceMs(peer) },
    };
    const cause = incidentTrouble(history, addressee, world.clock.wallMs());
    const line = history.linked(incident);
    if (cause === undefined || line === undefined) continue;
    const { subject } = line;
    const severity = severityOf(line) ?? "medium";
    const facts = { peer, subject, severity, id: incident.id.slice(0, SHOWN_ID) };
    yield incidentOf(cause, facts, `${incident.id}:${peer}`);
  }
}

function* safeMode({ safeMode: mode, place: { self } }: Known): Generator<OperatorIncident> {
  if (mode === undefined || mode.author === self) return;
  const { author, of: silent, escalation_id } = mode;
  const facts = { author, silent, end: safeModeEnd(mode, self, "operator") };
  yield incidentOf("safe_mode", facts, escalation_id);
}

/** Of a matter that is told once in each hour of our clock. */
function hourlyKey(matter: string, atMs: number): string {
  return `${matter}:${Math.floor(atMs / HOUR_MS)}`;
}
