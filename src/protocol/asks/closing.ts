import { fromPlain, type JsonValue } from "../../wire/json/json.ts";
import { placeJson, type ChainPlace, type Place } from "../../wire/places.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { booleanField, field } from "../body.ts";
import { dueOf } from "../due.ts";
import { readClose, type Ask } from "./ask-line.ts";
import { isLooseAnswer, isPosition, lastYes, namesById, verdictOf } from "./closes.ts";
import { overtakenBy } from "./members.ts";
import { lineAt, MOST_WORDS, type History, type HistoryLine, type LinkedLine } from "./history.ts";

/** A line that our daemon has to sign: its other fields are those of any line of ours. */
export interface Draft {
  readonly type: "correction";
  readonly to: readonly string[];
  readonly thread: string;
  readonly body: JsonValue;
}

/** A part of an ask that our agent has to close, as long as no line closes it. */
export interface OpenAsk {
  /** `parties` are those of this part. */
  readonly ask: Ask;
  /** Of a request: its party, which the close names. */
  readonly of: string | undefined;
  /** It was not there when reading began: its time may run out. */
  readonly isLive: boolean;
  /** Since when a party has read it and was free to answer, milliseconds of Unix time. */
  readonly readySince: ReadonlyMap<string, number>;
  /** A close of ours proves nothing. */
  readonly hasUnproved: boolean;
}

/** What is known of the agents of a wire at this moment. */
export interface Situation {
  readonly us: string;
  readonly nowMs: number;
  /** `answer_minutes` and `proposal_hours` of the pinned configuration. */
  readonly answerMs: number;
  readonly proposalMs: number;
  /** The last line of the branch that is followed of an author; undefined before its first line. */
  whole(author: string): ChainPlace | undefined;
  /** It is held because of a fork: nothing is agreed with it. */
  isForked(author: string): boolean;
  isMember(author: string): boolean;
  /** A chained line of it is held, or the roster says that it chains. */
  chains(author: string): boolean;
  isSilent(author: string): boolean;
  /** What the last beat of an author advertises. */
  cadenceMs(author: string): number;
  /** Its carriers were read to their end, as of then or later (wall ms). */
  isReadToEnd(author: string, sinceMs: number): boolean;
}

/** Why a daemon ends an ask, as its close says. */
const END_REASONS = [
  "withdrawn",
  "rejected",
  "another change was approved",
  "not proved",
  "answered otherwise",
  "the thread is full",
  "a party left",
  "no answer until it was due",
  "no answer in time",
] as const;
type EndReason = (typeof END_REASONS)[number];

interface End {
  readonly atMs: number;
  readonly reason: EndReason;
}

/** False: our agent has ended it itself, and says why. */
export function isEndOfDaemon(reason: string): boolean {
  return END_REASONS.some((each) => each === reason);
}

/** Words of ours that are left to close what is open before a thread is full. */
const WORDS_TO_CLOSE = 64;
const NO_ID = "0".repeat(64);

/**
 * What our daemon signs about one open ask now; nothing while there is nothing to do. More than one line belong
 * into one transaction; the next ask is judged behind them. Spec 3.4.5, 3.4.6.
 *
 * @param others the other open asks of this thread that are ours to close
 */
