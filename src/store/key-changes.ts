import type { LinePlace } from "../trust/store.ts";
import type { Database } from "./database.ts";
import { idBytes, idText } from "./ids.ts";

export type KeyAction = "add_key" | "deactivate_key";

/** A line of ours about a key of ours. */
export interface OwnKeyLine {
  readonly n: number;
  readonly action: KeyAction | "revokes";
  readonly keyId: string;
}

/** A proposal of another agent that ours has acked. */
export interface AckedKeyChange {
  readonly n: number;
  /** The last line of its author that was followed then. */
  readonly last: LinePlace | undefined;
}

/** Of our own lines about keys, so many are shown. */
const MOST_SHOWN = 64;

/** Lines that change keys. Changes belong into a transaction. Spec 2.5. */
export class KeyChangeRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  noteOwn({ n, action, keyId }: OwnKeyLine): void {
    const sql = "insert or ignore into key_changes (n, own, action, key) values (?, 1, ?, ?)";
    this.#database.run(sql, n, action, keyId);
  }

  /** Those of ours that do this with a key, the newest first. */
  ownOf(action: OwnKeyLine["action"], keyId: string): number[] {
    const sql =
      "select n from key_changes where own = 1 and action = ? and key = ? order by n desc limit ?";
    return this.#database.all(sql, action, keyId, MOST_SHOWN).map((row) => Number(row["n"]));
  }

  /** Proposals of ours, the newest few, in the order in which they were written. */
  proposals(): { readonly n: number; readonly action: KeyAction; readonly keyId: string }[] {
    const sql =
      "select n, action, key from key_changes where own = 1 and action <> 'revokes' order by n desc limit ?";
    return this.#database
      .all(sql, MOST_SHOWN)
      .toReversed()
      .map((row) => ({
        n: Number(row["n"]),
        action: row["action"] as KeyAction,
        keyId: String(row["key"]),
      }));
  }

  /** A proposal of another agent is to be carried out. */
  noteAcked(n: number, last: LinePlace | undefined): void {
    const sql =
      "insert or ignore into key_changes (n, own, action, key, last, last_id) values (?, 0, '', '', ?, ?)";
    const id = last === undefined ? null : idBytes(last.id);
    this.#database.run(sql, n, last?.seq ?? null, id);
  }

  acked(): AckedKeyChange[] {
    const sql = "select n, last, last_id from key_changes where own = 0 order by n";
    return this.#database.all(sql).map((row) => {
      const id = row["last_id"] ?? null;
      const last = id === null ? undefined : { seq: Number(row["last"]), id: idText(id) };
      return { n: Number(row["n"]), last };
    });
  }

  /** It was carried out, or refused. */
  endAcked(n: number): void {
    this.#database.run("delete from key_changes where own = 0 and n = ?", n);
  }
}
