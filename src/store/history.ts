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
  type Path,
  type Tip,
} from "./branches.ts";
import type { Database, SqlRow } from "./database.ts";
import { findHead, hasHead } from "./heads.ts";
import { idBytes, idStart, idText } from "./ids.ts";

const LINE =
  "select lines.n, seq, id, prev, branch, type, bytes, agents.name as author, threads.name as thread " +
  "from lines join agents using (a) join threads using (t)";
const AUTHOR = "a = (select a from agents where name = ?)";
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
  "select v.n, v.outcome, v.state, lines.seq, lines.id, agents.name as author " +
  "from verdicts v join lines using (n) join agents using (a) where v.subject = 'close' and";
/** Closes that prove nothing which are named. */
const MOST_UNPROVED = 16;
/** Lines that a close waits for which are named. */
const MOST_LACKING = 512;
/** The linked line at a place that is lacking elsewhere. */
const LINKED_AT =
  "lines on lines.a = (select a from agents where name = lacking.of) and lines.seq = lacking.of_seq " +
  "and lines.id = lacking.of_id and lines.branch is not null";
/** Of an agent with more leaves, each point is looked for by itself. */
const FEW_LEAVES = 64;

/** The lines of a store as the judges of outcomes ask for them. */
export class StoreHistory implements History {
  readonly wireId: string;
  readonly #database: Database;

  constructor(database: Database, wireId: string) {
    this.#database = database;
    this.wireId = wireId;
  }

  linked(place: Place): LinkedLine | undefined {
    if (place.seq === null) return undefined;
    const row = this.#row(place);
    return row === undefined || row["branch"] === null ? undefined : linkedLine(row);
  }

  loose(place: Place): LooseLine | undefined {
    if (place.seq !== null) return undefined;
    const row = this.#row(place);
    return row === undefined ? undefined : looseLine(row);
  }

  /** A line by its `n`: in a chain when it is linked, else outside of any. */
  line(n: number): LinkedLine | LooseLine {
    const row = this.#database.get(`${LINE} where lines.n = ?`, n);
    if (row === undefined) throw new Error(`line ${n} is not held`);
    return row["seq"] === null ? looseLine(row) : linkedLine(row);
  }

  descends(newer: ChainPlace, older: ChainPlace): boolean {
    if (newer.author !== older.author || newer.seq <= older.seq) return false;
    const tip = tipAt(this.#database, older);
    return (
      tip !== undefined &&
      this.#path(newer).some(({ branch, seq }) => branch === tip.branch && tip.seq <= seq)
    );
  }

  standing(tip: ChainPlace, thread: string): Standing {
    const t = this.#thread(thread);
    const sql =
      "select nth, asks, stands, stands_seq, stands_id from thread_words " +
      "where t = ? and a = ? and branch = ? and seq <= ? order by seq desc limit 1";
    const row = this.#first(tip, ({ a, branch, seq }) =>
      this.#database.get(sql, t, a, branch, seq),
    );
    if (row === undefined) return { words: 0, asks: 0, position: undefined };
    return { words: Number(row["nth"]), asks: Number(row["asks"]), position: stands(row) };
  }

  lastAnswer(tip: ChainPlace, { thread, place, is }: AskName): Answered | undefined {
    const t = this.#thread(thread);
    const sql =
      "select n, approves from answers where t = ? and a = ? and branch = ? and of_id = ? and type = ? " +
      "and seq <= ? and of = ? and of_seq is ? order by seq desc limit 1";
    const id = idBytes(place.id);
    const row = this.#first(tip, ({ a, branch, seq }) =>
      this.#database.get(sql, t, a, branch, id, is, seq, place.author, place.seq),
    );
    if (row === undefined) return undefined;
    return { place: this.#placeOf(Number(row["n"])), approves: row["approves"] === 1 };
  }

  lastTake(tip: ChainPlace, thread: string, other: Place): Take | undefined {
    const t = this.#thread(thread);
    const at =
      "select taking, other from thread_words where t = ? and a = ? and branch = ? and seq <= ? order by seq desc limit 1";
    const last = this.#first(tip, ({ a, branch, seq }) =>
      this.#database.get(at, t, a, branch, seq),
    );
    const sql = "select n, stands, stands_seq, stands_id from thread_words where n = ?";
    const taking = this.#database.get(sql, last?.["taking"] ?? null);
    const place = taking === undefined ? undefined : stands(taking);
    const isOther = place !== undefined && !isSamePlace(place, other);
    const row = isOther ? taking : this.#database.get(sql, last?.["other"] ?? null);
    const takes = row === undefined ? undefined : stands(row);
    return takes === undefined ? undefined : { word: this.#placeOf(Number(row?.["n"])), takes };
  }

