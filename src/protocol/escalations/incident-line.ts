import { isHandle } from "../../wire/handle.ts";
import { isJsonArray } from "../../wire/json/json.ts";
import {
  isChained,
  pairPlace,
  placeJson,
  readPlace,
  type ChainPlace,
  type Place,
  type PlaceJson,
} from "../../wire/places.ts";
import { field, textField } from "../body.ts";
import type { History, HistoryLine, LinkedLine } from "../asks/history.ts";

const SEVERITIES = ["low", "medium", "high", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Of one incident so many escalations are read: one for each addressee that a roster can have. */
const MOST_ESCALATIONS = 256;

/** A line with one of these does something to an incident, or asks nobody: it is none itself. */
const NOT_OF_INCIDENTS = ["escalates", "resolves", "resumes", "cause"];

/** How severe an incident is; undefined of a line that is none. Spec 3.5. */
export function severityOf({ type, body }: HistoryLine): Severity | undefined {
  if (type !== "incident") return undefined;
  if (NOT_OF_INCIDENTS.some((name) => field(body, name) !== undefined)) return undefined;
  const said = textField(body, "severity");
  return SEVERITIES.find((severity) => severity === said) ?? "medium";
}

/** Only these are escalated. */
export function isGrave(severity: Severity | undefined): boolean {
  return severity === "high" || severity === "critical";
}

/** A line by which the author of an incident says that an addressee has read it and is silent. */
export interface Escalation {
  readonly place: ChainPlace;
  readonly incident: ChainPlace;
  readonly of: string;
  readonly beats: readonly [ChainPlace, ChainPlace];
}

/** Undefined of a line that is no escalation. Spec 3.5. */
export function readEscalation({ place, type, body }: LinkedLine): Escalation | undefined {
  const incident = readPlace(field(body, "escalates"));
  const of = textField(body, "of");
  const beats = field(body, "beats");
  if (type !== "incident" || incident === undefined || incident.author !== place.author)
    return undefined;
  if (of === undefined || !isHandle(of) || !isJsonArray(beats) || beats.length !== 2)
    return undefined;
  const [first, second] = beats.map((beat) => pairPlace(of, beat));
  if (first === undefined || second === undefined) return undefined;
  if (!isChained(incident) || !isChained(first) || !isChained(second)) return undefined;
  return { place, incident, of, beats: [first, second] };
}

/** The escalations of an incident that are read, by `seq`, then by id. */
export function escalationsOf(history: History, incident: Place): readonly Escalation[] {
  return history
    .namers(incident.author, "escalates", incident, { from: "first", limit: MOST_ESCALATIONS })
    .flatMap((line) => readEscalation(line) ?? []);
}

/** The body of an escalation. */
export interface EscalationBody {
  readonly escalates: PlaceJson;
  readonly of: string;
  readonly beats: readonly (readonly [seq: number, id: string])[];
  readonly severity: Severity;
}

export function escalationBody(
  { incident, of, beats }: Omit<Escalation, "place">,
  severity: Severity,
): EscalationBody {
  const pairs = beats.map(({ seq, id }) => [seq, id] as const);
  return { escalates: placeJson(incident), of, beats: pairs, severity };
}

/** Whether a line is addressed to one of the members; nobody addresses itself. Spec 1.2. */
export function addresses({ place, to }: HistoryLine, handle: string): boolean {
  if (handle === place.author) return false;
  // Without `to` a line of a chain is to all, another one is to whom its carrier says.
  const names = to ?? (place.seq === null ? [] : ["*"]);
  return names.includes("*") || names.includes(handle);
}
