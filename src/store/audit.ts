import type { ChainPlace, Place } from "../wire/places.ts";
import type { Database, SqlRow } from "./database.ts";
import { idText } from "./ids.ts";
import type { Page } from "./store.ts";

/** A line that was refused, and why. */
export interface RefusedRow {
  readonly n: number;
  readonly place: Place;
  readonly reason: string;
}

/** Lines of a chain that are held, or wait, though lines before them are missing. */
export interface GapRow {
  /** The first of them. */
  readonly place: ChainPlace;
  /** The last line of the chain that is held whole. */
  readonly whole: number;
}

/** A close that is not valid: `no` for good, `open` as long as lines are missing. */
export interface CloseRow {
  readonly place: ChainPlace;
  /** The event id of the ask. */
  readonly ask: string;
  readonly verdict: "no" | "open";
}

const PLACE = "lines.seq as seq, lines.id as id, agents.name as author";

/** What an audit counts and looks for. Each is a pass over a table. Spec 4.10. */
export class AuditRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** How many lines of each type are held. */
  typeCounts(): Map<string, number> {
    const sql = "select type, count(*) as count from lines group by type order by type";
    return new Map(
      this.#database.all(sql).map((row) => [String(row["type"]), Number(row["count"])]),
    );
  }

  /** Lines that state a key. */
  signedCount(): number {
    const sql = "select count(*) as count from lines where key is not null";
    return Number(this.#database.get(sql)?.["count"]);
  }

  /** `n` of lines of an author whose signature is valid under that key, behind one. */
  signedBy(author: string, keyId: string, { after, limit }: Page): number[] {
    const sql =
      "select n from lines where a = (select a from agents where name = ?) and key = ? and verified = 1 " +
      "and n > ? order by n limit ?";
    return this.#database.all(sql, author, keyId, after, limit).map((row) => Number(row["n"]));
  }

  /** Threads with any line but beats. */
  threadCount(): number {
    const sql = "select count(*) as count from threads where lines > 0";
    return Number(this.#database.get(sql)?.["count"]);
  }

  /** Lines, beats excepted, that are neither mail nor for others, behind one. */
  refused(after: number, limit: number): RefusedRow[] {
    const sql =
      `select n, verdict, ${PLACE} from lines join agents using (a) where n > ? and verdict is not null ` +
      "and verdict not in ('mail', 'passed') and type <> 'heartbeat' order by n limit ?";
    return this.#database.all(sql, after, limit).map((row) => ({
      n: Number(row["n"]),
      place: placeIn(row),
      reason: String(row["verdict"]),
    }));
  }

  /**
   * The first line of each side branch at a fork. Struck lines do not count as a fork.
   */
  forks(limit: number): ChainPlace[] {
    const rival =
      "select 1 from lines as rival where rival.a = lines.a and rival.seq = lines.seq and rival.id <> lines.id " +
      "and rival.branch is not null and rival.aside is not 'struck'";
    const sql =
      `select ${PLACE} from branches join agents using (a) join lines on lines.a = branches.a ` +
      "and lines.seq = branches.fork + 1 and lines.branch = branches.branch " +
      `where branches.branch > 0 and lines.aside is not 'struck' and exists (${rival}) order by lines.n limit ?`;
    return this.#database.all(sql, limit).map(chainPlaceIn);
  }

  /** Of each author the first line behind a gap. */
  gaps(): GapRow[] {
    const ahead =
      "select a, seq, id from lines where seq is not null and branch is null and aside is null " +
      "union all select a, seq, id from waiting where proven = 1";
    const sql =
      `select min(seq) as seq, id, agents.name as author, coalesce(whole, 0) as whole from (${ahead}) ` +
      "join agents using (a) left join chains using (a) group by a order by author";
    return this.#database
      .all(sql)
      .map((row) => ({ place: chainPlaceIn(row), whole: Number(row["whole"]) }));
  }

  /** Closes that are not valid, in the order in which they were taken in. */
  closes(limit: number): CloseRow[] {
    const sql =
      `select ${PLACE}, v.state, asked.id as ask from verdicts v join lines using (n) join agents using (a) ` +
      "join asks on asks.ask = v.ask join lines as asked on asked.n = asks.n " +
      "where v.subject = 'close' and v.state in ('no', 'open') order by v.n limit ?";
    return this.#database.all(sql, limit).map((row) => ({
      place: chainPlaceIn(row),
      ask: idText(row["ask"]),
      verdict: row["state"] === "no" ? "no" : "open",
    }));
  }
}

function placeIn(row: SqlRow): Place {
  const seq = row["seq"] === null ? null : Number(row["seq"]);
  return { author: String(row["author"]), seq, id: idText(row["id"]) };
}

function chainPlaceIn(row: SqlRow): ChainPlace {
  return { author: String(row["author"]), seq: Number(row["seq"]), id: idText(row["id"]) };
}
