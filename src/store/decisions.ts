import { idBytes } from "./columns.ts";
import { Rows } from "./database.ts";

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
  /** Null: nobody whose key is pinned or named. */
  readonly signer: string | null;
  readonly state: EntryState;
  /** Why it is pending or unproved. */
  readonly detail: string;
  readonly bytes: Uint8Array;
}

/** The id of the proposal that an entry names, as it is stored. */
interface Named {
  readonly of_id: Uint8Array | null;
}

const ENTRIES =
  "select e, lower(hex(id)) as id, nullif(signer, '') as signer, state, coalesce(detail, '') as detail, bytes from entries";
/** Entries that nobody known has signed: any of them may be junk, so the newest few are kept. */
const MOST_UNSIGNED = 64;
/** Entries of one signer that are not proved. */
const MOST_DOUBTFUL = 2_048;

/**
 * The entries of `decisions.jsonl`, and which decisions our daemon records. Changes belong into a transaction.
 * Spec 3.4.7.
 */
export class DecisionRows extends Rows {
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
    if (this.database.run(seen, reading, idBytes(id), signer).changes > 0) return true;
    const left = room.get(signer) ?? MOST_DOUBTFUL - this.#countDoubtful(signer);
    if (signer !== "" && left <= 0) return false;
    room.set(signer, left - 1);
    this.database.run(
      "insert into entries (id, signer, of_id, state, seen, bytes) values (?, ?, ?, 'due', ?, ?)",
      ...[idBytes(id), signer, proposal && idBytes(proposal), reading, bytes],
    );
    if (signer === "")
      this.database.run(
        "delete from entries where signer = '' and e <= (select e from entries where signer = '' order by e desc limit 1 offset ?)",
        MOST_UNSIGNED,
      );
    return true;
  }

  #countDoubtful(signer: string): number {
    const sql =
      "select count(*) from entries where signer = ? and state in ('due', 'pending', 'unproved')";
    return this.database.value(sql, signer) ?? 0;
  }

  /** Entries to judge, the earliest first. */
  due(limit: number): EntryRow[] {
    return this.database.all(`${ENTRIES} where state = 'due' order by e limit ?`, limit);
  }

  /** Says what an entry is worth. Of one signer and proposal only the first proved one is kept. */
  settle(e: number, state: EntryState, detail: string): void {
    const sql = "update entries set state = ?, detail = ? where e = ? returning of_id, signer";
    const row = this.database.change<Named & { signer: string }>(sql, state, detail, e);
    if (row.of_id === null) return;
    if (state === "proved")
      this.database.run(
        "delete from entries where of_id = ? and signer = ? and state = 'proved' and e > " +
          "(select min(e) from entries where of_id = ?1 and signer = ?2 and state = 'proved')",
        ...[row.of_id, row.signer],
      );
    this.#noteDone(row.of_id);
  }

  /** Entries about a proposal are judged again: lines have come, or it has another outcome. */
  judgeAgain(proposal: string): void {
    const sql = "update entries set state = 'due' where of_id = ? and signer <> ''";
    this.database.run(sql, idBytes(proposal));
  }

  hasPending(): boolean {
    return this.database.has("select 1 from entries where state = 'pending' limit 1");
  }

  /** Forgets entries that were not found by a reading of the whole file, or a later one. */
  forgetUnseen(reading: number): void {
    const sql = "delete from entries where seen < ? returning of_id";
    for (const { of_id: of } of this.database.all<Named>(sql, reading))
      if (of !== null) this.#noteDone(of);
  }

  /** The newest entries of a state, in their order. */
  list(state: EntryState, limit: number): EntryRow[] {
    const sql = `${ENTRIES} where state = ? order by e desc limit ?`;
    return this.database.all<EntryRow>(sql, state, limit).toReversed();
  }

  /** The proved entries of a proposal, in their order. */
  proved(proposal: string): EntryRow[] {
    const sql = `${ENTRIES} where of_id = ? and state = 'proved' order by e`;
    return this.database.all(sql, idBytes(proposal));
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
    this.database.run(sql, n, idBytes(id), isContested, at);
    this.#noteDone(idBytes(id));
  }

  /** It is not up to our daemon to record it. */
  expectNot(n: number): void {
    this.database.run("delete from recorded where n = ?", n);
  }

  /** Contested proposals that may be recorded, and when; each may stand otherwise at any time. */
  contested(limit: number): { readonly n: number; readonly at: number | undefined }[] {
    const sql = "select n, at from recorded where contested = 1 order by n limit ?";
    return this.database
      .all<{ n: number; at: number | null }>(sql, limit)
      .map(({ n, at }) => ({ n, at: at ?? undefined }));
  }

  /** Proposals to record by then. */
  toRecord(nowMs: number, limit: number): number[] {
    const sql = "select n from recorded where done = 0 and at <= ? order by at limit ?";
    return this.database.column(sql, nowMs, limit);
  }

  /** When the next one is to be recorded behind a time, milliseconds of Unix time. */
  nextAfter(nowMs: number): number | undefined {
    return this.database.value("select min(at) from recorded where done = 0 and at > ?", nowMs);
  }

  #noteDone(of: Uint8Array): void {
    const sql =
      "update recorded set done = exists (select 1 from entries where of_id = ?1 and state = 'proved') where of_id = ?1";
    this.database.run(sql, of);
  }
}
