import { isChained, isSamePlace, type ChainPlace, type Place } from "../../wire/places.ts";
import { booleanField, field, textField } from "../body.ts";
import {
  isMembersChange,
  moved,
  readAsk,
  readClose,
  type Ask,
  type Close,
  type CloseEntry,
} from "./ask-line.ts";
import { MOST_WORDS, type History, type LinkedLine, type LooseLine } from "./history.ts";
import {
  isLeave,
  isOneStep,
  isSameRoster,
  readMembersChange,
  readPlaces,
  rosterThread,
  type MembersChange,
} from "./members-change.ts";
import { isPosition, lastAnswer, wordsRead } from "./positions.ts";
import { allOf, isTrue, lacking, type Verdict } from "./verdict.ts";

/** A line that closes an ask. */
export interface CloseLine {
  readonly line: LinkedLine;
  readonly close: Close;
}

/** Each close of an ask by an author, by `seq`, then by id. `of`: as of `outcomeOf`. */
export function closesOf(
  history: History,
  ask: Ask,
  closer: string,
  of: string | undefined,
): readonly CloseLine[] {
  const { place, thread } = ask.line;
  return history.closes(closer, place).flatMap((line) => {
    const close = readClose(line);
    if (close === undefined || line.thread !== thread || isLateWord(history, line)) return [];
    if (!isChained(place)) return [{ line, close }];
    const party = partyOf(ask, close);
    const isOfParty = ask.is === "proposal" || of === undefined || party === of;
    return history.descends(line.place, place) && isOfParty ? [{ line, close }] : [];
  });
}

/** The party of a request that a close is about. */
function partyOf(ask: Ask, close: Close): string | undefined {
  return close.of ?? (ask.parties?.length === 1 ? ask.parties[0] : undefined);
}

/** A word behind those that are read is no close. */
function isLateWord(history: History, line: LinkedLine): boolean {
  return history.words(line.place, line.thread).length > MOST_WORDS;
}

/** Whether one close is valid: the first valid one on a branch is the outcome there. */
export function verdictOf(history: History, ask: Ask, { line, close }: CloseLine): Verdict {
  if (close.outcome === "ended") return "yes";
  if (ask.isVoid) return "no";
  if (!isChained(ask.line.place)) return "yes";
  const before = line.prev;
  if (before === undefined) return "no";
  const parties = ask.is === "request" ? [partyOf(ask, close)] : (ask.parties ?? []);
  const hasEach =
    close.entries.length === parties.length &&
    parties.every((party) => close.entries.some(({ by }) => by === party));
  if (!hasEach || (ask.is === "request" && !ask.parties?.includes(parties[0] ?? ""))) return "no";
  return allOf([
    isTrue(ask.is === "request" || isPosition(history, before, ask)),
    ...close.entries.map((entry) => entryVerdict(history, ask, entry, before)),
    isMembersChange(ask.line.body) ? changeVerdict(history, ask, { line, close }) : "yes",
  ]);
}

/** What one entry of a close proves of its party. `before` is the line before the close. */
function entryVerdict(history: History, ask: Ask, entry: CloseEntry, before: ChainPlace): Verdict {
  const { by, ack, at } = entry;
  if (by === undefined || ack === undefined) return "no";
  if (at === undefined) return looseAnswerVerdict(history, ask, entry, before);
  const unlinked = history.known(before, by, at.seq).filter((place) => !history.linked(place));
  const isKnownBehind = history
    .known(before, by, at.seq)
    .some((place) => history.linked(place) !== undefined && history.descends(place, at));
  if (isKnownBehind) return "no";
  if (history.linked(at) === undefined) return lacking(at, ...unlinked);
  return allOf([
    isTrue(isLastAnswer(history, ask, ack, at)),
    unlinked.length === 0 ? "yes" : lacking(...unlinked),
  ]);
}

