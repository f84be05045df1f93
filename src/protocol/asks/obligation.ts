import { DAY_MS, HOUR_MS } from "../../wire/durations.ts";
import type { JsonValue } from "../../wire/json/json.ts";
import { isChained, readPlace, type Place } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { dueOf } from "../due.ts";
import { field, idField, textField } from "../body.ts";
import { readAsk, readClose } from "./ask-line.ts";
import type { HistoryLine } from "./history.ts";
import { addresses, severityOf } from "../escalations/incident-line.ts";

/**
 * What a line asks for. An `ask` and an `incident` are answered only by what names them, a `message` by any ack
 * or proposal in its thread, and a `plain` request by some other types too. Spec 3.3.
 */
export type ObligationKind = "ask" | "incident" | "message" | "plain";

export interface Obligation {
  readonly kind: ObligationKind;
  /** Who owes an answer. */
  readonly by: readonly string[];
  /** An answer is late from then on; milliseconds of Unix time. */
  dueMs(by: string): number;
}

/** What obligations follow from beside the line. */
export interface ObligationFacts {
  /** The members that can owe something; of a historical line those that were members when it was written. */
  readonly members: Iterable<string>;
  /** Of a line in no chain without `to`: whom its carriers address. */
  readonly readers?: readonly string[];
  readonly receivedMs: number;
  readonly proposalHours: number;
  /** What a member last advertised, milliseconds. */
  cadenceMsOf(handle: string): number;
}

/** Who owes an answer to a line; undefined of a line to which nobody does. */
export function obligationOf(line: HistoryLine, facts: ObligationFacts): Obligation | undefined {
  const kind = kindOf(line);
  if (kind === undefined) return undefined;
  const { place, to, timestamp, body } = line;
  const isAddressed = (handle: string): boolean =>
    place.seq === null && to === undefined
      ? handle !== place.author && facts.readers?.includes(handle) === true
      : addresses(line, handle);
  const parties = kind === "ask" ? readAsk(line)?.parties : undefined;
  const by = [...facts.members].filter(
    (handle) => isAddressed(handle) && parties?.includes(handle) !== false,
  );
  const sentMs = parseTimestamp(timestamp) ?? facts.receivedMs;
  const lastMs = sentMs + facts.proposalHours * HOUR_MS;
  const dueMs = (handle: string): number => {
    if (kind === "ask") return dueOf(body, sentMs) ?? lastMs;
    return facts.receivedMs + (kind === "incident" ? facts.cadenceMsOf(handle) : DAY_MS);
  };
  return by.length === 0 ? undefined : { kind, by, dueMs };
}

function kindOf(line: HistoryLine): ObligationKind | undefined {
  const { type, body, isAckRequired } = line;
  if (type === "proposal") return "ask";
  if (type === "request") return field(body, "request_type") === undefined ? "plain" : "ask";
  if (severityOf(line) !== undefined) return "incident";
  return isAckRequired ? "message" : undefined;
}

/** What a line answers of that which its author owes, or forgives of that which its author is owed. */
export interface Answering {
  /** Places that it names as answered. */
  readonly places: readonly Place[];
  /** Ids that a line in no chain names. */
  readonly ids: readonly string[];
  /** What it answers in its thread, of what was received before it. */
  readonly inThread: readonly ObligationKind[];
  /** A line of its author that nobody, or one party, owes an answer to any more. */
  readonly ends: { readonly place: Place; readonly by: string | undefined } | undefined;
}

const NOTHING: Answering = { places: [], ids: [], inThread: [], ends: undefined };
const ACK_FIELDS = ["acks", "answers", "about"];
const PLAIN_ANSWERS: readonly string[] = ["feedback", "decision", "ship", "warning"];

export function answeringOf(line: HistoryLine): Answering {
  const { type, body, place } = line;
  switch (type) {
    case "ack":
      return answeringBy(line, ACK_FIELDS);
    case "proposal":
      return answeringBy(line, ["counters"]);
    case "correction":
      return closing(line);
    case "incident": {
      const resolved = readPlace(field(body, "resolves"));
      if (resolved === undefined || resolved.author !== place.author) return NOTHING;
      return { ...NOTHING, ends: { place: resolved, by: undefined } };
    }
    default:
      return PLAIN_ANSWERS.includes(type) ? { ...NOTHING, inThread: ["plain"] } : NOTHING;
  }
}

function answeringBy({ body, place }: HistoryLine, fields: readonly string[]): Answering {
  const places = fields
    .map((name) => readPlace(field(body, name)))
    .filter((each) => each !== undefined);
  const isLoose = !isChained(place);
  const ids = isLoose
    ? fields.map((name) => idField(body, name)).filter((id) => id !== undefined)
    : [];
  return {
    places,
    ids,
    inThread:
      isLoose && isBare(body) ? ["ask", "incident", "message", "plain"] : ["message", "plain"],
    ends: undefined,
  };
}

/** A line in no chain that names nothing means what its thread is about. */
function isBare(body: JsonValue): boolean {
  return [...ACK_FIELDS, "counters"].every((name) => field(body, name) === undefined);
}

/** An ask that its author ends is owed no more; one in no chain is answered by its party's close. */
function closing(line: HistoryLine): Answering {
  const close = readClose(line);
  if (close === undefined) return NOTHING;
  const { decides, outcome, of } = close;
  if (!isChained(decides)) return { ...NOTHING, places: [decides] };
  if (outcome !== "ended" || decides.author !== line.place.author) return NOTHING;
  return { ...NOTHING, ends: { place: decides, by: of } };
}

/** How a line in no chain answers another one of its thread, if it does: by its id, or by naming nothing. */
export function looseAnswer(
  { body, type }: HistoryLine,
  asked: Place,
): "by_name" | "bare" | undefined {
  const fields = type === "ack" ? ACK_FIELDS : ["counters"];
  if (fields.some((name) => textField(body, name) === asked.id)) return "by_name";
  return isBare(body) ? "bare" : undefined;
}
