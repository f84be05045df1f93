import type {
  Answered,
  AskKey,
  AskName,
  Few,
  HeadShows,
  History,
  HistoryLine,
  LinkedLine,
  LooseLine,
  Receipt,
  Refusal,
  StandingClose,
  Standing,
  Take,
} from "../protocol/asks/history.ts";
import type { Verdict } from "../protocol/asks/verdict.ts";
import { booleanField, field, textField, textsField } from "../protocol/body.ts";
import { isHandle } from "../wire/handle.ts";
import { isJsonArray, parseObject, type JsonObject, type JsonValue } from "../wire/json/json.ts";
import { MAX_RECIPIENTS } from "../wire/limits.ts";
import {
  isSamePlace,
  readRefused,
  type ChainPlace,
  type Naming,
  type Place,
} from "../wire/places.ts";
import {
  findPath,
  isOnPath,
  ON_PATH,
  partsBehind,
  pathJson,
  pathTo,
  tipAt,
  type Tip,
} from "./branches.ts";
import { AGENT, idBytes, IS_AT, optionalId, PLACE, placeInputs, THREAD } from "./columns.ts";
import { Rows, type Database } from "./database.ts";
import { findHead, hasHead } from "./heads.ts";

const LINE =
  `select ${PLACE}, ${optionalId("lines.prev")} as prev, branch, type, bytes, threads.name as thread ` +
  "from lines join agents using (a) join threads using (t)";
const WORD =
  "select n, nth, asks, stands as author, stands_seq as seq, lower(hex(stands_id)) as id, taking, other from thread_words where";
/**
 * Of what a hostile author has written to be searched through, so much is looked at: no judge of what only
 * restrains ourselves is worth more.
 */
const MOST_ROWS = 1_024;
const MOST_REFUSALS = 64;
const MOST_BEATS = 16;
const MOST_LOOSE = 64;
/** Lines that can answer a message of their thread without naming it. */
export const REPLY = "type in ('ack', 'proposal', 'feedback', 'decision', 'ship', 'warning')";
/** From the places that an author names to the lines in which it does. */
const NAMED = "from names cross join lines using (n) where names.a = ? and of = ?";
const ON_PART = "and lines.branch = ? and lines.seq <= ?";
const CLOSE =
  `select ${PLACE}, v.n as n, v.outcome as outcome, v.state as state ` +
  "from verdicts v join lines using (n) join agents using (a) where v.subject = 'close' and";
/** Closes that prove nothing which are named. */
const MOST_UNPROVED = 16;
/** Lines that a close waits for which are named. */
const MOST_LACKING = 512;
/** The linked line at a place that is lacking elsewhere. */
const LINKED_AT =
  "lines on lines.a = (select a from agents where name = lacking.author) and lines.seq = lacking.seq " +
  "and lines.id = lacking.id and lines.branch is not null";
/** Of an agent with more leaves, each point is looked for by itself. */
const FEW_LEAVES = 64;

/** A word of a thread, with the place at which its author stands after it. */
export interface WordRow extends Omit<Place, "author"> {
  readonly n: number;
  readonly nth: number;
  readonly asks: number;
  readonly author: string | null;
  /** `n` of the last word that takes a place, and of the last one before that takes another. */
  readonly taking: number | null;
  readonly other: number | null;
}

interface LineRow extends Place {
  readonly prev: string | null;
  readonly branch: number | null;
  readonly type: string;
  readonly thread: string;
  readonly bytes: Uint8Array;
}

interface CloseRow extends ChainPlace {
  readonly n: number;
  readonly outcome: "approved" | "ended";
  readonly state: string;
}

/** The lines of a store as the judges of outcomes ask for them. */
export class StoreHistory extends Rows implements History {
  readonly wireId: string;

  constructor(database: Database, wireId: string) {
    super(database);
    this.wireId = wireId;
  }

