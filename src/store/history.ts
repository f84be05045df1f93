import {
  MOST_WORDS,
  WORD_TYPES,
  type Few,
  type HeadShows,
  type History,
  type HistoryLine,
  type LinkedLine,
  type LooseLine,
  type Receipt,
} from "../protocol/asks/history.ts";
import { isLeave } from "../protocol/asks/members-change.ts";
import { booleanField, field, textField } from "../protocol/body.ts";
import { isJsonArray, parseObject, type JsonObject, type JsonValue } from "../wire/json/json.ts";
import {
  isSamePlace,
  readRefused,
  type ChainPlace,
  type Naming,
  type Place,
  type RefusedLines,
} from "../wire/places.ts";
import { findBranch, findPath, isOnPath, ON_PATH, pathJson, type Path } from "./branches.ts";
import type { Database, SqlRow } from "./database.ts";
import { idBytes, idStart, idText } from "./ids.ts";
import { findHead, hasHead } from "./heads.ts";

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
const WORD = `type in (${WORD_TYPES.map((type) => `'${type}'`).join(", ")})`;

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

  descends(newer: ChainPlace, older: ChainPlace): boolean {
    if (newer.author !== older.author || newer.seq <= older.seq) return false;
    const branch = findBranch(this.#database, older);
    return branch !== undefined && isOnPath(findPath(this.#database, newer), older.seq, branch);
  }

  words(tip: ChainPlace, thread: string): readonly LinkedLine[] {
    const sql =
      `${LINE} where t = (select t from threads where name = ?) and ${AUTHOR} and seq <= ? and ${WORD} ` +
      `and branch is not null and ${ON_PATH} order by seq, n limit ?`;
    const path = pathJson(findPath(this.#database, tip));
    return this.#database
      .all(sql, thread, tip.author, tip.seq, path, MOST_WORDS + 1)
      .map(linkedLine);
  }

  known(tip: ChainPlace, party: string, above: number): readonly ChainPlace[] {
    const path = findPath(this.#database, tip);
    const sql =
      "select distinct lines.seq as seq, lines.branch as branch, of_seq, of_id from names join lines using (n) " +
      "where names.a = (select a from agents where name = ?) and of = ? and of_seq > ? and lines.seq <= ? " +
      "and branch is not null order by of_seq, of_id";
    return this.#database
      .all(sql, tip.author, party, above, tip.seq)
      .filter((row) => isRowOnPath(path, row))
      .map((row) => ({ author: party, seq: Number(row["of_seq"]), id: idText(row["of_id"]) }));
  }

  closes(author: string, ask: Place): readonly LinkedLine[] {
    return this.namers(author, "closes", ask, { from: "first", limit: -1 });
  }

  isNamedBy(author: string, line: ChainPlace): boolean {
    const sql =
      "select distinct of_seq, of_id from names join lines using (n) " +
      "where names.a = (select a from agents where name = ?) and of = ? and of_seq >= ? and naming <> 'refuses' and branch is not null " +
      "order by of_seq, of_id";
    return this.#database.all(sql, author, line.author, line.seq).some((row) => {
      const named = { author: line.author, seq: Number(row["of_seq"]), id: idText(row["of_id"]) };
      return named.id === line.id || this.descends(named, line);
    });
  }

  hasEarlierInThread({ place, thread }: LinkedLine): boolean {
    const path = findPath(this.#database, place);
    const sql =
      `select seq, branch from lines where t = (select t from threads where name = ?) and ${AUTHOR} ` +
      "and seq < ? and branch is not null and type <> 'heartbeat' order by seq";
    return this.#database
      .all(sql, thread, place.author, place.seq)
      .some((row) => isRowOnPath(path, row));
  }

  proposals(thread: string): readonly LinkedLine[] {
    const sql = `${LINE} where t = (select t from threads where name = ?) and type = 'proposal' and branch is not null order by lines.n`;
    return this.#database.all(sql, thread).map(linkedLine);
  }

  leaves(author: string): readonly LinkedLine[] {
    const sql = `${LINE} where ${AUTHOR} and type = 'shutdown' and branch is not null order by seq, id`;
    return this.#database.all(sql, author).map(linkedLine).filter(isLeave);
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

  findRefusal(tip: ChainPlace, line: ChainPlace): RefusedLines | undefined {
    const path = findPath(this.#database, tip);
    const sql =
      "select distinct seq, branch, bytes, of_seq from (select n, of_seq from names where " +
      `${AUTHOR} and of = ? and of_seq >= ? and naming = 'refuses' order by of_seq limit ${MOST_REFUSALS}) ` +
      "join lines using (n) where seq <= ? and branch is not null order by of_seq, seq";
    return this.#database
      .all(sql, tip.author, line.author, line.seq, tip.seq)
      .filter((row) => isRowOnPath(path, row))
      .flatMap((row) => readRefused(bodyOf(row)))
      .find(({ first, last }) => first <= line.seq && this.#isAtOrBehind(last, line));
  }

  isKnown(tip: ChainPlace, line: Place): boolean {
    const path = findPath(this.#database, tip);
    if (line.seq === null) {
      const sql =
        "select seq, branch from names join lines using (n) where of = ? and of_id = ? and of_seq is null " +
        `and names.a = (select a from agents where name = ?) and branch is not null order by seq limit ${MOST_ROWS}`;
      return this.#database
        .all(sql, line.author, idBytes(line.id), tip.author)
        .some((row) => isRowOnPath(path, row));
    }
    const older = { ...line, seq: line.seq };
    if (this.firstHead(tip, older, "taken_in") !== undefined) return true;
    const sql =
      "select seq, branch, of_seq, of_id from (select n, of_seq, of_id from names where " +
      `${AUTHOR} and of = ? and of_seq >= ? order by of_seq limit ${MOST_ROWS}) ` +
      "join lines using (n) where seq <= ? and branch is not null order by of_seq, seq";
    return this.#database
      .all(sql, tip.author, line.author, line.seq, tip.seq)
      .some((row) => isRowOnPath(path, row) && this.#isAtOrBehind(named(row, line), older));
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
}

function isRowOnPath(path: Path, row: SqlRow): boolean {
  return isOnPath(path, Number(row["seq"]), Number(row["branch"]));
}

/** The place of another author that a row of `names` has. */
function named(row: SqlRow, { author }: Place): ChainPlace {
  return { author, seq: Number(row["of_seq"]), id: idText(row["of_id"]) };
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
    to: to === "*" ? ["*"] : readTexts(to),
    isAckRequired: booleanField(value, "ack_required") === true,
    body: field(value, "body") ?? null,
    isSigned: textField(value, "signature") !== undefined,
  };
}

function readTexts(value: JsonValue | undefined): readonly string[] | undefined {
  if (!isJsonArray(value)) return undefined;
  return value.every((each) => typeof each === "string") ? value : undefined;
}
