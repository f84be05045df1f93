import { agentName } from "../../wire/handle.ts";
import { isJsonArray, type JsonValue } from "../../wire/json/json.ts";
import { MAX_ROSTER } from "../../wire/limits.ts";
import {
  isChained,
  isSamePlace,
  placeOf,
  readPlace,
  type ChainPlace,
  type Place,
} from "../../wire/places.ts";
import { booleanField, field, textField } from "../body.ts";
import type { AskKey, AskName, HistoryLine } from "./history.ts";

/** What a line asks. Spec 3.4.1. */
export interface Ask extends AskName {
  /** Who has to answer; undefined when whoever closes it is its party, each for itself. */
  readonly parties: readonly string[] | undefined;
  /** It can never be approved. */
  readonly isVoid: boolean;
  /** It changes who is a member, and has rules of its own beside those of asks. */
  readonly isOfMembers: boolean;
}

/** Undefined for a line that asks nothing: another type, or in no thread. */
export function readAsk(line: HistoryLine): Ask | undefined {
  const { type, body, to, place, thread } = line;
  if ((type !== "proposal" && type !== "request") || thread === "") return undefined;
  const isOfMembers = type === "proposal" && isMembersChange(body);
  const ask = { place, thread, is: type, isOfMembers } as const;
  const required = field(body, "required");
  if (required === undefined) {
    if (place.seq === null && to === undefined)
      return { ...ask, parties: undefined, isVoid: isOfMembers };
    const [only = "", ...more] = to ?? ["*"];
    const isOne = only !== "*" && only !== place.author && only !== "" && more.length === 0;
    return { ...ask, parties: isOne ? [only] : [], isVoid: !isOne || isOfMembers };
  }
  const names = isJsonArray(required) ? required.slice(0, MAX_ROSTER + 1) : [];
  const handles = names.map((name) => (typeof name === "string" ? agentName(name) : undefined));
  const parties = handles.filter((handle) => handle !== undefined);
  const named = to === undefined || to.includes("*") ? undefined : new Set(to);
  const isVoid =
    !isJsonArray(required) ||
    names.length > MAX_ROSTER ||
    parties.length < handles.length ||
    (parties.length === 0 && !isOfMembers) ||
    (place.seq === null && isOfMembers) ||
    parties.includes(place.author) ||
    new Set(parties).size < parties.length ||
    !parties.every((party) => named?.has(party) !== false);
  return { ...ask, parties: [...new Set(parties)], isVoid };
}

/** Whether a proposal changes who is a member. */
export function isMembersChange(body: JsonValue): boolean {
  return textField(body, "action") === "members";
}

/** For whom an ask of a chain is decided separately: each party of a request. */
export function partsOf({ is, isVoid, parties }: Ask): readonly string[] {
  return is === "request" && !isVoid ? (parties ?? []) : [""];
}

/** Which part of an ask is meant. `of`: as of `outcomeOf`. Undefined when nobody could close it. */
export function askKey(ask: Ask, of: string | undefined): AskKey | undefined {
  const { place, parties } = ask;
  if (isChained(place)) {
    const party = of ?? (parties?.length === 1 ? parties[0] : undefined);
    return { place, party: ask.is === "request" && !ask.isVoid ? (party ?? "") : "" };
  }
  const party = parties === undefined ? of : parties.length === 1 ? parties[0] : undefined;
  return party === undefined || party === place.author ? undefined : { place, party };
}

/** What an ack says of an ask, or a counter of the proposal that it rejects. */
export interface Answer {
  readonly ask: Place;
  readonly approves: boolean;
}

/** Read as an answer to a proposal or to a request: each is named by a field of its own. */
export function readAnswer({ type, body }: HistoryLine, is: Ask["is"]): Answer | undefined {
  const isCounter = type === "proposal" && is === "proposal";
  const approves = isCounter ? false : booleanField(body, "approve");
  const name = isCounter ? "counters" : is === "proposal" ? "acks" : "answers";
  const ask = readPlace(field(body, name));
  if ((type !== "ack" && !isCounter) || approves === undefined || ask === undefined)
    return undefined;
  return { ask, approves };
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

/** The place that a word makes the position of its author; undefined for one that makes none. */
export function takenBy(word: HistoryLine): Place | undefined {
  if (word.type === "proposal") return word.place;
  const answer = readAnswer(word, "proposal");
  if (answer !== undefined) return answer.approves ? answer.ask : undefined;
  const close = readClose(word);
  if (close === undefined || close.outcome !== "approved") return undefined;
  const isOfAnother = close.decides.seq === null && close.decides.author !== word.place.author;
  return isOfAnother ? close.decides : undefined;
}

/** Where a position in a thread moves with one word of the agent's own chain. Spec 3.4.2. */
export function moved(position: Place | undefined, word: HistoryLine): Place | undefined {
  const taken = takenBy(word);
  if (taken !== undefined || position === undefined) return taken;
  const answer = readAnswer(word, "proposal");
  return answer !== undefined && isSamePlace(position, answer.ask) ? undefined : position;
}
