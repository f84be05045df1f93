import type { ExtraLine } from "../carriers/publisher.ts";
import { MINUTE_MS } from "../wire/durations.ts";
import type { Database } from "./database.ts";

/** So long a carrier may take to get such a line; what is wanted later is wanted again. */
const KEPT_MS = 10 * MINUTE_MS;

/**
 * Lines that our carriers get beside our chain: beats in no chain, and copies of lines that others lack. Changes
 * belong into a transaction. Spec 3.2.1, 3.2.4.
 */
export class Extras {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(bytes: Uint8Array, nowMs: number): void {
    this.#database.run("delete from extras where at < ? or at > ?", nowMs - KEPT_MS, nowMs);
    this.#database.run("insert into extras (at, bytes) values (?, ?)", nowMs, bytes);
  }

  after(e: number): ExtraLine[] {
    return this.#database
      .all("select e, bytes from extras where e > ? order by e", e)
      .map((row) => ({ e: Number(row["e"]), bytes: row["bytes"] as Uint8Array }));
  }
}
