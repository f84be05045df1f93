import type { ChainPlace, Place } from "../wire/places.ts";
import { AGENT, PLACE } from "./columns.ts";
import { Rows } from "./database.ts";
import type { Page } from "./store.ts";

/** A line that was refused, and why. */
interface RefusedRow extends Place {
  readonly n: number;
  readonly reason: string;
}

/** The first line of a chain that is held, or waits, though lines before it are missing. */
interface GapRow extends ChainPlace {
  /** The last line of the chain that is held whole. */
  readonly whole: number;
}

/** A close that is not valid: `no` for good, `open` as long as lines are missing. */
interface CloseRow extends ChainPlace {
  /** The event id of the ask. */
  readonly ask: string;
  readonly verdict: "no" | "open";
}

/** What an audit counts and looks for. Each is a pass over a table. Spec 4.10. */
export class AuditRows extends Rows {
  /** How many lines of each type are held. */
  typeCounts(): Map<string, number> {
    const sql = "select type, count(*) as count from lines group by type order by type";
    const rows = this.database.all<{ type: string; count: number }>(sql);
    return new Map(rows.map(({ type, count }) => [type, count]));
  }

  /** Lines that state a key. */
  signedCount(): number {
    return this.database.value("select count(*) from lines where key is not null") ?? 0;
  }

  /** `n` of lines of an author whose signature is valid under that key, behind one. */
  signedBy(author: string, keyId: string, { after, limit }: Page): number[] {
    const sql = `select n from lines where a = ${AGENT} and key = ? and verified = 1 and n > ? order by n limit ?`;
    return this.database.column(sql, author, keyId, after, limit);
  }

  /** Threads with any line but beats. */
  threadCount(): number {
    return this.database.value("select count(*) from threads where lines > 0") ?? 0;
  }

  /** Lines, beats excepted, that are neither mail nor for others, behind one. */
  refused(after: number, limit: number): RefusedRow[] {
    const sql =
      `select n, verdict as reason, ${PLACE} from lines join agents using (a) where n > ? and verdict is not null ` +
      "and verdict not in ('mail', 'passed') and type <> 'heartbeat' order by n limit ?";
    return this.database.all(sql, after, limit);
  }

  /** The first line of each side branch at a fork. Struck lines do not count as a fork. */
  forks(limit: number): ChainPlace[] {
    const rival =
      "select 1 from lines as rival where rival.a = lines.a and rival.seq = lines.seq and rival.id <> lines.id " +
      "and rival.branch is not null and rival.aside is not 'struck'";
    const sql =
      `select ${PLACE} from branches join agents using (a) join lines on lines.a = branches.a ` +
      "and lines.seq = branches.fork + 1 and lines.branch = branches.branch " +
      `where branches.branch > 0 and lines.aside is not 'struck' and exists (${rival}) order by lines.n limit ?`;
    return this.database.all(sql, limit);
  }

  /** Of each author the first line behind a gap. */
  gaps(): GapRow[] {
    const ahead =
      "select a, seq, id from lines where seq is not null and branch is null and aside is null " +
      "union all select a, seq, id from waiting where proven = 1";
    const sql =
      `select agents.name as author, min(seq) as seq, lower(hex(id)) as id, coalesce(whole, 0) as whole from (${ahead}) ` +
      "join agents using (a) left join chains using (a) group by a order by author";
    return this.database.all(sql);
  }

  /** Closes that are not valid, in the order in which they were taken in. */
  closes(limit: number): CloseRow[] {
    const sql =
      `select ${PLACE}, v.state as verdict, lower(hex(asked.id)) as ask from verdicts v join lines using (n) ` +
      "join agents using (a) join asks on asks.ask = v.ask join lines as asked on asked.n = asks.n " +
      "where v.subject = 'close' and v.state in ('no', 'open') order by v.n limit ?";
    return this.database.all(sql, limit);
  }
}