function isLastAnswer(history: History, ask: Ask, ack: Place, at: ChainPlace): boolean {
  const { thread } = ask.line;
  if (history.words(at, thread).length > MOST_WORDS) return false;
  if (ask.is === "proposal" && !isPosition(history, at, ask)) return false;
  const last = lastAnswer(history, at, ask);
  return last !== undefined && isSamePlace(last.place, ack);
}

/** An answer of an agent that does not chain. */
function looseAnswerVerdict(
  history: History,
  ask: Ask,
  { by, ack }: CloseEntry,
  before: ChainPlace,
): Verdict {
  if (by === undefined || ack === undefined || ack.seq !== null) return "no";
  if (isMembersChange(ask.line.body)) return "no";
  if (history.known(before, by, 0).length > 0) return "no";
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
  const { body, thread, type } = line;
  if (type !== "ack" || thread !== ask.line.thread) return false;
  const names = ["acks", "answers"].some((name) => textField(body, name) === ask.line.place.id);
  return names || isBareAnswer(history, ask, line, before);
}

/** An ack that names nothing can only mean the one ask that its thread begins with. */
function isBareAnswer(history: History, ask: Ask, line: LooseLine, before: ChainPlace): boolean {
  const { body, to } = line;
  const { place, thread, timestamp } = ask.line;
  const asked = isChained(place) ? history.linked(place) : undefined;
  if (asked === undefined || thread !== timestamp || history.hasEarlierInThread(asked))
    return false;
  if (["acks", "answers", "about"].some((name) => field(body, name) !== undefined)) return false;
  const requestId = field(body, "request_id");
  if (requestId !== undefined && requestId !== field(ask.line.body, "request_id")) return false;
  const isToAsker = to?.some((name) => name === place.author || name === "*") === true;
  const asks = history.words(before, thread).filter((word) => readAsk(word) !== undefined);
  return isToAsker && asks.length === 1;
}

/**
 * Whether a close is the outcome on its own branch: it is valid, and no earlier one there is or may become
 * that.
 */
function outcomeVerdict(history: History, ask: Ask, closed: CloseLine): Verdict {
  const of = ask.is === "request" ? partyOf(ask, closed.close) : undefined;
  const earlier = closesOf(history, ask, closed.line.place.author, of)
    .filter(({ line }) => history.descends(closed.line.place, line.place))
    .map((each) => verdictOf(history, ask, each));
  if (earlier.includes("yes")) return "no";
  return allOf([...earlier.filter((verdict) => verdict !== "no"), verdictOf(history, ask, closed)]);
}

/** What a change of members needs beside any other proposal. Spec of the next wire, 3.11. */
function changeVerdict(history: History, ask: Ask, { line, close }: CloseLine): Verdict {
  const asked = history.linked(ask.line.place);
  if (asked === undefined) return "no";
  const acks = close.entries.map(({ ack }) => ack && history.linked(ack));
  const hasLeft = history
    .leaves(asked.place.author)
    .some(
      ({ place }) => history.descends(place, asked.place) && history.descends(line.place, place),
    );
  return allOf([
    isTrue(!hasLeft),
    changeStands(history, ask),
    takeCounts(history, asked),
    ...acks.map((ack) => (ack === undefined ? "yes" : takeCounts(history, ack))),
  ]);
}

/** Whether a change can be approved at all; when not, it is void. */
function changeStands(history: History, ask: Ask): Verdict {
  const change = readMembersChange(ask.line.body);
  const { author } = ask.line.place;
  if (change === undefined || ask.is !== "proposal") return "no";
  const { after, starts, makes } = change;
  if (ask.line.thread !== rosterThread(history.wireId, after)) return "no";
  if (starts.get(author) !== true || makes.get(author) !== true || !isOneStep(starts, makes))
    return "no";
  const required = [...makes]
    .filter(([handle, chains]) => chains && starts.has(handle) && handle !== author)
    .map(([handle]) => handle);
  const parties = ask.parties ?? [];
  const isAsked =
    parties.length === required.length && required.every((each) => parties.includes(each));
  if (!isAsked) return "no";
  const follows = (place: ChainPlace): Verdict => {
    const line = history.linked(place);
    return line === undefined ? lacking(place) : followVerdict(history, change, line);
  };
  return allOf([
    typeof after === "number" ? "yes" : follows(after),
    ...change.leaves.map((leave) => {
      const line = history.linked(leave);
      return line === undefined ? lacking(leave) : isTrue(isLeave(line));
    }),
  ]);
}

