import type { Tier } from "../../trust/tiers.ts";
import { DAY_MS, MINUTE_MS } from "../../wire/durations.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { isSamePlace, type ChainPlace } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { textField } from "../body.ts";
import { isMembersChange } from "../asks/ask-line.ts";
import type { History, LinkedLine } from "../asks/history.ts";
import { readMembersChange } from "../asks/members-change.ts";
import { isTrue, lacking, type Verdict } from "../asks/verdict.ts";
import {
  addresses,
  escalationsOf,
  isGrave,
  readEscalation,
  severityOf,
  type Escalation,
} from "./incident-line.ts";
import type { SafeMode } from "./safe-mode-end.ts";

/** The second beat is dated at least so long after the one that shows the incident read. */
export const LEAST_WAIT_MS = 10 * MINUTE_MS;
/** An escalation counts only so long after the last of its author that did. */
export const BETWEEN_COUNTED_MS = DAY_MS;
const ONE = { from: "first", limit: 1 } as const;

/** Between the beats of a tier, as the pinned configuration says; milliseconds. */
export interface BeatTimes {
  readonly T1_active: number;
  readonly T3_long_idle: number;
}

/** Who asks whether there is safe mode. */
export interface SafeModeReader {
  readonly self: string;
  /** The roster in force. */
  readonly members: ReadonlySet<string>;
  readonly cadences: BeatTimes;
}

/**
 * Whether an escalation that was just taken in counts for us: conditions 5 and 6 of 3.5. It is asked once, and
 * the answer is kept. `hasCounted`: another one of its author counted within a day before its receipt.
 */
export function doesCount(
  { place: { author }, of }: Escalation,
  { self, members }: SafeModeReader,
  tierOf: (handle: string) => Tier | undefined,
  hasCounted: boolean,
): boolean {
  const tier = tierOf(author);
  const isTrusted = author === self || tier === "ATTESTED" || tier === "TRUSTED";
  return isTrusted && members.has(author) && members.has(of) && !hasCounted;
}

/**
 * Whether an escalation is right by the lines of its author and of the silent one: conditions 1 to 3 of 3.5.
 * With the fourth it would be over as well, see `isOver`.
 *
 * @internal
 */
export function escalationVerdict(
  history: History,
  escalation: Escalation,
  cadences: BeatTimes,
): Verdict {
  const { incident, of, beats } = escalation;
  const raised = history.linked(incident);
  if (raised === undefined || !isGrave(severityOf(raised)) || !addresses(raised, of)) return "no";
  if (!isFirst(history, escalation)) return "no";
  const [first, second] = beats.map((place) => history.linked(place));
  if (first === undefined || second === undefined)
    return lacking(...beats.filter((place) => history.linked(place) === undefined));
  return isTrue(
    history.descends(second.place, first.place) &&
      isReadingBeat(history, first, incident) &&
      isBeat(history, second) &&
      isLateEnough(first, second, cadences),
  );
}

/** Whether it descends from the incident, and is the first one there of the same addressee. */
function isFirst(history: History, { place, incident, of }: Escalation): boolean {
  if (!history.descends(place, incident)) return false;
  const all = escalationsOf(history, incident).filter((each) => each.of === of);
  return (
    all.some((each) => isSamePlace(each.place, place)) &&
    !all.some((each) => history.descends(place, each.place))
  );
}

/** A beat that is not dated ahead of its own receipt here. */
export function isBeat(history: History, { place, type, timestamp }: LinkedLine): boolean {
  const receipt = history.receipt(place);
  const sentMs = parseTimestamp(timestamp);
  if (type !== "heartbeat" || receipt === undefined || sentMs === undefined) return false;
  return Math.floor(sentMs) <= receipt.atMs;
}

/** A beat at which its author has read the incident, has not refused it, and does not say that it is busy. */
function isReadingBeat(history: History, beat: LinkedLine, incident: ChainPlace): boolean {
  return (
    isBeat(history, beat) &&
    !isBusy(beat) &&
    history.firstHead(beat.place, incident, "read") !== undefined &&
    !history.isRefused(beat.place, incident)
  );
}