export function closingsOf(
  history: History,
  now: Situation,
  open: OpenAsk,
  others: readonly OpenAsk[] = [],
): readonly Draft[] {
  if (open.ask.place.seq === null) return looseClosing(history, now, open);
  const { ask } = open;
  const tip = now.whole(now.us);
  const line = history.linked(ask.place);
  if (tip === undefined || line === undefined) return [];
  const end = (reason: EndReason, ...answers: readonly JsonValue[]): readonly Draft[] => [
    draft(line, open, { outcome: "ended", answers, reason }),
  ];
  if (ask.is === "proposal" && !isPosition(history, tip, ask)) return end("withdrawn");
  const answers = (ask.parties ?? []).map((party) =>
    answerOf(history, ask, party, tip, now.whole(party)),
  );
  const no = answers.find((answer) => answer?.approves === false);
  if (no !== undefined) return end("rejected", no.entry);
  if (ask.isOfMembers && overtakenBy(history, ask) !== undefined)
    return end("another change was approved");
  const yes = answers.filter((answer) => answer !== undefined);
  if (yes.length === answers.length && isAgreed(history, now, open, tip, yes)) {
    const entries = yes.map(({ entry }) => entry);
    if (open.hasUnproved) return end("not proved", ...entries);
    const isBare = yes.some((answer) => answer.isBare);
    const asked = others.filter(
      ({ ask: other }) => other.place.seq === null && ask.parties?.includes(other.place.author),
    );
    return [
      draft(line, open, { outcome: "approved", answers: entries, reason: "agreed by all" }),
      // The same bare ack must not mean two asks.
      ...(isBare ? asked : []).flatMap((other) => endLoose(history, other, "answered otherwise")),
    ];
  }
  if (history.standing(tip, ask.thread).words > MOST_WORDS - WORDS_TO_CLOSE)
    return end("the thread is full");
  const ends = endsAt(history, now, open);
  return ends !== undefined && ends.atMs <= now.nowMs ? end(ends.reason) : [];
}

interface PartyAnswer {
  readonly approves: boolean;
  /** As a close names it. */
  readonly entry: JsonValue;
  /** It names no ask. */
  readonly isBare: boolean;
  readonly place: Place;
}

/**
 * What a party says of an ask now. `tip` is the last line of the asker; `whole` that of the party, when it has a
 * chain.
 */
export function answerOf(
  history: History,
  ask: Ask,
  party: string,
  tip: ChainPlace,
  whole: ChainPlace | undefined,
): PartyAnswer | undefined {
  if (whole !== undefined) {
    const last = history.lastAnswer(whole, ask);
    if (last === undefined) return undefined;
    if (last.approves && lastYes(history, ask, whole) === undefined) return undefined;
    const { place, approves } = last;
    const entry = fromPlain({
      by: party,
      ack: [place.seq, place.id],
      at: [whole.seq, whole.id],
    });
    return { approves, entry, isBare: false, place };
  }
  const loose = history
    .looseReplies(party, ask.thread)
    .find((line) => line.isSigned && isLooseAnswer(history, ask, line, tip));
  if (loose === undefined) return undefined;
  const { id } = loose.place;
  return {
    approves: booleanField(loose.body, "approve") !== false,
    entry: fromPlain({ by: party, ack: [null, id] }),
    isBare: !namesById(loose, ask),
    place: loose.place,
  };
}

/** Whether a close that names these answers is valid, and nothing holds it back. */
function isAgreed(
  history: History,
  now: Situation,
  { ask }: OpenAsk,
  tip: ChainPlace,
  answers: readonly PartyAnswer[],
): boolean {
  const parties = ask.parties ?? [];
  const isHeld = (party: string): boolean =>
    now.isForked(party) || history.lastUnlinked(tip, party, 0) !== undefined;
  if (parties.some(isHeld)) return false;
  const body = { decides: placeJson(ask.place), outcome: "approved" };
  const line: LinkedLine = {
    ...{ place: { author: now.us, seq: tip.seq + 1, id: NO_ID }, prev: tip, thread: ask.thread },
    ...{ timestamp: "", type: "correction", to: undefined, subject: "", refs: [] },
    isAckRequired: false,
    body: fromPlain({ ...body, answers: answers.map(({ entry }) => entry) }),
  };
  const close = readClose(line);
  return close !== undefined && verdictOf(history, ask, parties, { line, close }) === "yes";
}

/** Ends an open ask of ours for another reason; of changes of members before our agent leaves. 3.11. */
export function endingOf(history: History, open: OpenAsk, reason: string): readonly Draft[] {
  if (open.ask.place.seq === null) return endLoose(history, open, reason);
  const line = history.linked(open.ask.place);
  return line === undefined ? [] : [draft(line, open, { outcome: "ended", answers: [], reason })];
}