  linked(place: Place): LinkedLine | undefined {
    if (place.seq === null) return undefined;
    const row = this.#row(place);
    return row === undefined || row.branch === null ? undefined : linkedLine(row);
  }

  loose(place: Place): LooseLine | undefined {
    if (place.seq !== null) return undefined;
    const row = this.#row(place);
    return row && looseLine(row);
  }

  /** A line by its `n`: in a chain when it is linked, else outside of any. */
  line(n: number): LinkedLine | LooseLine {
    const row = this.database.get<LineRow>(`${LINE} where lines.n = ?`, n);
    if (row === undefined) throw new Error(`line ${n} is not held`);
    return row.seq === null ? looseLine(row) : linkedLine(row);
  }

  descends(newer: ChainPlace, older: ChainPlace): boolean {
    if (newer.author !== older.author || newer.seq <= older.seq) return false;
    const tip = tipAt(this.database, older);
    return (
      tip !== undefined &&
      this.#path(newer).some(({ branch, seq }) => branch === tip.branch && tip.seq <= seq)
    );
  }

  standing(tip: ChainPlace, thread: string): Standing {
    const word = this.#lastWord(tip, thread);
    if (word === undefined) return { words: 0, asks: 0, position: undefined };
    return { words: word.nth, asks: word.asks, position: standsAt(word) };
  }

  lastAnswer(tip: ChainPlace, { thread, place, is }: AskName): Answered | undefined {
    const sql =
      `select n, approves as isApproval from answers where t = ${THREAD} and a = ? and branch = ? and of_id = ? ` +
      "and type = ? and seq <= ? and of = ? and of_seq is ? order by seq desc limit 1";
    const id = idBytes(place.id);
    const row = this.#first(tip, ({ a, branch, seq }) =>
      this.database.get<{ n: number; isApproval: boolean }>(
        sql,
        ...[thread, a, branch, id, is, seq, place.author, place.seq],
      ),
    );
    return row && { place: this.#placeOf(row.n), approves: row.isApproval };
  }

