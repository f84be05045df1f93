import type { AutomaticIncident } from "./effects.ts";
import type { CoreEvent, ResetEvent } from "./events.ts";
import { HOUR_MS } from "../wire/durations.ts";

/** Spec 3.5, 3.12: at most so many of each kind per peer and hour, then one summary. */
export const MAX_NOTICES_PER_HOUR = 6;
/** Keys of told matters that are remembered, oldest forgotten first. */
const MAX_TOLD = 4_096;
/** Notices kept for the operator's list. */
const MAX_NOTICES = 256;
const SUMMARY = "more_incidents";

export interface Notice {
  readonly at: number;
  readonly cause: string;
  readonly peer: string | undefined;
  readonly subject: string;
  readonly detail: string;
}

/** What our operator has been told by the daemon. Spec 3.5. */
export interface NoticesState {
  /** When, by key. */
  readonly told: Map<string, number>;
  /** When within the last hour, by peer. */
  readonly recent: Map<string, number[]>;
  notices: Notice[];
  /** How many of the newest notices the operator has not marked as read. */
  unread: number;
}

/** The key of the event that marks all notices as read; it is also the id that `read` takes for it. */
export const NOTICES_READ = "incident-notices";

export function emptyNotices(): NoticesState {
  return { told: new Map(), recent: new Map(), notices: [], unread: 0 };
}

export function applyNotices(state: NoticesState, event: CoreEvent): void {
  if (event.kind === "reset") noteReset(state, event);
  if (event.kind !== "told" || state.told.has(event.key)) return;
  if (event.key === NOTICES_READ) {
    state.unread = 0;
    return;
  }
  const { at, key, peer } = event;
  state.told.set(key, at);
  const oldest = state.told.keys().next().value;
  if (state.told.size > MAX_TOLD && oldest !== undefined) state.told.delete(oldest);
  if (event.cause === undefined) return;
  const who = limitOf(peer, event.cause);
  state.recent.set(who, [...withinHour(state, who, at), at].slice(-MAX_NOTICES_PER_HOUR - 1));
  const { cause, subject = event.cause, detail = "" } = event;
  list(state, { at, cause, peer, subject, detail });
  state.unread = Math.min(state.unread + 1, MAX_NOTICES);
}

/** The operator's decision is listed with the notices that it is about, and counts against no limit. */
function noteReset(state: NoticesState, { at, peer, logs }: ResetEvent): void {
  const detail = logs.map(({ log }) => log).join(", ");
  list(state, {
    at,
    cause: "reset",
    peer,
    subject: `the operator has decided about ${peer}`,
    detail,
  });
}

function list(state: NoticesState, notice: Notice): void {
  state.notices = [...state.notices, notice].slice(-MAX_NOTICES);
}

/** The event that says that an incident was told: the daemon folds it once it has told it. */
export function toldEvent(incident: AutomaticIncident, at: number): CoreEvent {
  const { key, cause, peer, subject, detail } = incident;
  return { kind: "told", key, at, cause, subject, detail, ...(peer === undefined ? {} : { peer }) };
}

/**
 * Which of these to tell now: nothing twice, at most six per peer and hour, then one summary. An
 * incident that is left out comes again by itself, if it is still true when there is room.
 */
export function decideNotices(
  state: NoticesState,
  incidents: readonly AutomaticIncident[],
  nowMs: number,
): AutomaticIncident[] {
  const counts = new Map<string, number>();
  const tell = new Map<string, AutomaticIncident>();
  for (const incident of incidents) {
    if (state.told.has(incident.key) || tell.has(incident.key)) continue;
    const who = limitOf(incident.peer, incident.cause);
    const count = counts.get(who) ?? withinHour(state, who, nowMs).length;
    if (count > MAX_NOTICES_PER_HOUR) continue;
    const last = count === MAX_NOTICES_PER_HOUR;
    const told = last ? summary(incident, nowMs) : incident;
    counts.set(who, count + 1);
    if (!state.told.has(told.key)) tell.set(told.key, told);
  }
  return [...tell.values()];
}

/** The key of a matter that is told once in each hour of our clock. */
export function hourlyKey(matter: string, at: number): string {
  return `${matter}:${Math.floor(at / HOUR_MS)}`;
}

/** Spec 2.4: authentic lines that are refused are told at most once per peer, reason and hour. */
export function refusalKey(peer: string, reason: string, at: number): string {
  return hourlyKey(`refused:${peer}:${reason}`, at);
}

/** Causes that say that a time is over. If our clock was ahead then, they prove nothing. */
const OF_TIME = ["peer_silent", "incident_not_covered", "incident_unread"];

/**
 * Our clock was set back to `at`: no limit counts what seems to have been told later, an hour that is
 * yet to come is not used up, and a silence that only the clock has made may still come. Spec 4.1.
 */
export function setNoticesBack(state: NoticesState, at: number): void {
  for (const [key, toldAt] of state.told) {
    if (toldAt <= at) continue;
    const isOfAnotherHour = key.endsWith(hourlyKey("", toldAt)) && !key.endsWith(hourlyKey("", at));
    if (isOfAnotherHour || OF_TIME.some((cause) => key.startsWith(`${cause}:`))) {
      state.told.delete(key);
    } else state.told.set(key, at);
  }
  for (const [who, times] of state.recent) {
    state.recent.set(
      who,
      times.map((each) => Math.min(each, at)),
    );
  }
  state.notices = state.notices.map((notice) => ({ ...notice, at: Math.min(notice.at, at) }));
}

function withinHour(state: NoticesState, who: string, nowMs: number): readonly number[] {
  return (state.recent.get(who) ?? []).filter((at) => at > nowMs - HOUR_MS);
}

function summary({ peer, cause }: AutomaticIncident, nowMs: number): AutomaticIncident {
  const about = peer === undefined ? `"${cause}"` : peer;
  return {
    key: `${SUMMARY}:${limitOf(peer, cause)}:${nowMs}`,
    cause: peer === undefined ? cause : SUMMARY,
    ...(peer === undefined ? {} : { peer }),
    subject: `more incidents about ${about}`,
    detail:
      `${MAX_NOTICES_PER_HOUR} incidents about ${about} were told within the hour; ` +
      "further ones are not, until there is room: see quarantine and status",
    concernsWire: false,
  };
}

/**
 * Whose limit a matter counts against: its peer's, or, when it is about none, that of its cause, so
 * that a file that is changed again and again cannot use up the limit of what matters more. No
 * handle has a colon.
 */
function limitOf(peer: string | undefined, cause: string): string {
  return peer ?? `:${cause}`;
}
