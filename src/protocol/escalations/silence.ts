import { MINUTE_MS } from "../../wire/durations.ts";
import { isSamePlace, type ChainPlace } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { History, LinkedLine } from "../asks/history.ts";
import {
  addresses,
  escalationBody,
  escalationsOf,
  isGrave,
  severityOf,
  type EscalationBody,
} from "./incident-line.ts";
import {
  isBeat,
  isBusy,
  isLateEnough,
  isSettled,
  LEAST_WAIT_MS,
  type SafeModeReader,
} from "./safe-mode.ts";

/** What did not reach an addressee within so long has not reached it; or within so many of its cadences. */
const UNCOVERED_AFTER_MS = 5 * MINUTE_MS;
const UNCOVERED_AFTER_CADENCES = 3;

/** An incident of ours that an addressee, one that chains, has not acked. */
export interface SilentAddressee {
  readonly incident: ChainPlace;
  readonly of: string;
  /** The last line of its chain that we follow. */
  readonly whole: ChainPlace | undefined;
  /** What it last advertised, milliseconds. */
  readonly cadenceMs: number;
}

/** How far an incident has come with an addressee that has not acked it. */
export type IncidentStage = "undelivered" | "unread" | "busy" | "read";

export function stageOf(
  history: History,
  { incident, whole }: Pick<SilentAddressee, "incident" | "whole">,
): IncidentStage {
  if (whole === undefined || history.firstHead(whole, incident, "taken_in") === undefined)
    return "undelivered";
  if (history.firstHead(whole, incident, "read") === undefined) return "unread";
  const [last] = history.lastBeats(whole, Infinity);
  return last !== undefined && isBusy(last) ? "busy" : "read";
}

/**
 * The escalation that our daemon signs now: the last beat of the addressee is the second one, and the latest
 * before it that can be is the first. All of it are live lines. Spec 3.5.
 */
export function escalationDue(
  history: History,
  { incident, of, whole }: SilentAddressee,
  reader: SafeModeReader,
): EscalationBody | undefined {
  const raised = history.linked(incident);
  const severity = raised && severityOf(raised);
  if (raised === undefined || severity === undefined || !isGrave(severity)) return undefined;
  if (incident.author !== reader.self || !addresses(raised, of) || whole === undefined)
    return undefined;
  const isLive = ({ place }: LinkedLine): boolean => history.receipt(place)?.isLive === true;
  const isUsable = (beat: LinkedLine): boolean => isLive(beat) && isBeat(history, beat);
  if (!isLive(raised) || isSettled(history, incident, of)) return undefined;
  if (!reader.members.has(of) || !reader.members.has(reader.self)) return undefined;
  if (escalationsOf(history, incident).some((each) => each.of === of)) return undefined;
  const [second] = history.lastBeats(whole, Infinity);
  if (second === undefined || !isUsable(second) || history.isRefused(second.place, incident))
    return undefined;
  const read = history.firstHead(second.place, incident, "read");
  if (read === undefined) return undefined;
  const latestMs = (parseTimestamp(second.timestamp) ?? 0) - LEAST_WAIT_MS;
  const first = history
    .lastBeats(second.place, latestMs)
    .find(
      (beat) =>
        (isSamePlace(beat.place, read) || history.descends(beat.place, read)) &&
        isUsable(beat) &&
        !isBusy(beat) &&
        history.descends(second.place, beat.place) &&
        isLateEnough(beat, second, reader.cadences),
    );
  if (first === undefined) return undefined;
  return escalationBody({ incident, of, beats: [first.place, second.place] }, severity);
}

/** Why the operator of an incident's author should look at an addressee. Spec 3.5. */
export type IncidentTrouble = "incident_unread" | "incident_not_covered";

export function incidentTrouble(
  history: History,
  addressee: SilentAddressee,
  nowMs: number,
): IncidentTrouble | undefined {
  const { incident, whole, cadenceMs } = addressee;
  const raised = history.receipt(incident);
  if (raised === undefined || !raised.isLive) return undefined;
  const stage = stageOf(history, addressee);
  if (stage === "undelivered") {
    const waitMs = Math.max(UNCOVERED_AFTER_MS, UNCOVERED_AFTER_CADENCES * cadenceMs);
    return nowMs >= raised.atMs + waitMs ? "incident_not_covered" : undefined;
  }
  if (stage !== "unread" || whole === undefined) return undefined;
  const took = history.firstHead(whole, incident, "taken_in");
  const tookMs = took && history.receipt(took)?.atMs;
  return tookMs !== undefined && nowMs >= tookMs + cadenceMs ? "incident_unread" : undefined;
}
