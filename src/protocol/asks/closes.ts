import {
  isChained,
  isSamePlace,
  readPlace,
  type ChainPlace,
  type Place,
} from "../../wire/places.ts";
import { isJsonArray } from "../../wire/json/json.ts";
import { booleanField, field, textField } from "../body.ts";
import { readAsk, readClose, takenBy, type Ask, type Close, type CloseEntry } from "./ask-line.ts";
import {
  MOST_WORDS,
  type AskKey,
  type History,
  type LinkedLine,
  type LooseLine,
} from "./history.ts";
import {
  isLeave,
  isOneStep,
  isSameAfter,
  isSameRoster,
  readAfter,
  readMembersChange,
  rosterThread,
  takers,
  type MembersChange,
} from "./members-change.ts";
import { allOf, isTrue, lacking, type Verdict } from "./verdict.ts";

/** Of a list of ends, so many are read. Spec 1.6. */
const MOST_ENDS = 512;

/** So many changes before one are looked at for leaves. Spec 3.11. */
const MOST_CHANGES = 1_024;

/** A line that closes an ask. */
export interface CloseLine {
  readonly line: LinkedLine;
  readonly close: Close;
}

/**
 * Which part of an ask a close is about; undefined when it is none of this ask. Its author may close it, it
 * descends from the ask, and it is among the words that are read. Spec 3.4.1, 3.4.5.
 */
export function partClosed(
  history: History,
  ask: Ask,
  { line, close }: CloseLine,
): AskKey | undefined {
  const { place } = ask;
  const { author } = line.place;
  if (line.thread !== ask.thread || !isSamePlace(close.decides, place)) return undefined;
  if (history.standing(line.place, line.thread).words > MOST_WORDS) return undefined;
  if (!isChained(place)) {
    const isParty = ask.parties === undefined || ask.parties.length === 1;
    const isTheirs = isParty && (ask.parties?.[0] ?? author) === author && author !== place.author;
    return isTheirs ? { place, party: author } : undefined;
  }
  if (author !== place.author || !history.descends(line.place, place)) return undefined;
  if (ask.is === "proposal" || ask.isVoid) return { place, party: "" };
  const party = close.of ?? (ask.parties?.length === 1 ? ask.parties[0] : undefined);
  return party !== undefined && ask.parties?.includes(party) === true
    ? { place, party }
    : undefined;
}

/**
 * Whether one close is valid: the first valid one on a branch is the outcome there. `parties` are those of the
 * part of the ask that it is about.
 */
export function verdictOf(
  history: History,
  ask: Ask,
  parties: readonly string[],
  { line, close }: CloseLine,
): Verdict {
  const { entries } = close;
  const before = line.prev;
  if (close.outcome === "ended") return "yes";
  if (ask.isVoid) return "no";
  if (!isChained(ask.place)) return "yes";
  if (before === undefined || entries.length !== parties.length) return "no";
  const asked = new Set(entries.map(({ by }) => by));
  if (!parties.every((party) => asked.has(party))) return "no";
  if (ask.is === "proposal" && !isPosition(history, before, ask)) return "no";
  const verdicts = entries.map((entry) => entryVerdict(history, ask, entry, before));
  if (verdicts.includes("no")) return "no";
  if (ask.isOfMembers) verdicts.push(changeVerdict(history, ask, { line, close }));
  return allOf(verdicts);
}

/** Whether an agent stands at an ask, at a line of its chain. */
export function isPosition(history: History, tip: ChainPlace, { thread, place }: Ask): boolean {
  const { position } = history.standing(tip, thread);
  return position !== undefined && isSamePlace(position, place);
}

/** What one entry of a close proves of its party. `before` is the line before the close. */
function entryVerdict(history: History, ask: Ask, entry: CloseEntry, before: ChainPlace): Verdict {
  const { by, ack, at } = entry;
  if (by === undefined || ack === undefined) return "no";
  if (at === undefined) return looseAnswerVerdict(history, ask, entry, before);
  const unlinked = history.lastUnlinked(before, by, at.seq);
  const lacks = unlinked === undefined ? [] : [unlinked];
  if (history.linked(at) === undefined) return lacking(at, ...lacks);
  if (history.isKnownBehind(before, at)) return "no";
  const yes = lastYes(history, ask, at);
  return allOf([
    isTrue(yes !== undefined && isSamePlace(yes, ack)),
    unlinked === undefined ? "yes" : lacking(unlinked),
  ]);
}

