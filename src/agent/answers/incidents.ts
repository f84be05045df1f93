import { lineAt, type HistoryLine } from "../../protocol/asks/history.ts";
import { isGrave, severityOf, type Severity } from "../../protocol/escalations/incident-line.ts";
import { incidentStanding } from "../../protocol/escalations/open-incident.ts";
import { cadenceMs, isBusy, LEAST_WAIT_MS } from "../../protocol/escalations/safe-mode.ts";
import { stageOf, type IncidentStage } from "../../protocol/escalations/silence.ts";
import type { HeldLine } from "../../store/store.ts";
import { isChained, placeJson, type ChainPlace, type PlaceJson } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import type { Known } from "../duties/duty.ts";
import { listedSubject } from "./listed.ts";

/** One incident that an agent has raised. Each addressee can ack it, and its author resolve it. */
export interface IncidentView {
  place: PlaceJson;
  event_id: string;
  correlation_id: string;
  from: string;
  severity: Severity;
  /** A text of ours when `from` is below VERIFIED. Spec 2.3. */
  subject: string;
  raised_at: string;
  /** Members of the roster in force. */
  addressees: IncidentAddressee[];
  status: "open" | "acked" | "escalated" | "resolved";
}

export interface IncidentAddressee {
  handle: string;
  acked: boolean;
  acked_at: string | null;
  /** From when on its author may escalate it; null while no time runs. The ack itself is due earlier. */
  escalates_at: string | null;
  /** How far it has come; null: our lines do not tell, as of an addressee that does not chain. */
  stage: IncidentStage | null;
  /** Its author has escalated it. */
  escalated: boolean;
}

/** Of each author so many of its newest ones are listed, and of those that are open. */
const MOST_OF_AUTHOR = 64;
const MOST_OPEN_OF_AUTHOR = 16;
const MOST_LISTED = 256;

/** The newest incidents, the oldest of them first. */
export function incidentsView(known: Known): IncidentView[] {
  const lines = known.store.incidentLines("all", MOST_OF_AUTHOR);
  return lines.slice(-MOST_LISTED).flatMap((line) => viewIncident(known, line) ?? []);
}

/** Those that our agent has raised or is asked about and that are open, the oldest first. */
export function openIncidents(known: Known): IncidentView[] {
  const lines = known.store.incidentLines("owed", MOST_OPEN_OF_AUTHOR);
  return lines
    .slice(-MOST_LISTED)
    .flatMap((line) => viewIncident(known, line) ?? [])
    .filter(({ status }) => status === "open" || status === "escalated");
}

/** Undefined of a line that is no incident, as an escalation of one. */
function viewIncident(known: Known, held: HeldLine): IncidentView | undefined {
  const { history, members } = known;
  const line = lineAt(history, held);
  const severity = line && severityOf(line);
  if (line === undefined || severity === undefined) return undefined;
  const { status, addressees } = incidentStanding(history, line, members.keys());
  return {
    place: placeJson(line.place),
    event_id: line.place.id,
    correlation_id: line.thread,
    from: line.place.author,
    severity,
    subject: listedSubject(known, line.place.author, line.subject),
    raised_at: line.timestamp,
    addressees: addressees.map(({ handle, ack, isEscalated }) => {
      const ackedMs = ack && history.receipt(ack)?.atMs;
      const isAcked = ack !== undefined;
      const way = held.isLive ? wayOf(known, line, severity, handle) : UNKNOWN_WAY;
      return {
        handle,
        acked: isAcked,
        acked_at: ackedMs === undefined ? null : new Date(ackedMs).toISOString(),
        ...way,
        ...(isAcked ? { escalates_at: null } : {}),
        escalated: isEscalated,
      };
    }),
    status,
  };
}

type Way = Pick<IncidentAddressee, "stage" | "escalates_at">;
const UNKNOWN_WAY: Way = { stage: null, escalates_at: null };

/** How far a live incident has come with an addressee, and when it may be escalated. */
function wayOf(
  { history, situation, place: { tiers } }: Known,
  { place: incident }: HistoryLine,
  severity: Severity,
  handle: string,
): Way {
  if (!isChained(incident) || !situation.chains(handle)) return UNKNOWN_WAY;
  const whole = situation.whole(handle);
  const stage = stageOf(history, { incident, whole });
  if (stage !== "read" || whole === undefined || !isGrave(severity))
    return { stage, escalates_at: null };
  const shown: ChainPlace | undefined = history.firstHead(whole, incident, "read");
  const beat = shown && history.linked(shown);
  const fromMs = beat && parseTimestamp(beat.timestamp);
  if (beat === undefined || fromMs === undefined || isBusy(beat))
    return { stage, escalates_at: null };
  const dueMs = fromMs + Math.max(LEAST_WAIT_MS, cadenceMs(beat, tiers.cadencesMs));
  return { stage, escalates_at: new Date(dueMs).toISOString() };
}