  takeCounts(word: ChainPlace): Verdict {
    const sql =
      "select state from verdicts join lines using (n) where subject = 'take' " +
      "and lines.a = (select a from agents where name = ?) and lines.seq = ? and lines.id = ?";
    const state = this.#database.get(sql, word.author, word.seq, idBytes(word.id))?.["state"];
    if (state === "no") return "no";
    return state === undefined || state === "yes" ? "yes" : { lacks: [word] };
  }

  isKnownBehind(tip: ChainPlace, at: ChainPlace): boolean {
    if (this.#lastKnown(tip, at.author) <= at.seq) return false;
    const sql = `select 1 as found ${NAMED} and of_branch = ? and of_seq >= ? ${ON_PART} limit 1`;
    const parts = this.#partsBehind(at);
    const found = this.#first(tip, ({ a, branch, seq }) =>
      firstOf(parts, (part) =>
        this.#database.get(sql, a, at.author, part.branch, part.seq, branch, seq),
      ),
    );
    return found !== undefined;
  }

  lastUnlinked(tip: ChainPlace, party: string, above: number): ChainPlace | undefined {
    if (this.#lastKnown(tip, party) <= above) return undefined;
    const sql =
      `select of_seq, of_id ${NAMED} and of_branch is null and of_seq > ? ${ON_PART} ` +
      "order by of_seq desc limit 1";
    const rows = this.#each(tip, ({ a, branch, seq }) =>
      this.#database.get(sql, a, party, above, branch, seq),
    );
    const [row] = rows.toSorted((one, other) => Number(other["of_seq"]) - Number(one["of_seq"]));
    if (row === undefined) return undefined;
    return { author: party, seq: Number(row["of_seq"]), id: idText(row["of_id"]) };
  }

  knowsChain(tip: ChainPlace, party: string): boolean {
    return this.#lastKnown(tip, party) > 0;
  }

  firstClose(ask: AskKey, tip: ChainPlace): StandingClose | undefined {
    const part = this.#part(ask);
    const sql = `${CLOSE} v.ask = ? and v.branch = ? and v.seq <= ? and v.state <> 'no' order by v.seq limit 1`;
    const rows = this.#each(tip, ({ branch, seq }) => this.#database.get(sql, part, branch, seq));
    const [first] = rows.toSorted((one, other) => Number(one["seq"]) - Number(other["seq"]));
    return first === undefined ? undefined : this.#standingClose(first);
  }

  firstCloses(ask: AskKey): readonly StandingClose[] {
    const sql = `${CLOSE} v.ask = ? and v.state in ('yes', 'open', 'due') order by v.seq, lines.id`;
    return this.#database.all(sql, this.#part(ask)).map((row) => this.#standingClose(row));
  }

  unprovedCloses(ask: AskKey): readonly ChainPlace[] {
    const sql = `${CLOSE} v.ask = ? and v.state = 'no' order by v.seq desc, lines.id limit ?`;
    return this.#database.all(sql, this.#part(ask), MOST_UNPROVED).map(chainPlace).toReversed();
  }

  isNamedBy(author: string, line: ChainPlace): boolean {
    const a = this.#database.get("select a from agents where name = ?", author)?.["a"];
    const own = tipAt(this.#database, line);
    if (a === undefined || own === undefined) return false;
    const sql =
      `select 1 as found ${NAMED} and of_branch = ? and of_seq >= ? and naming <> 'refuses' ` +
      "and lines.branch is not null limit 1";
    const isNamed = (part: Tip): boolean =>
      this.#database.get(sql, a, line.author, part.branch, part.seq) !== undefined;
    // The line itself is on a branch with what follows it there.
    const parts = this.#partsBehind(line).filter(({ branch }) => branch !== own.branch);
    return [own, ...parts].some(isNamed);
  }

  hasEarlierInThread({ place, thread }: LinkedLine): boolean {
    const t = this.#thread(thread);
    const sql =
      "select 1 as found from lines where t = ? and a = ? and branch = ? and seq <= ? and seq < ? " +
      "and branch is not null and type <> 'heartbeat' limit 1";
    const found = this.#first(place, ({ a, branch, seq }) =>
      this.#database.get(sql, t, a, branch, seq, place.seq),
    );
    return found !== undefined;
  }