/** The answer by which a party has agreed to an ask, as of a line of its chain. */
export function lastYes(history: History, ask: Ask, at: ChainPlace): ChainPlace | undefined {
  if (history.standing(at, ask.thread).words > MOST_WORDS) return undefined;
  if (ask.is === "proposal" && !isPosition(history, at, ask)) return undefined;
  const last = history.lastAnswer(at, ask);
  return last?.approves === true ? last.place : undefined;
}

/** An answer of an agent that does not chain. */
function looseAnswerVerdict(
  history: History,
  ask: Ask,
  { by, ack }: CloseEntry,
  before: ChainPlace,
): Verdict {
  if (by === undefined || ack === undefined || ack.seq !== null) return "no";
  if (ask.isOfMembers || history.knowsChain(before, by)) return "no";
  const line = history.loose(ack);
  if (line === undefined) return lacking(ack);
  const isYes = line.isSigned && booleanField(line.body, "approve") !== false;
  return isTrue(isYes && line.place.author === by && isLooseAnswer(history, ask, line, before));
}

/** Whether an ack in no chain means this ask: it names it, or can mean no other. `before` is the line before the close. */
export function isLooseAnswer(
  history: History,
  ask: Ask,
  line: LooseLine,
  before: ChainPlace,
): boolean {
  if (line.type !== "ack" || line.thread !== ask.thread) return false;
  return namesById(line, ask) || isBareAnswer(history, ask, line, before);
}

/** Whether an ack in no chain names an ask by its id. */
export function namesById({ body }: LooseLine, { place }: Ask): boolean {
  return ["acks", "answers"].some((name) => textField(body, name) === place.id);
}

/** An ack that names nothing can only mean the one ask that its thread begins with. */
function isBareAnswer(history: History, ask: Ask, line: LooseLine, before: ChainPlace): boolean {
  const { body, to } = line;
  const { place, thread } = ask;
  const asked = isChained(place) ? history.linked(place) : undefined;
  if (asked === undefined || thread !== asked.timestamp || history.hasEarlierInThread(asked))
    return false;
  if (["acks", "answers", "about"].some((name) => field(body, name) !== undefined)) return false;
  const requestId = field(body, "request_id");
  if (requestId !== undefined && requestId !== field(asked.body, "request_id")) return false;
  const isToAsker = to?.some((name) => name === place.author || name === "*") === true;
  return isToAsker && history.standing(before, thread).asks === 1;
}

/** What a change of members needs beside any other proposal. Spec 3.11. */
function changeVerdict(history: History, ask: Ask, { line, close }: CloseLine): Verdict {
  const asked = history.linked(ask.place);
  if (asked === undefined) return "no";
  const acks = close.entries.map(({ ack }) => ack && history.linked(ack));
  return allOf([
    isTrue(line.prev && history.leaveBetween(asked.place, line.prev) === undefined),
    changeStands(history, asked),
    history.takeCounts(asked.place),
    ...acks.map((ack) => (ack === undefined ? "yes" : history.takeCounts(ack.place))),
  ]);
}

/** Whether a change can be approved at all; when not, it is void. Spec 3.11. */
export function changeStands(history: History, line: LinkedLine): Verdict {
  const change = readMembersChange(line.body);
  const { author } = line.place;
  if (change === undefined) return "no";
  const { after, starts, makes } = change;
  if (line.thread !== rosterThread(history.wireId, after)) return "no";
  if (starts.get(author) !== true || makes.get(author) !== true || !isOneStep(starts, makes))
    return "no";
  const required = new Set(takers(starts, makes).filter((handle) => handle !== author));
  const parties = readAsk(line)?.parties ?? [];
  if (parties.length !== required.size || !parties.every((each) => required.has(each))) return "no";
  const leaving = new Set(change.leaves.map((leave) => leave.author));
  if (leaving.size < change.leaves.length || [...leaving].some((each) => starts.has(each)))
    return "no";
  return allOf([
    typeof after === "number" ? "yes" : followVerdict(history, change, after),
    ...change.leaves.map((place) => leaveVerdict(history, change, place)),
  ]);
}