  lastTake(tip: ChainPlace, thread: string, other: Place): Take | undefined {
    const last = this.#lastWord(tip, thread);
    const words = [last?.taking, last?.other].map((n) => (n ? this.word(n) : undefined));
    const word = words.find((each) => {
      const place = each && standsAt(each);
      return place !== undefined && !isSamePlace(place, other);
    });
    const takes = word && standsAt(word);
    return takes && { word: this.#placeOf(word.n), takes };
  }

  takeCounts(word: ChainPlace): Verdict {
    const sql = `select state from verdicts join lines using (n) where subject = 'take' and ${IS_AT}`;
    const state = this.database.value<string>(sql, ...placeInputs(word));
    if (state === "no") return "no";
    return state === undefined || state === "yes" ? "yes" : { lacks: [word] };
  }

  isKnownBehind(tip: ChainPlace, at: ChainPlace): boolean {
    if (this.#lastKnown(tip, at.author) <= at.seq) return false;
    return this.#isNamedIn(tip, at.author, this.#partsBehind(at));
  }

  lastUnlinked(tip: ChainPlace, party: string, above: number): ChainPlace | undefined {
    if (this.#lastKnown(tip, party) <= above) return undefined;
    const sql =
      `select of as author, of_seq as seq, lower(hex(of_id)) as id ${NAMED} and of_branch is null and of_seq > ? ` +
      `${ON_PART} order by of_seq desc limit 1`;
    const rows = this.#each(tip, ({ a, branch, seq }) =>
      this.database.get<ChainPlace>(sql, a, party, above, branch, seq),
    );
    return rows.toSorted((one, other) => other.seq - one.seq)[0];
  }

  knowsChain(tip: ChainPlace, party: string): boolean {
    return this.#lastKnown(tip, party) > 0;
  }

  firstClose(ask: AskKey, tip: ChainPlace): StandingClose | undefined {
    const part = this.#part(ask);
    const sql = `${CLOSE} v.ask = ? and v.branch = ? and v.seq <= ? and v.state <> 'no' order by v.seq limit 1`;
    const rows = this.#each(tip, ({ branch, seq }) =>
      this.database.get<CloseRow>(sql, part, branch, seq),
    );
    const [first] = rows.toSorted((one, other) => one.seq - other.seq);
    return first && this.#standingClose(first);
  }

  firstCloses(ask: AskKey): readonly StandingClose[] {
    const sql = `${CLOSE} v.ask = ? and v.state in ('yes', 'open', 'due') order by v.seq, lines.id`;
    const rows = this.database.all<CloseRow>(sql, this.#part(ask));
    return rows.map((row) => this.#standingClose(row));
  }

  unprovedCloses(ask: AskKey): readonly ChainPlace[] {
    const sql = `${CLOSE} v.ask = ? and v.state = 'no' order by v.seq desc, lines.id limit ?`;
    const rows = this.database.all<CloseRow>(sql, this.#part(ask), MOST_UNPROVED);
    return rows.map(chainPlace).toReversed();
  }

  isNamedBy(author: string, line: ChainPlace): boolean {
    const a = this.database.value("select a from agents where name = ?", author);
    const sql =
      `select 1 ${NAMED} and of_branch = ? and of_seq >= ? and naming <> 'refuses' ` +
      "and lines.branch is not null limit 1";
    return this.#partsFrom(line).some(({ branch, seq }) =>
      this.database.has(sql, a, line.author, branch, seq),
    );
  }

  hasEarlierInThread({ place, thread }: LinkedLine): boolean {
    const sql =
      `select 1 from lines where t = ${THREAD} and a = ? and branch = ? and seq <= ? and seq < ? ` +
      "and branch is not null and type <> 'heartbeat' limit 1";
    return this.#path(place).some(({ a, branch, seq }) =>
      this.database.has(sql, thread, a, branch, seq, place.seq),
    );
  }

  approvedChanges(thread: string): readonly LinkedLine[] {
    const sql = `${LINE} join asks using (n) where asks.t = ${THREAD} and members = 1 and state in ('approved', 'contested') order by lines.n`;
    return this.database.all<LineRow>(sql, thread).map(linkedLine);
  }

  leaveBetween(earlier: ChainPlace, later: ChainPlace): ChainPlace | undefined {
    const sql =
      "select n, seq from leaves where a = ? and branch = ? and seq <= ? and seq > ? order by seq limit 1";
    const rows = this.#each(later, ({ a, branch, seq }) =>
      this.database.get<{ n: number; seq: number }>(sql, a, branch, seq, earlier.seq),
    );
    const [first] = rows.toSorted((one, other) => one.seq - other.seq);
    return first && this.#placeOf(first.n);
  }

  rosterMark(): string | undefined {
    const sql =
      "select max(state = 'contested') as isContested, coalesce(max(changed), 0) as changed, " +
      "coalesce((select max(n) from leaves), 0) as left " +
      "from asks where members = 1 and state in ('approved', 'contested')";
    const row = this.database.get<{ isContested: boolean; changed: number; left: number }>(sql);
    return row === undefined || row.isContested ? undefined : `${row.changed} ${row.left}`;
  }

  firstLeave(line: ChainPlace): ChainPlace | undefined {
    const sql = "select n from leaves where a = ? and branch = ? and seq >= ? order by seq limit 1";
    const n = firstOf(this.#partsBehind(line), ({ a, branch, seq }) =>
      this.database.value<number>(sql, a, branch, seq),
    );
    return n === undefined ? undefined : this.#placeOf(n);
  }

  findLeave(
    author: string,
    after: readonly (number | ChainPlace)[],
    counted: readonly ChainPlace[],
  ): ChainPlace | undefined {
    const names = new Set(after.map(afterName));
    const sql = `select leaves.after as after, ${PLACE} from leaves join lines using (n) join agents on agents.a = leaves.a where agents.name = ?`;
    type Leave = ChainPlace & { readonly after: string };
    const few = this.database.all<Leave>(
      `${sql} order by leaves.n limit ?`,
      author,
      FEW_LEAVES + 1,
    );
    const own = counted.filter((place) => place.author === author);
    const isLeave = (leave: Leave): boolean =>
      names.has(leave.after) && !own.some((place) => isSamePlace(place, leave));
    const found = few.find(isLeave);
    if (found !== undefined) return chainPlace(found);
    if (few.length <= FEW_LEAVES) return undefined;
    const rest = `${sql} and leaves.after = ? order by leaves.n limit ?`;
    const leave = firstOf([...names], (name) =>
      this.database.all<Leave>(rest, author, name, own.length + 1).find(isLeave),
    );
    return leave && chainPlace(leave);
  }

  namers(
    author: string,
    naming: Naming,
    place: Place,
    { from, limit }: Few,
  ): readonly LinkedLine[] {
    const order = from === "first" ? "asc" : "desc";
    const sql =
      `${LINE} join names using (n) where of = ? and of_id = ? and of_seq is ? and naming <> 'knows' and naming = ? ` +
      `and names.a = ${AGENT} and branch is not null ` +
      `order by lines.seq ${order}, lines.id ${order} limit ?`;
    return this.database
      .all<LineRow>(sql, place.author, idBytes(place.id), place.seq, naming, author, limit)
      .map(linkedLine);
  }

  firstHead(tip: ChainPlace, line: ChainPlace, shows: HeadShows): ChainPlace | undefined {
    return findHead(this.database, tip, line, shows);
  }

  hasHead(author: string, line: ChainPlace, shows: HeadShows): boolean {
    return hasHead(this.database, author, line, shows);
  }

  isRefused(tip: ChainPlace, line: ChainPlace): boolean {
    return this.findRefusal(tip, line) !== undefined;
  }

  findRefusal(tip: ChainPlace, line: ChainPlace): Refusal | undefined {
    const path = findPath(this.database, tip);
    const sql =
      "select distinct seq, lower(hex(id)) as id, branch, bytes, of_seq from (select n, of_seq from names where " +
      `a = ${AGENT} and of = ? and of_seq >= ? and naming = 'refuses' order by of_seq limit ${MOST_REFUSALS}) ` +
      "join lines using (n) where seq <= ? and branch is not null order by of_seq, seq";
    type Row = Pick<LineRow, "id" | "bytes"> & { seq: number; branch: number };
    return this.database
      .all<Row>(sql, tip.author, line.author, line.seq, tip.seq)
      .filter((row) => isOnPath(path, row))
      .flatMap(({ seq, id, bytes }) => {
        const beat = { author: tip.author, seq, id };
        const body = field(parseLine(bytes), "body") ?? null;
        return readRefused(body).map((range) => ({ ...range, beat }));
      })
      .find(({ first, last }) => first <= line.seq && this.#isAtOrBehind(last, line));
  }

  isKnown(tip: ChainPlace, line: Place): boolean {
    if (line.seq === null) {
      const path = findPath(this.database, tip);
      const sql =
        "select seq, branch from names join lines using (n) where of = ? and of_id = ? and of_seq is null " +
        `and names.a = ${AGENT} and branch is not null order by seq limit ${MOST_ROWS}`;
      return this.database
        .all<{ seq: number; branch: number }>(sql, line.author, idBytes(line.id), tip.author)
        .some((row) => isOnPath(path, row));
    }
    const { author, seq, id } = line;
    if (this.#lastKnown(tip, author) < seq) return false;
    return this.#isNamedIn(tip, author, this.#partsFrom({ author, seq, id }));
  }

  lastBeats(tip: ChainPlace, datedByMs: number): readonly LinkedLine[] {
    const newest =
      `select n, seq, type, sent from lines where a = ${AGENT} and seq <= ? and branch is not null ` +
      `and ${ON_PATH} order by seq desc limit ${MOST_ROWS}`;
    const beats =
      `select n from (${newest}) where type = 'heartbeat' and sent <= ? ` +
      `order by seq desc limit ${MOST_BEATS}`;
    const path = pathJson(findPath(this.database, tip));
    const sql = `${LINE} where lines.n in (${beats}) order by lines.seq desc`;
    return this.database.all<LineRow>(sql, tip.author, tip.seq, path, datedByMs).map(linkedLine);
  }

  looseReplies(author: string, thread: string): readonly LooseLine[] {
    const sql =
      `${LINE} where t = ${THREAD} and a = ${AGENT} and ${REPLY} and lines.seq is null ` +
      `and type in ('ack', 'proposal') order by received desc, lines.n desc limit ${MOST_LOOSE}`;
    return this.database.all<LineRow>(sql, thread, author).map(looseLine);
  }

  receipt(place: Place): Receipt | undefined {
    const sql = `select n, received as atMs, live as isLive from lines where ${IS_AT}`;
    return this.database.get(sql, ...placeInputs(place));
  }

  /** The last word of a thread on the branch of a line. */
  lastWord(tip: Tip, t: number): WordRow | undefined {
    const sql = `${WORD} t = ? and a = ? and branch = ? and thread_words.seq <= ? order by thread_words.seq desc limit 1`;
    return firstOf(pathTo(this.database, tip), ({ a, branch, seq }) =>
      this.database.get<WordRow>(sql, t, a, branch, seq),
    );
  }

  word(n: number): WordRow | undefined {
    return this.database.get(`${WORD} n = ?`, n);
  }

  #lastWord(place: ChainPlace, thread: string): WordRow | undefined {
    const tip = tipAt(this.database, place);
    const t = this.database.value("select t from threads where name = ?", thread);
    return tip === undefined || t === undefined ? undefined : this.lastWord(tip, t);
  }

  /** Whether a line of these parts of the branches of an author is named on the branch of a line. */
  #isNamedIn(tip: ChainPlace, author: string, parts: readonly Tip[]): boolean {
    const sql = `select 1 ${NAMED} and of_branch = ? and of_seq >= ? ${ON_PART} limit 1`;
    return this.#path(tip).some(({ a, branch, seq }) =>
      parts.some((part) => this.database.has(sql, a, author, part.branch, part.seq, branch, seq)),
    );
  }

