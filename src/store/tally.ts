import { Rows } from "./database.ts";

/** Lines of one type that were taken in. */
export interface TypeCount {
  readonly type: string;
  readonly count: number;
  /** Dates of the earliest and the latest one, ms of Unix time. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Types that are counted by their names: any peer can invent more. */
const MOST_TYPES = 64;
const OTHER_TYPES = "other";

/** How many lines were taken in, refused ones too, and what became of asks. */
export class Tally extends Rows {
  /** In the transaction that first holds a line. */
  add(type: string, sentMs: number): void {
    this.database.run(
      "insert into tally (type, count, first, last) values (" +
        "iif(exists (select 1 from tally where type = ?1) or (select count(*) from tally) < ?2, ?1, ?3), 1, ?4, ?4) " +
        "on conflict (type) do update set count = count + 1, first = min(first, excluded.first), last = max(last, excluded.last)",
      ...[type, MOST_TYPES, OTHER_TYPES, sentMs],
    );
  }

  byType(): readonly TypeCount[] {
    const sql = "select type, count, first as firstMs, last as lastMs from tally order by type";
    return this.database.all(sql);
  }

  /** Proposals that were approved, and those that somebody else in whose chain it stands agreed to or rejected. */
  proposals(): { readonly approved: number; readonly agreed: number; readonly rejected: number } {
    const answered =
      "select max(approves) as yes, max(approves = 0) as no from answers join agents using (a) " +
      "where type = 'proposal' and name <> of group by of, of_seq, of_id";
    const approved =
      "select count(*) from asks join asked using (n) where state = 'approved' and type = 'proposal'";
    const sql =
      `select (${approved}) as approved, coalesce(sum(yes), 0) as agreed, coalesce(sum(no), 0) as rejected ` +
      `from (${answered})`;
    return this.database.get(sql) ?? { approved: 0, agreed: 0, rejected: 0 };
  }
}
