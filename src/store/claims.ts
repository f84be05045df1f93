import { readClaim } from "../protocol/claims/claim-line.ts";
import type { History, HistoryLine } from "../protocol/asks/history.ts";
import { MAX_LIVE_CLAIMS, type LiveClaim } from "../protocol/claims/standing.ts";
import { isChained, type Place } from "../wire/places.ts";
import type { Database, SqlRow } from "./database.ts";
import { idText } from "./ids.ts";

/** Of releases that are not behind a claim in its chain, so many are passed over. */
const MOST_RELEASES = 16;
/** A release ends so many claims of its thread at most. */
const MOST_RELEASED = 64;
const PLACE = "select n, lines.seq as seq, id, name, ends from claims join lines using (n) ";

/** The claims that were accepted and have not ended. Spec 3.7. */
export class ClaimRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Of a claim that was accepted, and of a release that is linked since, or was taken in and is in no chain.
   * Within a transaction.
   */
  take(history: History, place: Place): void {
    const line = history.linked(place) ?? history.loose(place);
    if (line?.type === "claim") this.#claim(history, line);
    if (line?.type === "release") this.#release(history, line);
  }

  /** Forgets claims whose time is over. */
  expire(nowMs: number): void {
    this.#database.run("delete from claims where ends <= ?", nowMs);
  }

  /** Those that count: of each author the first few, in the order of its chain. */
  live(history: History, nowMs: number): readonly LiveClaim[] {
    return this.#database
      .all("select distinct a from claims order by a")
      .flatMap(({ a = null }) =>
        this.#database.all(
          `${PLACE} join agents on agents.a = claims.a where claims.a = ? and ends > ? ` +
            "order by claims.seq, n limit ?",
          ...[a, nowMs, MAX_LIVE_CLAIMS],
        ),
      )
      .flatMap((row) => {
        const line = lineIn(history, row);
        const says = line && readClaim(line.body);
        const receivedMs = line && history.receipt(line.place)?.atMs;
        if (line === undefined || says === undefined || receivedMs === undefined) return [];
        return [{ line, ...says, receivedMs, endsMs: Number(row["ends"]) }];
      });
  }

  #claim(history: History, line: HistoryLine): void {
    const says = readClaim(line.body);
    const receipt = history.receipt(line.place);
    if (says === undefined || receipt === undefined || this.#isReleased(history, line)) return;
    const sql =
      "insert or ignore into claims (n, a, t, seq, ends) select n, a, t, seq, ? from lines where n = ?";
    this.#database.run(sql, receipt.atMs + says.ttlMs, receipt.n);
  }

  /** Whether a claim that waited to be accepted was released meanwhile. */
  #isReleased(history: History, { place, thread }: HistoryLine): boolean {
    if (!isChained(place)) return false;
    const sql =
      "select seq, id from lines where t = (select t from threads where name = ?) " +
      "and a = (select a from agents where name = ?) and seq > ? and type = 'release' and branch is not null " +
      `order by seq limit ${MOST_RELEASES}`;
    return this.#database
      .all(sql, thread, place.author, place.seq)
      .map((row) => ({ author: place.author, seq: Number(row["seq"]), id: idText(row["id"]) }))
      .some((release) => history.descends(release, place));
  }

  #release(history: History, { place, thread }: HistoryLine): void {
    const sql =
      `${PLACE} join agents on agents.a = claims.a where claims.t = (select t from threads where name = ?) ` +
      "and claims.a = (select a from agents where name = ?) " +
      `order by n limit ${MOST_RELEASED}`;
    for (const row of this.#database.all(sql, thread, place.author)) {
      const claim = placeIn(row);
      // Of lines in no chain the order in which they came is all that there is.
      const isBehind = isChained(place)
        ? isChained(claim) && history.descends(place, claim)
        : !isChained(claim);
      if (isBehind) this.#database.run("delete from claims where n = ?", Number(row["n"]));
    }
  }
}

function lineIn(history: History, row: SqlRow): HistoryLine | undefined {
  const place = placeIn(row);
  return history.linked(place) ?? history.loose(place);
}

function placeIn(row: SqlRow): Place {
  const seq = row["seq"] === null ? null : Number(row["seq"]);
  return { author: String(row["name"]), seq, id: idText(row["id"]) };
}