/** When an ask ends for time if nothing changes, milliseconds of Unix time; undefined for never. */
function endsAt(history: History, now: Situation, open: OpenAsk): End | undefined {
  const { ask, isLive, readySince } = open;
  const line = lineAt(history, ask.place);
  if (line === undefined) return undefined;
  const others = ask.place.seq === null ? [ask.place.author] : (ask.parties ?? []);
  if (!others.every((party) => now.isMember(party))) return { atMs: 0, reason: "a party left" };
  const askedMs = parseTimestamp(line.timestamp);
  if (!isLive || askedMs === undefined) return undefined;
  const dueMs = dueOf(line.body, askedMs);
  const late: End = { atMs: askedMs + now.proposalMs, reason: "no answer in time" };
  const isPlain = ask.is === "request" && field(line.body, "request_type") === undefined;
  const waiting = others.filter((party) => {
    const whole = now.whole(party);
    return whole === undefined || lastYes(history, ask, whole) === undefined;
  });
  const readyEnds = waiting.map((party): End => {
    const since = ask.is === "proposal" ? readySince.get(party) : undefined;
    const answerMs = Math.max(now.answerMs, 2 * now.cadenceMs(party));
    return since === undefined ? late : { atMs: since + answerMs, reason: "no answer in time" };
  });
  const ends = readyEnds.length === 0 ? [late] : readyEnds;
  const [byItself] = isPlain ? [] : ends.toSorted((one, other) => one.atMs - other.atMs);
  const first: End | undefined =
    dueMs === undefined ? byItself : { atMs: dueMs, reason: "no answer until it was due" };
  if (first === undefined || now.nowMs < first.atMs || now.nowMs >= late.atMs) return first;
  // What a party has written in time may lie unread; one that is held does not block for ever.
  if (others.every((party) => now.isReadToEnd(party, first.atMs))) return first;
  return { ...first, atMs: Math.max(first.atMs, late.atMs) };
}

/** An ask in no chain is closed by its party, that is our agent: its answer is the close. */
function looseClosing(history: History, now: Situation, open: OpenAsk): readonly Draft[] {
  const { ask } = open;
  const line = history.loose(ask.place);
  if (line === undefined) return [];
  const approves = ownAnswer(history, ask, now.whole(now.us), now.us, line);
  if (approves !== undefined) {
    const body = approves
      ? { outcome: "approved", answers: [], reason: "agreed" }
      : { outcome: "ended", answers: [], approve: false, reason: "rejected" };
    return [draft(line, open, body)];
  }
  const ends = endsAt(history, now, open);
  return ends !== undefined && ends.atMs <= now.nowMs ? endLoose(history, open, ends.reason) : [];
}

/** How our agent has answered an ask in no chain: in its chain, or by a line of its own hand. */
function ownAnswer(
  history: History,
  ask: Ask,
  tip: ChainPlace | undefined,
  us: string,
  { timestamp }: HistoryLine,
): boolean | undefined {
  const last = tip === undefined ? undefined : history.lastAnswer(tip, ask);
  if (last !== undefined && tip !== undefined) {
    const stands = !last.approves || lastYes(history, ask, tip) !== undefined;
    return stands ? last.approves : undefined;
  }
  const { id, author } = ask.place;
  const hand = history.looseReplies(us, ask.thread).find(({ type, body, to }) => {
    if (type !== "ack") return false;
    const named = ["acks", "answers", "about"].map((name) => field(body, name));
    if (named.includes(id)) return true;
    const isBare = named.every((name) => name === undefined);
    return isBare && ask.thread === timestamp && to?.includes(author) === true;
  });
  return hand === undefined ? undefined : booleanField(hand.body, "approve") !== false;
}

function endLoose(history: History, open: OpenAsk, reason: string): readonly Draft[] {
  const line = history.loose(open.ask.place);
  return line === undefined ? [] : [draft(line, open, { outcome: "ended", answers: [], reason })];
}

function draft(
  asked: HistoryLine,
  { ask, of }: OpenAsk,
  body: Readonly<Record<string, unknown>>,
): Draft {
  const { place, thread } = ask;
  const isLoose = place.seq === null;
  const named = of === undefined || isLoose ? {} : { of };
  return {
    type: "correction",
    to: isLoose ? [place.author] : (asked.to ?? ["*"]),
    thread,
    body: fromPlain({ decides: placeJson(place), ...named, ...body }),
  };
}
