import type { LinePlace } from "../trust/store.ts";
import { idBytes, optionalId } from "./columns.ts";
import { Rows } from "./database.ts";

/** A key that an authentic line of its agent names. */
export interface NamedKey {
  readonly keyId: string;
  readonly key: Uint8Array;
}

/** Keys that chains have named: lines which these sign are authentic. Spec 1.6. */
export class NamedKeys extends Rows {
  /** False: it was named before. */
  add(author: string, { keyId, key }: NamedKey): boolean {
    const sql = "insert or ignore into named_keys (author, key_id, key) values (?, ?, ?)";
    return this.database.run(sql, author, keyId, key).changes > 0;
  }

  of(author: string): NamedKey[] {
    const sql = "select key_id as keyId, key from named_keys where author = ? order by key_id";
    return this.database.all(sql, author);
  }
}

export type KeyAction = "add_key" | "deactivate_key";

/** A line of ours about a key of ours. */
interface OwnKeyLine {
  readonly n: number;
  readonly action: KeyAction | "revokes";
  readonly keyId: string;
}

/** A proposal of another agent that ours has acked. */
interface AckedKeyChange {
  readonly n: number;
  /** The last line of its author that was followed then. */
  readonly last: LinePlace | undefined;
}

/** So many of our own lines about keys are shown. */
const MOST_SHOWN = 64;

/** Lines that change keys. Spec 2.5. */
export class KeyChangeRows extends Rows {
  noteOwn({ n, action, keyId }: OwnKeyLine): void {
    const sql = "insert or ignore into key_changes (n, own, action, key) values (?, 1, ?, ?)";
    this.database.run(sql, n, action, keyId);
  }

  /** Those of ours that do this with a key, the newest first. */
  ownOf(action: OwnKeyLine["action"], keyId: string): number[] {
    const sql =
      "select n from key_changes where own = 1 and action = ? and key = ? order by n desc limit ?";
    return this.database.column(sql, action, keyId, MOST_SHOWN);
  }

  /** Proposals of ours, the newest few, in the order in which they were written. */
  proposals(): (OwnKeyLine & { readonly action: KeyAction })[] {
    const sql =
      "select n, action, key as keyId from key_changes where own = 1 and action <> 'revokes' order by n desc limit ?";
    return this.database
      .all<OwnKeyLine & { readonly action: KeyAction }>(sql, MOST_SHOWN)
      .toReversed();
  }

  /** A proposal of another agent is to be carried out. */
  noteAcked(n: number, last: LinePlace | undefined): void {
    const sql =
      "insert or ignore into key_changes (n, own, action, key, last, last_id) values (?, 0, '', '', ?, ?)";
    this.database.run(sql, n, last?.seq, last && idBytes(last.id));
  }

  acked(): AckedKeyChange[] {
    const sql = `select n, last as seq, ${optionalId("last_id")} as id from key_changes where own = 0 order by n`;
    return this.database
      .all<{ n: number; seq: number; id: string | null }>(sql)
      .map(({ n, seq, id }) => ({ n, last: id === null ? undefined : { seq, id } }));
  }

  /** It was carried out, or refused. */
  endAcked(n: number): void {
    this.database.run("delete from key_changes where own = 0 and n = ?", n);
  }
}