/** Whether a change starts with the roster that the one before it made, less the leaves that it counts. */
function followVerdict(history: History, change: MembersChange, line: LinkedLine): Verdict {
  const close = readClose(line);
  const asked = close === undefined ? undefined : history.linked(close.decides);
  const before = asked === undefined ? undefined : readAsk(asked);
  const made = before === undefined ? undefined : readMembersChange(before.line.body);
  if (close?.outcome !== "approved" || before === undefined || made === undefined) return "no";
  const isOfChange =
    isMembersChange(before.line.body) &&
    closesOf(history, before, line.place.author, undefined).some(({ line: each }) =>
      isSamePlace(each.place, line.place),
    );
  if (!isOfChange) return "no";
  const leaving = change.leaves.map(({ author }) => author);
  const left = new Map([...made.makes].filter(([handle]) => !leaving.includes(handle)));
  const isExact =
    isSameRoster(change.starts, left) &&
    leaving.every((handle) => made.makes.has(handle)) &&
    new Set(leaving).size === leaving.length;
  if (!isExact) return "no";
  const counted = leavesCounted(history, made);
  const isTwice = change.leaves.some((leave) => counted.some((each) => isSamePlace(each, leave)));
  return allOf([isTrue(!isTwice), outcomeVerdict(history, before, { line, close })]);
}

/** The leaves that a change and those which it follows have counted. */
function leavesCounted(history: History, change: MembersChange): readonly ChainPlace[] {
  const { after, leaves } = change;
  if (typeof after === "number") return leaves;
  const close = history.linked(after);
  const asked =
    close === undefined ? undefined : history.linked(readClose(close)?.decides ?? after);
  const before = asked === undefined ? undefined : readMembersChange(asked.body);
  return before === undefined ? leaves : [...leaves, ...leavesCounted(history, before)];
}

/**
 * Whether the word by which an agent takes a change counts: it is the first that its author takes in that
 * thread, or names the end of the one before, whose word counts too.
 */
function takeCounts(history: History, word: LinkedLine): Verdict {
  const taken = moved(undefined, word);
  if (taken === undefined || word.prev === undefined) return "yes";
  const earlier = wordsRead(history, word.prev, word.thread).filter((each) => {
    const other = moved(undefined, each);
    return other !== undefined && !isSamePlace(other, taken);
  });
  const last = earlier.at(-1);
  const other = last === undefined ? undefined : moved(undefined, last);
  if (last === undefined || other === undefined) return "yes";
  const ends = (readPlaces(field(word.body, "ends")) ?? []).map((end) =>
    endVerdict(history, other, end),
  );
  const isEnded: Verdict = ends.includes("yes")
    ? "yes"
    : (ends.find((verdict) => verdict !== "no") ?? "no");
  return allOf([isEnded, takeCounts(history, last)]);
}

/** Whether a line ends a change: its close other than as approved, or the leave of its asker. */
function endVerdict(history: History, change: Place, end: ChainPlace): Verdict {
  const line = history.linked(end);
  const asked = history.linked(change);
  if (line === undefined) return lacking(end);
  if (asked === undefined) return lacking(change);
  const ask = readAsk(asked);
  if (ask === undefined || !history.descends(end, asked.place)) return "no";
  const close = readClose(line);
  if (close === undefined ? !isLeave(line) : close.outcome !== "ended") return "no";
  if (close !== undefined && !isSamePlace(close.decides, asked.place)) return "no";
  const earlier = closesOf(history, ask, asked.place.author, undefined)
    .filter((each) => history.descends(end, each.line.place))
    .map((each) => verdictOf(history, ask, each));
  if (earlier.includes("yes")) return "no";
  return allOf(earlier.filter((verdict) => verdict !== "no"));
}