/** Whether a place is a leave from the roster with which a change starts. */
function leaveVerdict(history: History, change: MembersChange, place: ChainPlace): Verdict {
  const line = history.linked(place);
  if (line === undefined) return lacking(place);
  const after = readAfter(field(line.body, "after"));
  if (!isLeave(line) || after === undefined) return "no";
  // A change that is not held may be the one that this leave follows.
  for (const earlier of lineage(history, change)) {
    if (isSameAfter(earlier.after, after)) return "yes";
    const isHeld = typeof earlier.after === "number" || history.linked(earlier.after);
    if (isHeld === undefined) return lacking(earlier.after as ChainPlace);
  }
  return "no";
}

/** A change, and those that it follows, the latest first. */
function* lineage(history: History, change: MembersChange): Generator<MembersChange> {
  let next: MembersChange | undefined = change;
  for (let count = 0; next !== undefined && count <= MOST_CHANGES; count += 1) {
    yield next;
    next = typeof next.after === "number" ? undefined : changeClosed(history, next.after)?.change;
  }
}

/** What a line that closes a change has closed. */
function changeClosed(
  history: History,
  place: ChainPlace,
): { readonly ask: Ask; readonly change: MembersChange } | undefined {
  const line = history.linked(place);
  const close = line === undefined ? undefined : readClose(line);
  const asked = close === undefined ? undefined : history.linked(close.decides);
  const ask = asked === undefined ? undefined : readAsk(asked);
  const change = asked === undefined ? undefined : readMembersChange(asked.body);
  if (close?.outcome !== "approved" || ask?.isOfMembers !== true) return undefined;
  return change === undefined ? undefined : { ask, change };
}

/** Whether a change starts with the roster that the one before it made, less the leaves that it counts. */
function followVerdict(history: History, change: MembersChange, after: ChainPlace): Verdict {
  if (history.linked(after) === undefined) return lacking(after);
  const made = changeClosed(history, after);
  if (made === undefined) return "no";
  const leaving = new Set(change.leaves.map(({ author }) => author));
  const left = new Map([...made.change.makes].filter(([handle]) => !leaving.has(handle)));
  const isOfThem = [...leaving].every((handle) => made.change.makes.has(handle));
  if (!isOfThem || !isSameRoster(change.starts, left)) return "no";
  const first = history.firstClose({ place: made.ask.place, party: "" }, after);
  if (first === undefined) return "no";
  if (!isSamePlace(first.place, after))
    return first.verdict === "yes" ? "no" : lacking(first.place);
  if (first.verdict !== "yes") return lacking(after);
  if (leaving.size === 0) return "yes";
  const isTwice = [...lineage(history, made.change)].some(({ leaves }) =>
    leaves.some((one) => change.leaves.some((other) => isSamePlace(one, other))),
  );
  return isTrue(!isTwice);
}

/**
 * Whether a word counts by which an agent takes a change: it is the first that its author takes in that thread,
 * or lists the end of the one before, whose word counts too. Spec 3.11.
 */
export function takeVerdict(history: History, word: LinkedLine): Verdict {
  const taken = takenBy(word);
  if (taken === undefined || word.prev === undefined) return "yes";
  const before = history.lastTake(word.prev, word.thread, taken);
  if (before === undefined) return "yes";
  const listed = field(word.body, "ends");
  const places = isJsonArray(listed) ? listed.slice(0, MOST_ENDS).map(readPlace) : [];
  const ends = places
    .filter((place) => place !== undefined)
    .map((place) => endVerdict(history, before.takes, place));
  const open = ends.flatMap((verdict) => (typeof verdict === "string" ? [] : verdict.lacks));
  const isEnded: Verdict = ends.includes("yes") ? "yes" : open.length > 0 ? lacking(...open) : "no";
  return allOf([isEnded, history.takeCounts(before.word)]);
}

/** Whether a line ends a change: its close other than as approved, or the leave of its asker. */
function endVerdict(history: History, change: Place, end: Place): Verdict {
  if (!isChained(end)) return history.loose(end) === undefined ? lacking(end) : "no";
  const line = history.linked(end);
  if (line === undefined) return lacking(end);
  const asked = history.linked(change);
  if (asked?.type !== "proposal" || !history.descends(end, asked.place)) return "no";
  const close = readClose(line);
  if (close === undefined ? !isLeave(line) : close.outcome !== "ended") return "no";
  if (close !== undefined && !isSamePlace(close.decides, change)) return "no";
  const first = history.firstClose({ place: change, party: "" }, end);
  if (first === undefined) return isTrue(close === undefined);
  if (isSamePlace(first.place, end)) return "yes";
  return first.verdict === "yes" ? "no" : lacking(first.place);
}
