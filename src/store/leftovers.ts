import type { Database } from "./database.ts";

/** A carrier in which lines were passed over that a later line or key may prove. */
export interface Leftover {
  readonly carrier: string;
  readonly author: string;
  /** Why it was read last; null: not again since. */
  readonly reason: string | null;
}

/** Where lines were left that found no room. Spec of the next wire, 1.9. */
export class Leftovers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(carrier: string, author: string): void {
    const sql = "insert or ignore into leftovers (carrier, author) values (?, ?)";
    this.#database.run(sql, carrier, author);
  }

  setReason(carrier: string, author: string, reason: string): void {
    const sql = "update leftovers set reason = ? where carrier = ? and author = ?";
    this.#database.run(sql, reason, carrier, author);
  }

  all(): Leftover[] {
    return this.#database
      .all("select carrier, author, reason from leftovers order by carrier, author")
      .map((row) => ({
        carrier: String(row["carrier"]),
        author: String(row["author"]),
        reason: row["reason"] === null ? null : String(row["reason"]),
      }));
  }
}