export function isBusy({ body }: LinkedLine): boolean {
  return textField(body, "state") === "busy";
}

export function isLateEnough(first: LinkedLine, second: LinkedLine, cadences: BeatTimes): boolean {
  const fromMs = parseTimestamp(first.timestamp);
  const toMs = parseTimestamp(second.timestamp);
  if (fromMs === undefined || toMs === undefined) return false;
  return toMs - fromMs >= Math.max(LEAST_WAIT_MS, cadenceMs(first, cadences));
}

/** What a beat advertises as the time to the next one. Spec 3.1. */
export function cadenceMs({ timestamp, body }: LinkedLine, cadences: BeatTimes): number {
  const fromMs = parseTimestamp(timestamp);
  const etaMs = parseTimestamp(textField(body, "next_eta") ?? "");
  const isUsable = fromMs !== undefined && etaMs !== undefined && etaMs > fromMs;
  return isUsable ? Math.min(etaMs - fromMs, cadences.T3_long_idle) : cadences.T1_active;
}

/**
 * Whether nothing follows any more from an escalation: the addressee has acked, the author has resolved the
 * incident or resumed, our operator has resumed for us alone, or one of the two is no member.
 */
export function isOver(
  history: History,
  { place, incident, of }: Escalation,
  { self, members }: Pick<SafeModeReader, "self" | "members">,
): boolean {
  const { author } = place;
  return (
    !members.has(author) ||
    !members.has(of) ||
    isSettled(history, incident, of) ||
    [author, self].some((by) => history.namers(by, "resumes", place, ONE).length > 0)
  );
}

/** Whether an addressee has acked an incident in its chain, or its author has resolved it. */
export function isSettled(history: History, incident: ChainPlace, of: string): boolean {
  return (
    history.namers(of, "about", incident, ONE).length > 0 ||
    history.namers(incident.author, "resolves", incident, ONE).length > 0
  );
}

/** Whether an escalation that counts for us holds safe mode. Spec 3.5. @internal */
export function isInForce(
  history: History,
  escalation: Escalation,
  reader: SafeModeReader,
): boolean {
  return (
    !isOver(history, escalation, reader) &&
    escalationVerdict(history, escalation, reader.cadences) === "yes"
  );
}

/**
 * Whether and why there is safe mode.
 *
 * @param counted places of the escalations that count for us; of several in force the first is shown
 */
export function safeModeOf(
  history: History,
  counted: readonly ChainPlace[],
  reader: SafeModeReader,
): SafeMode | undefined {
  for (const place of counted) {
    const line = history.linked(place);
    const escalation = line && readEscalation(line);
    if (escalation === undefined || !isInForce(history, escalation, reader)) continue;
    const sinceMs = parseTimestamp(history.linked(escalation.beats[1])?.timestamp ?? "") ?? 0;
    return {
      active: true,
      since: new Date(sinceMs).toISOString(),
      author: place.author,
      incident_id: escalation.incident.id,
      escalation_id: place.id,
      of: escalation.of,
    };
  }
  return undefined;
}

/** `incident` is also an escalation, a resolution and a resume, `shutdown` also a leave. */
const SAFE_MODE_TYPES: ReadonlySet<string> = new Set([
  ...["heartbeat", "ack", "incident", "correction", "release", "agent_card", "shutdown"],
]);
const KEY_ACTIONS: readonly (string | undefined)[] = ["add_key", "deactivate_key"];

/** Whether a line may be sent in safe mode. Spec 3.5. */
export function mayBeSentInSafeMode(type: string, body: JsonValue): boolean {
  if (SAFE_MODE_TYPES.has(type)) return true;
  if (type !== "proposal") return false;
  if (!isMembersChange(body)) return KEY_ACTIONS.includes(textField(body, "action"));
  const change = readMembersChange(body);
  return change !== undefined && change.makes.size < change.starts.size;
}
