import { readClaim } from "../protocol/claims/claim-line.ts";
import { lineAt, type History, type HistoryLine } from "../protocol/asks/history.ts";
import { MAX_LIVE_CLAIMS, type LiveClaim } from "../protocol/claims/standing.ts";
import { isChained, type ChainPlace, type Place } from "../wire/places.ts";
import { AGENT, PLACE, THREAD } from "./columns.ts";
import { Rows } from "./database.ts";

/** So many releases that are not behind a claim in its chain are passed over. */
const MOST_RELEASES = 16;
/** A release ends so many claims of its thread at most. */
const MOST_RELEASED = 64;
const CLAIMS =
  `select n, ${PLACE}, ends from claims join lines using (n) ` +
  "join agents on agents.a = claims.a where";

type ClaimRow = Place & { readonly n: number; readonly ends: number };

/** The claims that were accepted and have not ended. Spec 3.7. */
export class ClaimRows extends Rows {
  /** For a claim that was accepted, and a release that is linked, or in no chain. Within a transaction. */
  take(history: History, place: Place): void {
    const line = lineAt(history, place);
    if (line?.type === "claim") this.#claim(history, line);
    if (line?.type === "release") this.#release(history, line);
  }

  /** Forgets claims whose time is over. */
  expire(nowMs: number): void {
    this.database.run("delete from claims where ends <= ?", nowMs);
  }

  /** Those that count: of each author the first few, in the order of its chain. */
  live(history: History, nowMs: number): readonly LiveClaim[] {
    const sql = `${CLAIMS} claims.a = ? and ends > ? order by claims.seq, n limit ?`;
    return this.database
      .column("select distinct a from claims order by a")
      .flatMap((a) => this.database.all<ClaimRow>(sql, a, nowMs, MAX_LIVE_CLAIMS))
      .flatMap((row) => {
        const { author, seq, id, ends: endsMs } = row;
        const place = { author, seq, id };
        const line = history.linked(place) ?? history.loose(place);
        const says = line && readClaim(line.body);
        const receivedMs = line && history.receipt(place)?.atMs;
        if (line === undefined || says === undefined || receivedMs === undefined) return [];
        return [{ line, ...says, receivedMs, endsMs }];
      });
  }

  #claim(history: History, line: HistoryLine): void {
    const says = readClaim(line.body);
    const receipt = history.receipt(line.place);
    if (says === undefined || receipt === undefined || this.#isReleased(history, line)) return;
    const sql =
      "insert or ignore into claims (n, a, t, seq, ends) select n, a, t, seq, ? from lines where n = ?";
    this.database.run(sql, receipt.atMs + says.ttlMs, receipt.n);
  }

  /** Whether a claim that waited to be accepted was released meanwhile. */
  #isReleased(history: History, { place, thread }: HistoryLine): boolean {
    if (!isChained(place)) return false;
    const sql =
      `select ${PLACE} from lines join agents using (a) where t = ${THREAD} and a = ${AGENT} and seq > ? ` +
      `and type = 'release' and branch is not null order by lines.seq limit ${MOST_RELEASES}`;
    return this.database
      .all<ChainPlace>(sql, thread, place.author, place.seq)
      .some((release) => history.descends(release, place));
  }

  #release(history: History, { place, thread }: HistoryLine): void {
    const sql = `${CLAIMS} claims.t = ${THREAD} and claims.a = ${AGENT} order by n limit ${MOST_RELEASED}`;
    for (const claim of this.database.all<ClaimRow>(sql, thread, place.author)) {
      // Of lines in no chain the order in which they came is all that there is.
      const isBehind = isChained(place)
        ? isChained(claim) && history.descends(place, claim)
        : !isChained(claim);
      if (isBehind) this.database.run("delete from claims where n = ?", claim.n);
    }
  }
}
