import type { Database } from "./database.ts";

/** A key that an authentic line of its agent names. */
export interface NamedKey {
  readonly keyId: string;
  readonly key: Uint8Array;
}

/** Keys that chains have named: lines which these sign are authentic. Spec 1.6. */
export class NamedKeys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** False: it was named before. */
  add(author: string, { keyId, key }: NamedKey): boolean {
    const sql = "insert or ignore into named_keys (author, key_id, key) values (?, ?, ?)";
    return this.#database.run(sql, author, keyId, key).changes > 0;
  }

  of(author: string): NamedKey[] {
    return this.#database
      .all("select key_id, key from named_keys where author = ? order by key_id", author)
      .map((row) => ({ keyId: String(row["key_id"]), key: row["key"] as Uint8Array }));
  }
}