  approvedChanges(thread: string): readonly LinkedLine[] {
    const sql = `${LINE} join asks using (n) where asks.t = ? and members = 1 and state in ('approved', 'contested') order by lines.n`;
    return this.#database.all(sql, this.#thread(thread)).map(linkedLine);
  }

  leaveBetween(earlier: ChainPlace, later: ChainPlace): ChainPlace | undefined {
    const sql =
      "select n, seq from leaves where a = ? and branch = ? and seq <= ? and seq > ? order by seq limit 1";
    const rows = this.#each(later, ({ a, branch, seq }) =>
      this.#database.get(sql, a, branch, seq, earlier.seq),
    );
    const [row] = rows.toSorted((one, other) => Number(one["seq"]) - Number(other["seq"]));
    return row === undefined ? undefined : this.#placeOf(Number(row["n"]));
  }

  rosterMark(): string | undefined {
    const sql =
      "select max(changed) as changed, max(state = 'contested') as contested, (select max(n) from leaves) as left " +
      "from asks where members = 1 and state in ('approved', 'contested')";
    const row = this.#database.get(sql);
    if (row?.["contested"] === 1) return undefined;
    return `${Number(row?.["changed"])} ${Number(row?.["left"])}`;
  }

  firstLeave(line: ChainPlace): ChainPlace | undefined {
    const sql = "select n from leaves where a = ? and branch = ? and seq >= ? order by seq limit 1";
    const row = firstOf(this.#partsBehind(line), ({ a, branch, seq }) =>
      this.#database.get(sql, a, branch, seq),
    );
    return row === undefined ? undefined : this.#placeOf(Number(row["n"]));
  }

  findLeave(
    author: string,
    after: readonly (number | ChainPlace)[],
    counted: readonly ChainPlace[],
  ): ChainPlace | undefined {
    const names = new Set(after.map(afterName));
    const sql =
      "select leaves.n, leaves.after, lines.seq, lines.id, agents.name as author " +
      "from leaves join lines using (n) join agents on agents.a = leaves.a where agents.name = ?";
    const few = this.#database.all(`${sql} order by leaves.n limit ?`, author, FEW_LEAVES + 1);
    const own = counted.filter((place) => place.author === author);
    const isLeave = (row: SqlRow): boolean =>
      names.has(String(row["after"])) && !own.some((place) => isSamePlace(place, chainPlace(row)));
    const found = few.find(isLeave);
    if (found !== undefined) return chainPlace(found);
    if (few.length <= FEW_LEAVES) return undefined;
    const rest = `${sql} and leaves.after = ? order by leaves.n limit ?`;
    const row = firstOf([...names], (name) =>
      this.#database.all(rest, author, name, own.length + 1).find(isLeave),
    );
    return row === undefined ? undefined : chainPlace(row);
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
      "and names.a = (select a from agents where name = ?) and branch is not null " +
      `order by seq ${order}, id ${order} limit ?`;
    return this.#database
      .all(sql, place.author, idBytes(place.id), place.seq, naming, author, limit)
      .map(linkedLine);
  }

  firstHead(tip: ChainPlace, line: ChainPlace, shows: HeadShows): ChainPlace | undefined {
    return findHead(this.#database, tip, line, shows);
  }

  hasHead(author: string, line: ChainPlace, shows: HeadShows): boolean {
    return hasHead(this.#database, author, line, shows);
  }

  isRefused(tip: ChainPlace, line: ChainPlace): boolean {
    return this.findRefusal(tip, line) !== undefined;
  }

  findRefusal(tip: ChainPlace, line: ChainPlace): Refusal | undefined {
    const path = findPath(this.#database, tip);
    const sql =
      "select distinct seq, id, branch, bytes, of_seq from (select n, of_seq from names where " +
      `${AUTHOR} and of = ? and of_seq >= ? and naming = 'refuses' order by of_seq limit ${MOST_REFUSALS}) ` +
      "join lines using (n) where seq <= ? and branch is not null order by of_seq, seq";
    return this.#database
      .all(sql, tip.author, line.author, line.seq, tip.seq)
      .filter((row) => isRowOnPath(path, row))
      .flatMap((row) =>
        readRefused(bodyOf(row)).map((range) => ({
          ...range,
          beat: { author: tip.author, seq: Number(row["seq"]), id: idText(row["id"]) },
        })),
      )
      .find(({ first, last }) => first <= line.seq && this.#isAtOrBehind(last, line));
  }

  isKnown(tip: ChainPlace, line: Place): boolean {
    if (line.seq === null) {
      const path = findPath(this.#database, tip);
      const sql =
        "select seq, branch from names join lines using (n) where of = ? and of_id = ? and of_seq is null " +
        `and names.a = (select a from agents where name = ?) and branch is not null order by seq limit ${MOST_ROWS}`;
      return this.#database
        .all(sql, line.author, idBytes(line.id), tip.author)
        .some((row) => isRowOnPath(path, row));
    }
    const { author, seq } = line;
    const own = tipAt(this.#database, { ...line, seq });
    if (own === undefined || this.#lastKnown(tip, author) < seq) return false;
    const sql = `select 1 as found ${NAMED} and of_branch = ? and of_seq >= ? ${ON_PART} limit 1`;
    const parts = partsBehind(this.#database, own).filter(({ branch }) => branch !== own.branch);
    const found = this.#first(tip, (on) =>
      firstOf([own, ...parts], (part) =>
        this.#database.get(sql, on.a, author, part.branch, part.seq, on.branch, on.seq),
      ),
    );
    return found !== undefined;
  }

  lastBeats(tip: ChainPlace, datedByMs: number): readonly LinkedLine[] {
    const sql =
      `select * from (${LINE.replace("type,", "type, sent,")} where ${AUTHOR} and seq <= ? and branch is not null ` +
      `and ${ON_PATH} order by seq desc limit ${MOST_ROWS}) where type = 'heartbeat' and sent <= ? ` +
      `order by seq desc limit ${MOST_BEATS}`;
    const path = pathJson(findPath(this.#database, tip));
    return this.#database.all(sql, tip.author, tip.seq, path, datedByMs).map(linkedLine);
  }

  looseReplies(author: string, thread: string): readonly LooseLine[] {
    const sql =
      `${LINE} where t = (select t from threads where name = ?) and ${AUTHOR} and ${REPLY} and seq is null ` +
      `and type in ('ack', 'proposal') order by received desc, lines.n desc limit ${MOST_LOOSE}`;
    return this.#database.all(sql, thread, author).map(looseLine);
  }

  receipt({ author, seq, id }: Place): Receipt | undefined {
    const sql = `select n, received, live from lines where id_start = ? and id = ? and seq is ? and ${AUTHOR}`;
    const row = this.#database.get(sql, idStart(id), idBytes(id), seq, author);
    if (row === undefined) return undefined;
    const atMs = Number(row["received"]);
    return { n: Number(row["n"]), atMs, isLive: row["live"] === 1 };
  }

  /** Whether a place is that of a linked line, or of one that descends from it. */
  #isAtOrBehind(place: ChainPlace, line: ChainPlace): boolean {
    return isSamePlace(place, line) || this.descends(place, line);
  }

  #row({ author, seq, id }: Place): SqlRow | undefined {
    const sql = `${LINE} where id_start = ? and id = ? and seq is ? and agents.name = ?`;
    return this.#database.get(sql, idStart(id), idBytes(id), seq, author);
  }

  #placeOf(n: number): ChainPlace {
    const sql =
      "select seq, id, agents.name as author from lines join agents using (a) where n = ?";
    const row = this.#database.get(sql, n);
    if (row === undefined) throw new Error(`line ${n} is not held`);
    return chainPlace(row);
  }

  #thread(name: string): number | null {
    const row = this.#database.get("select t from threads where name = ?", name);
    return row === undefined ? null : Number(row["t"]);
  }

  #part({ place, party }: AskKey): number | null {
    const sql =
      "select ask from asks join lines using (n) where lines.id_start = ? and lines.id = ? " +
      "and lines.seq is ? and lines.a = (select a from agents where name = ?) and party = ?";
    const { author, seq, id } = place;
    const row = this.#database.get(sql, idStart(id), idBytes(id), seq, author, party);
    return row === undefined ? null : Number(row["ask"]);
  }

  #standingClose(row: SqlRow): StandingClose {
    const outcome = row["outcome"] === "approved" ? "approved" : "ended";
    const place = chainPlace(row);
    if (row["state"] === "yes") return { place, outcome, verdict: "yes" };
    // What waits for a line that is held waits for what that one waits for.
    const sql =
      "with recursive lacking (of, of_seq, of_id) as (select of, of_seq, of_id from waits where n = ? and subject = 'close' " +
      `union select next.of, next.of_seq, next.of_id from lacking join ${LINKED_AT} join waits as next using (n)) ` +
      `select * from lacking where not exists (select 1 from (select 1) join ${LINKED_AT}) order by of, of_seq, of_id limit ?`;
    const lacks = this.#database
      .all(sql, row["n"] ?? null, MOST_LACKING)
      .map((each) => namedPlace(each["of"], each["of_seq"], each["of_id"]));
    return { place, outcome, verdict: { lacks } };
  }

  #path(tip: ChainPlace): readonly Tip[] {
    const found = tipAt(this.#database, tip);
    return found === undefined ? [] : pathTo(this.#database, found);
  }

  #partsBehind(place: ChainPlace): readonly Tip[] {
    const found = tipAt(this.#database, place);
    return found === undefined ? [] : partsBehind(this.#database, found);
  }

  /** The largest number of a line of `party` that is named on the branch of a line, linked or not; 0 for none. */
  #lastKnown(tip: ChainPlace, party: string): number {
    const sql =
      "select up_to from known where a = ? and branch = ? and of = ? and seq <= ? order by seq desc limit 1";
    const rows = this.#each(tip, ({ a, branch, seq }) =>
      this.#database.get(sql, a, branch, party, seq),
    );
    return Math.max(0, ...rows.map((row) => Number(row["up_to"])));
  }

  /** What is found on each part of the branch of a line. */
  #each(tip: ChainPlace, find: (part: Tip) => SqlRow | undefined): SqlRow[] {
    return this.#path(tip)
      .map(find)
      .filter((row) => row !== undefined);
  }

  /** What is found first on the branch of a line, going back from it. */
  #first(tip: ChainPlace, find: (part: Tip) => SqlRow | undefined): SqlRow | undefined {
    return firstOf(this.#path(tip), find);
  }
}

function firstOf<Item>(
  items: readonly Item[],
  find: (item: Item) => SqlRow | undefined,
): SqlRow | undefined {
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

function isRowOnPath(path: Path, row: SqlRow): boolean {
  return isOnPath(path, Number(row["seq"]), Number(row["branch"]));
}

function chainPlace(row: SqlRow): ChainPlace {
  return { author: String(row["author"]), seq: Number(row["seq"]), id: idText(row["id"]) };
}

function namedPlace(
  author: SqlRow[string] | undefined,
  seq: SqlRow[string] | undefined,
  id: SqlRow[string] | undefined,
): Place {
  return { author: String(author), seq: seq === null ? null : Number(seq), id: idText(id) };
}

function stands(row: SqlRow): Place | undefined {
  if (row["stands"] === null) return undefined;
  return namedPlace(row["stands"], row["stands_seq"], row["stands_id"]);
}

function linkedLine(row: SqlRow): LinkedLine {
  const { author, id, ...line } = historyLine(row);
  const seq = Number(row["seq"]);
  const prev = row["prev"] === null ? undefined : { author, seq: seq - 1, id: idText(row["prev"]) };
  return { ...line, place: { author, seq, id }, prev };
}

function looseLine(row: SqlRow): LooseLine {
  const { author, id, isSigned, ...line } = historyLine(row);
  return { ...line, place: { author, seq: null, id }, isSigned };
}

interface ReadRow extends Omit<HistoryLine, "place"> {
  readonly author: string;
  readonly id: string;
  readonly isSigned: boolean;
}

function fieldsOf(row: SqlRow): JsonObject {
  const parsed = parseObject(row["bytes"] as Uint8Array);
  if (!parsed.ok) throw new Error("a line that is held is no JSON object");
  return parsed.value;
}

function bodyOf(row: SqlRow): JsonValue {
  return field(fieldsOf(row), "body") ?? null;
}

/** A field of another type than it should have is absent. */
function historyLine(row: SqlRow): ReadRow {
  const value = fieldsOf(row);
  const to = field(value, "to");
  return {
    author: String(row["author"]),
    id: idText(row["id"]),
    timestamp: textField(value, "timestamp") ?? "",
    thread: String(row["thread"]),
    type: String(row["type"]),
    to: to === "*" ? ["*"] : readAddressees(to),
    isAckRequired: booleanField(value, "ack_required") === true,
    subject: textField(value, "subject") ?? "",
    refs: textsField(value, "refs") ?? [],
    body: field(value, "body") ?? null,
    isSigned: textField(value, "signature") !== undefined,
  };
}

/** A list with anything that is no handle is absent; `["*"]` names all. */
function readAddressees(value: JsonValue | undefined): readonly string[] | undefined {
  if (!isJsonArray(value) || value.length > MAX_RECIPIENTS) return undefined;
  if (value.length === 1 && value[0] === "*") return ["*"];
  const handles = value.filter((each) => typeof each === "string");
  return handles.length === value.length && handles.every(isHandle) ? handles : undefined;
}