  /** Whether a place is that of a linked line, or of one that descends from it. */
  #isAtOrBehind(place: ChainPlace, line: ChainPlace): boolean {
    return isSamePlace(place, line) || this.descends(place, line);
  }

  #row(place: Place): LineRow | undefined {
    return this.database.get(`${LINE} where ${IS_AT}`, ...placeInputs(place));
  }

  #placeOf(n: number): ChainPlace {
    const sql = `select ${PLACE} from lines join agents using (a) where n = ?`;
    const place = this.database.get<ChainPlace>(sql, n);
    if (place === undefined) throw new Error(`line ${n} is not held`);
    return place;
  }

  #part({ place, party }: AskKey): number | undefined {
    const sql = `select ask from asks join lines using (n) where ${IS_AT} and party = ?`;
    return this.database.value(sql, ...placeInputs(place), party);
  }

  #standingClose(row: CloseRow): StandingClose {
    const { outcome, state, n } = row;
    const place = chainPlace(row);
    if (state === "yes") return { place, outcome, verdict: "yes" };
    // What waits for a line that is held waits for what that one waits for.
    const sql =
      "with recursive lacking (author, seq, id) as (select of, of_seq, of_id from waits where n = ? and subject = 'close' " +
      `union select next.of, next.of_seq, next.of_id from lacking join ${LINKED_AT} join waits as next using (n)) ` +
      "select author, seq, lower(hex(id)) as id from lacking " +
      `where not exists (select 1 from (select 1) join ${LINKED_AT}) order by author, lacking.seq, lacking.id limit ?`;
    const lacks = this.database.all<Place>(sql, n, MOST_LACKING);
    return { place, outcome, verdict: { lacks } };
  }

  #path(tip: ChainPlace): readonly Tip[] {
    const found = tipAt(this.database, tip);
    return found === undefined ? [] : pathTo(this.database, found);
  }

  #partsBehind(place: ChainPlace): readonly Tip[] {
    const found = tipAt(this.database, place);
    return found === undefined ? [] : partsBehind(this.database, found);
  }

  /** The same, from the line itself on. */
  #partsFrom(place: ChainPlace): readonly Tip[] {
    const found = tipAt(this.database, place);
    if (found === undefined) return [];
    // The line itself is on a branch with what follows it there.
    const parts = partsBehind(this.database, found).filter(({ branch }) => branch !== found.branch);
    return [found, ...parts];
  }

  /** The largest number of a line of `party` that is named on the branch of a line, linked or not; 0 for none. */
  #lastKnown(tip: ChainPlace, party: string): number {
    const sql =
      "select up_to from known where a = ? and branch = ? and of = ? and seq <= ? order by seq desc limit 1";
    const numbers = this.#each(tip, ({ a, branch, seq }) =>
      this.database.value<number>(sql, a, branch, party, seq),
    );
    return Math.max(0, ...numbers);
  }

  /** What is found on each part of the branch of a line. */
  #each<Found>(tip: ChainPlace, find: (part: Tip) => Found | undefined): Found[] {
    return this.#path(tip)
      .map(find)
      .filter((found) => found !== undefined);
  }

  /** What is found first on the branch of a line, going back from it. */
  #first<Found>(tip: ChainPlace, find: (part: Tip) => Found | undefined): Found | undefined {
    return firstOf(this.#path(tip), find);
  }
}

