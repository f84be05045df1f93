import { Rows } from "./database.ts";

/** A carrier in which lines were passed over that a later line or key may prove. */
export interface Leftover {
  readonly carrier: string;
  readonly author: string;
  /** What was known of its author when it was read last. */
  readonly reason: string;
}

/** Carriers with lines that found no room. Spec 1.9. */
export class Leftovers extends Rows {
  /** A leftover that is known keeps its reason. */
  add({ carrier, author, reason }: Leftover): void {
    const sql = "insert or ignore into leftovers (carrier, author, reason) values (?, ?, ?)";
    this.database.run(sql, carrier, author, reason);
  }

  setReason(carrier: string, author: string, reason: string): void {
    const sql = "update leftovers set reason = ? where carrier = ? and author = ?";
    this.database.run(sql, reason, carrier, author);
  }

  all(): Leftover[] {
    return this.database.all("select * from leftovers order by carrier, author");
  }
}
