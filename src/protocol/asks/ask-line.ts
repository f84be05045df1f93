import { agentName } from "../../wire/handle.ts";
import { isJsonArray, type JsonValue } from "../../wire/json/json.ts";
import {
  isChained,
  isSamePlace,
  placeOf,
  readPlace,
  type ChainPlace,
  type Place,
} from "../../wire/places.ts";
import { booleanField, field, textField } from "../body.ts";
import type { HistoryLine } from "./history.ts";

/** A line that asks. Spec of the next wire, 3.4.1. */
export interface Ask {
  readonly line: HistoryLine;
  readonly is: "proposal" | "request";
  /** Who has to answer; undefined when whoever closes it is its party, each for itself. */
  readonly parties: readonly string[] | undefined;
  /** It can never be approved. */
  readonly isVoid: boolean;
}

export function readAsk(line: HistoryLine): Ask | undefined {
  const { type, body, to, place } = line;
  if (type !== "proposal" && type !== "request") return undefined;
  const required = field(body, "required");
  if (required === undefined) {
    if (place.seq === null && to === undefined)
      return { line, is: type, parties: undefined, isVoid: false };
    const [only = "", ...more] = to ?? ["*"];
    const isVoid = only === "*" || only === place.author || more.length > 0 || to?.length === 0;
    return { line, is: type, parties: isVoid ? [] : [only], isVoid };
  }
  const names = isJsonArray(required) ? required : [required];
  const handles = names.map((name) => (typeof name === "string" ? agentName(name) : undefined));
  const parties = handles.filter((handle) => handle !== undefined);
  const isOfMembers = isMembersChange(body);
  const isToAll = to === undefined || to.includes("*");
  const isVoid =
    !isJsonArray(required) ||
    parties.length < handles.length ||
    (parties.length === 0 && !isOfMembers) ||
    parties.includes(place.author) ||
    new Set(parties).size < parties.length ||
    (!isToAll && !parties.every((party) => to.includes(party)));
  return { line, is: type, parties: [...new Set(parties)], isVoid };
}

/** A change of members has rules of its own beside those of asks. */
export function isMembersChange(body: JsonValue): boolean {
  return textField(body, "action") === "members";
}

/** What an ack says of an ask. */
export interface Answer {
  readonly ask: Place;
  readonly approves: boolean;
}

/** Read as an answer to a proposal or to a request: each is named by a field of its own. */
export function readAnswer({ type, body }: HistoryLine, is: Ask["is"]): Answer | undefined {
  const approves = booleanField(body, "approve");
  const ask = readPlace(field(body, is === "proposal" ? "acks" : "answers"));
  return type !== "ack" || approves === undefined || ask === undefined
    ? undefined
    : { ask, approves };
}

/** What a close says of one party. Without `by` and `ack` it says nothing. */
export interface CloseEntry {
  readonly by: string | undefined;
  readonly ack: Place | undefined;
  /** The last line of the party that the asker held; undefined for an answer that is in no chain. */
  readonly at: ChainPlace | undefined;
}

export interface Close {
  readonly decides: Place;
  readonly outcome: "approved" | "ended";
  /** Of a request: the party that it is about. */
  readonly of: string | undefined;
  readonly entries: readonly CloseEntry[];
  /** Of an ask that is in no chain: its party has rejected it. */
  readonly rejects: boolean;
}

/** Undefined for a line that closes nothing. */
export function readClose({ type, body }: HistoryLine): Close | undefined {
  const decides = readPlace(field(body, "decides"));
  const outcome = textField(body, "outcome");
  if (type !== "correction" || decides === undefined) return undefined;
  if (outcome !== "approved" && outcome !== "ended") return undefined;
  const isLoose = decides.seq === null;
  const answers = field(body, "answers");
  const entries = isLoose || !isJsonArray(answers) ? [] : answers.map(readEntry);
  const rejects = isLoose && booleanField(body, "approve") === false;
  return { decides, outcome, of: handleField(body, "of"), entries, rejects };
}

function readEntry(value: JsonValue): CloseEntry {
  const by = handleField(value, "by");
  const at = pairOf(by, field(value, "at"));
  const isAt = at !== undefined && isChained(at);
  return { by, ack: pairOf(by, field(value, "ack")), at: isAt ? at : undefined };
}

function handleField(body: JsonValue, name: string): string | undefined {
  const text = textField(body, name);
  return text === undefined ? undefined : agentName(text);
}

function pairOf(by: string | undefined, pair: JsonValue | undefined): Place | undefined {
  if (!isJsonArray(pair) || pair.length !== 2) return undefined;
  return placeOf(by, pair[0], pair[1]);
}

/** Where a position in a thread moves with one word of the agent's own chain. Spec of the next wire, 3.4.2. */
export function moved(position: Place | undefined, word: HistoryLine): Place | undefined {
  if (word.type === "proposal") return word.place;
  const answer = readAnswer(word, "proposal");
  if (answer !== undefined) {
    if (answer.approves) return answer.ask;
    return position !== undefined && isSamePlace(position, answer.ask) ? undefined : position;
  }
  const close = readClose(word);
  if (close === undefined || close.outcome !== "approved") return position;
  const isOfAnother = close.decides.seq === null && close.decides.author !== word.place.author;
  return isOfAnother ? close.decides : position;
}