function firstOf<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What a leave follows, as it is kept. */
export function afterName(after: number | ChainPlace): string {
  return typeof after === "number" ? `epoch ${after}` : after.id;
}

function chainPlace({ author, seq, id }: ChainPlace): ChainPlace {
  return { author, seq, id };
}

/** The place at which the author of a word stands after it. */
export function standsAt({ author, seq, id }: WordRow): Place | undefined {
  return author === null ? undefined : { author, seq, id };
}

function linkedLine(row: LineRow): LinkedLine {
  const { author, id, prev } = row;
  const place = { author, seq: Number(row.seq), id };
  return {
    ...historyLine(row, parseLine(row.bytes)),
    place,
    prev: prev === null ? undefined : { author, seq: place.seq - 1, id: prev },
  };
}

function looseLine(row: LineRow): LooseLine {
  const value = parseLine(row.bytes);
  return {
    ...historyLine(row, value),
    place: { author: row.author, seq: null, id: row.id },
    isSigned: textField(value, "signature") !== undefined,
  };
}

function parseLine(bytes: Uint8Array): JsonObject {
  const parsed = parseObject(bytes);
  if (!parsed.ok) throw new Error("a line that is held is no JSON object");
  return parsed.value;
}

/** A field of another type than it should have is absent. */
function historyLine({ thread, type }: LineRow, value: JsonObject): Omit<HistoryLine, "place"> {
  const to = field(value, "to");
  return {
    thread,
    type,
    timestamp: textField(value, "timestamp") ?? "",
    to: to === "*" ? ["*"] : readAddressees(to),
    isAckRequired: booleanField(value, "ack_required") === true,
    subject: textField(value, "subject") ?? "",
    refs: textsField(value, "refs") ?? [],
    body: field(value, "body") ?? null,
  };
}

/** A list with anything that is no handle is absent; `["*"]` names all. */
function readAddressees(value: JsonValue | undefined): readonly string[] | undefined {
  if (!isJsonArray(value) || value.length > MAX_RECIPIENTS) return undefined;
  if (value.length === 1 && value[0] === "*") return ["*"];
  const handles = value.filter((each) => typeof each === "string");
  return handles.length === value.length && handles.every(isHandle) ? handles : undefined;
}
