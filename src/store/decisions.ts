import type { Database, SqlRow } from "./database.ts";
import { idBytes, idText } from "./ids.ts";

/** What a line of `decisions.jsonl` is worth; `due`: it is judged next. */
export type EntryState = "due" | "pending" | "proved" | "unproved";

/** A line of `decisions.jsonl`. */
export interface NewEntry {
  /** Of its v3.1 canonical bytes. */
  readonly id: string;
  /** Whose key has signed it; undefined: nobody's that is pinned or named. */
  readonly signer: string | undefined;
  /** The event id of the proposal that it names. */
  readonly proposal: string | undefined;
  readonly bytes: Uint8Array;
}

export interface EntryRow {
  readonly id: string;
  /** Counts entries in the order in which they were read. */
  readonly e: number;
  readonly signer: string | undefined;
  readonly state: EntryState;
  /** Why it is pending or unproved. */
  readonly detail: string;
  readonly bytes: Uint8Array;
}

/** Entries that nobody known has signed: any of them may be junk, so the newest few are kept. */
const MOST_UNSIGNED = 64;
/** Entries of one signer that are not proved. */
const MOST_DOUBTFUL = 2_048;

/**
 * The entries of `decisions.jsonl`, and which decisions our daemon records. Changes belong into a transaction.
 * Spec 3.4.7.
 */
export class DecisionRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Keeps entries behind those before them. One that is known is only seen again.
   *
   * @param reading which reading of the file has found them
   * @returns false: some signer has too many entries that are not proved, so not all are kept
   */
  add(entries: readonly NewEntry[], reading: number): boolean {
    const room = new Map<string, number>();
    return entries.map((entry) => this.#add(entry, reading, room)).every(Boolean);
  }

  #add(
    { id, signer = "", proposal, bytes }: NewEntry,
    reading: number,
    room: Map<string, number>,
  ): boolean {
    const seen = "update entries set seen = ? where id = ? and signer = ?";
    if (this.#database.run(seen, reading, idBytes(id), signer).changes > 0) return true;
    const left = room.get(signer) ?? MOST_DOUBTFUL - this.#countDoubtful(signer);
    if (signer !== "" && left <= 0) return false;
    room.set(signer, left - 1);
    this.#database.run(
      "insert into entries (id, signer, of_id, state, seen, bytes) values (?, ?, ?, 'due', ?, ?)",
      ...[idBytes(id), signer, proposal === undefined ? null : idBytes(proposal), reading, bytes],
    );
    if (signer === "")
      this.#database.run(
        "delete from entries where signer = '' and e <= (select e from entries where signer = '' order by e desc limit 1 offset ?)",
        MOST_UNSIGNED,
      );
    return true;
  }

  #countDoubtful(signer: string): number {
    const sql =
      "select count(*) as count from entries where signer = ? and state in ('due', 'pending', 'unproved')";
    return Number(this.#database.get(sql, signer)?.["count"]);
  }

  /** Entries to judge, the earliest first. */
  due(limit: number): EntryRow[] {
    return this.#database
      .all("select * from entries where state = 'due' order by e limit ?", limit)
      .map(entryRow);
  }

  /** Says what an entry is worth. Of one signer and proposal only the first proved one is kept. */
  settle(e: number, state: EntryState, detail: string): void {
    const sql = "update entries set state = ?, detail = ? where e = ? returning of_id, signer";
    const { of_id: of = null, signer = "" } = this.#database.change(sql, state, detail, e);
    if (of === null) return;
    if (state === "proved")
      this.#database.run(
        "delete from entries where of_id = ? and signer = ? and state = 'proved' and e > " +
          "(select min(e) from entries where of_id = ?1 and signer = ?2 and state = 'proved')",
        ...[of, signer],
      );
    this.#noteDone(of);
  }

  /** Entries about a proposal are judged again: lines have come, or it has another outcome. */
  judgeAgain(proposal: string): void {
    const sql = "update entries set state = 'due' where of_id = ? and signer <> ''";
    this.#database.run(sql, idBytes(proposal));
  }

  hasPending(): boolean {
    return (
      this.#database.get("select 1 from entries where state = 'pending' limit 1") !== undefined
    );
  }

  /** Forgets entries that were not found by a reading of the whole file, or a later one. */
  forgetUnseen(reading: number): void {
    const gone = this.#database.all("delete from entries where seen < ? returning of_id", reading);
    for (const { of_id: of = null } of gone) if (of !== null) this.#noteDone(of);
  }

  /** The newest entries of a state, in their order. */
  list(state: EntryState, limit: number): EntryRow[] {
    const sql = "select * from entries where state = ? order by e desc limit ?";
    return this.#database.all(sql, state, limit).map(entryRow).toReversed();
  }

  /** The proved entries of a proposal, in their order. */
  proved(proposal: string): EntryRow[] {
    const sql = "select * from entries where of_id = ? and state = 'proved' order by e";
    return this.#database.all(sql, idBytes(proposal)).map(entryRow);
  }

  /**
   * Our daemon records a decision then, unless there is an entry of it.
   *
   * @param n of the proposal
   * @param at milliseconds of Unix time; undefined of one that is contested and not approved as it stands
   */
  expect(
    n: number,
    { id, at, isContested }: { id: string; at: number | undefined; isContested: boolean },
  ): void {
    const sql =
      "insert or replace into recorded (n, of_id, contested, at, done) values (?, ?, ?, ?, 0)";
    this.#database.run(sql, n, idBytes(id), isContested ? 1 : 0, at ?? null);
    this.#noteDone(idBytes(id));
  }

  /** It is not up to our daemon to record it. */
  expectNot(n: number): void {
    this.#database.run("delete from recorded where n = ?", n);
  }

  /** Contested proposals that may be recorded, and when; each may stand otherwise at any time. */
  contested(limit: number): { readonly n: number; readonly at: number | undefined }[] {
    return this.#database
      .all("select n, at from recorded where contested = 1 order by n limit ?", limit)
      .map((row) => ({
        n: Number(row["n"]),
        at: row["at"] === null ? undefined : Number(row["at"]),
      }));
  }

  /** Proposals to record by then. */
  toRecord(nowMs: number, limit: number): number[] {
    return this.#database
      .all("select n from recorded where done = 0 and at <= ? order by at limit ?", nowMs, limit)
      .map((row) => Number(row["n"]));
  }

  /** When the next one is to be recorded behind a time, milliseconds of Unix time. */
  nextAfter(nowMs: number): number | undefined {
    const sql = "select min(at) as at from recorded where done = 0 and at > ?";
    const at = this.#database.get(sql, nowMs)?.["at"];
    return at === null || at === undefined ? undefined : Number(at);
  }

  #noteDone(of: SqlRow[string]): void {
    const sql =
      "update recorded set done = exists (select 1 from entries where of_id = ?1 and state = 'proved') where of_id = ?1";
    this.#database.run(sql, of);
  }
}

function entryRow(row: SqlRow): EntryRow {
  return {
    e: Number(row["e"]),
    id: idText(row["id"]),
    signer: row["signer"] === "" ? undefined : String(row["signer"]),
    state: row["state"] as EntryState,
    detail: String(row["detail"] ?? ""),
    bytes: row["bytes"] as Uint8Array,
  };
}
