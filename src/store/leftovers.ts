import type { Database } from "./database.ts";

/** A carrier in which lines were passed over that a later line or key may prove. */
export interface Leftover {
  readonly carrier: string;
  readonly author: string;
  /** What was known of its author when it was read last. */
  readonly reason: string;
}

/** Where lines were left that found no room. Spec 1.9. */
export class Leftovers {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** One that is there keeps its reason. */
  add({ carrier, author, reason }: Leftover): void {
    const sql = "insert or ignore into leftovers (carrier, author, reason) values (?, ?, ?)";
    this.#database.run(sql, carrier, author, reason);
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
        reason: String(row["reason"]),
      }));
  }
}
