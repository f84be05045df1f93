import type { ChainPlace } from "../wire/places.ts";
import type { Database, SqlRow } from "./database.ts";
import { idBytes, idText } from "./ids.ts";

/** A line of a chain that is not linked to its first line, or not proven to be its author's. */
export interface WaitingLine extends ChainPlace {
  readonly prev: string | null;
  /** It is authentic; others are kept because a later line may prove them. */
  readonly isProven: boolean;
  /** As it states it; whether its signature is valid under that key. */
  readonly keyId: string;
  readonly isVerified: boolean;
  readonly receivedMs: number;
  readonly isLive: boolean;
  readonly bytes: Uint8Array;
}

/** The last line of the branch that is followed; 0 and null where there is none. */
export interface Whole {
  readonly seq: number;
  readonly id: string | null;
  /** Number of the lines of a fork behind it that the operator has not decided. */
  readonly fork: number | null;
}

/** When a line is proven to be its author's; the copy with a valid signature, where there is one. */
interface Proof {
  readonly nowMs: number;
  readonly verified?: { readonly bytes: Uint8Array; readonly keyId: string } | undefined;
}

interface Tip {
  readonly seq: number;
  readonly id: Uint8Array;
}

interface Segment {
  readonly branch: number;
  readonly from: number;
  readonly to: number;
}

/** Of one author, so many lines wait; more stay in their carriers. Spec 2.4. */
const MOST_WAITING = 4_096;
/** Of those that anybody may have written fewer and shorter ones: 16 MiB of one author. */
const MOST_UNPROVEN = 1_024;
const MOST_UNPROVEN_BYTES = 16 * 1024;

/** Of one author, so many lines that begin a branch are kept, signed with one key. Spec 2.4. */
const MOST_BRANCHES = 64;

/** Of the lines of one author that may revoke keys and do not, so many are looked at again. */
const MOST_REVOCATIONS = 64;

/** One of several lines with one number. */
export interface Rival {
  readonly place: ChainPlace;
  readonly receivedMs: number;
  readonly isLinked: boolean;
  readonly bytes: Uint8Array;
}

/** The last of all lines that are held of an author: it is linked, and nothing of this author waits. */
export interface ChainEnd {
  readonly a: number;
  readonly branch: number;
  readonly receivedMs: number;
}

/** A line of the branch that is followed. */
export interface FollowedRow {
  readonly n: number;
  readonly seq: number;
  readonly branch: number;
  readonly verdict: string | null;
  readonly aside: "struck" | "rejected" | null;
}

/** Lines that are read at once. */
const PAGE = 256;

const NOBODY: Whole = { seq: 0, id: null, fork: null };
const OF = "a = (select a from agents where name = ?)";

/**
 * The chain of each author: which lines are linked, up to where it is whole, where it forks, and what of it is
 * struck or not followed. Changes belong into a transaction of the store. Spec 1.6.
 */
export class Chains {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What is known of a line at a place: it is held and linked, held behind a gap, or waits. */
  stateOf({ author, seq, id }: ChainPlace): "linked" | "held" | "proven" | "unproven" | undefined {
    const bytes = idBytes(id);
    const held = this.#database.get(
      `select branch from lines where ${OF} and seq = ? and id = ?`,
      author,
      seq,
      bytes,
    );
    if (held !== undefined) return held["branch"] === null ? "held" : "linked";
    const sql = `select proven from waiting where ${OF} and seq = ? and id = ?`;
    const waiting = this.#database.get(sql, author, seq, bytes);
    if (waiting === undefined) return undefined;
    return waiting["proven"] === 1 ? "proven" : "unproven";
  }

  /**
   * When a line follows the last that is held of its author, and nothing waits: that one. Most lines do, and
   * nothing else has to be asked of their place.
   */
  endBefore({ author, seq, prev }: Pick<ChainPlace, "author" | "seq"> & { prev: string | null }) {
    if (prev === null) return undefined;
    const sql =
      "select lines.a as a, lines.seq as seq, id, branch, received, waiting from lines join chains using (a) " +
      `where ${OF} and lines.seq >= ? order by lines.seq limit 2`;
    const rows = this.#database.all(sql, author, seq - 1);
    const [row] = rows;
    const isEnd =
      rows.length === 1 &&
      row?.["seq"] === seq - 1 &&
      row["branch"] !== null &&
      row["waiting"] === 0 &&
      idText(row["id"]) === prev;
    if (!isEnd) return undefined;
    const [a, branch] = [Number(row["a"]), Number(row["branch"])];
    return { a, branch, receivedMs: Number(row["received"]) } satisfies ChainEnd;
  }

  /** The largest number of a line that is held of an author; 0: none. */
  lastHeld(author: string): number {
    const sql = `select max(seq) as last from lines where ${OF} and seq is not null`;
    return Number(this.#database.get(sql, author)?.["last"] ?? 0);
  }

  whole(author: string): Whole {
    const row = this.#database.get(`select * from chains where ${OF}`, author);
    if (row === undefined) return NOBODY;
    const id = row["whole_id"] ?? null;
    const fork = row["fork"] ?? null;
    return {
      seq: Number(row["whole"]),
      id: id === null ? null : idText(id),
      fork: fork === null ? null : Number(fork),
    };
  }

  /** `n` of lines that are struck or not followed, and have no verdict yet. */
  unjudgedAside(author: string, limit: number): number[] {
    const sql = `select n from lines where ${OF} and aside is not null and verdict is null order by seq, n limit ?`;
    return this.#database.all(sql, author, limit).map((row) => Number(row["n"]));
  }

  /**
   * Whether one line leads to another by `prev`, also where neither is linked. No line descends from itself.
   * Spec 1.6.
   */
  descends(newer: ChainPlace, older: ChainPlace): boolean {
    const a = this.#agent(newer.author);
    let at: Tip = { seq: newer.seq, id: idBytes(newer.id) };
    const wanted = idBytes(older.id);
    while (at.seq > older.seq) {
      const row = this.#database.get(
        "select prev, branch from lines where a = ? and seq = ? and id = ?",
        a,
        at.seq,
        at.id,
      );
      if (row === undefined || row["prev"] === null) return false;
      if (row["branch"] !== null) {
        const line = this.#ancestor(a, at, older.seq);
        return line !== undefined && idText(line["id"]) === older.id;
      }
      at = { seq: at.seq - 1, id: row["prev"] as Uint8Array };
      if (at.seq === older.seq) return Buffer.compare(at.id, wanted) === 0;
    }
    return false;
  }

  /** Lines that are held behind a gap, the last first. */
  heldAhead(
    author: string,
  ): { readonly id: string; readonly prev: string | null; readonly n: number }[] {
    const sql = `select n, id, prev from lines where ${OF} and seq is not null and branch is null order by seq desc, n`;
    return this.#database.all(sql, author).map((row) => ({
      n: Number(row["n"]),
      id: idText(row["id"]),
      prev: row["prev"] === null ? null : idText(row["prev"]),
    }));
  }

  /** Up to which number lines of the followed branch have their verdict. */
  judged(author: string): number {
    const row = this.#database.get(`select judged from chains where ${OF}`, author);
    return Number(row?.["judged"] ?? 0);
  }

  setJudged(author: string, seq: number): void {
    this.#database.run(`update chains set judged = ? where ${OF}`, seq, author);
  }

  /** Up to which number the author's own carriers have its chain, as far as they were read. */
  carried(author: string): number {
    const row = this.#database.get(`select carried from chains where ${OF}`, author);
    return Number(row?.["carried"] ?? 0);
  }

  noteCarried(author: string, seq: number): void {
    const sql = `update chains set carried = max(carried, min(?, whole)) where ${OF}`;
    this.#database.run(sql, seq, author);
  }

  /** A carrier of the author is not what it was. */
  dropCarried(author: string): void {
    this.#database.run(`update chains set carried = 0 where ${OF}`, author);
  }

  /**
   * Authors with lines that have no verdict yet, those of whom proven lines wait, and those of whom a line may revoke
   * a key once its own signature is found valid.
   */
  unfinished(): string[] {
    const revoking = `select n from revocations where a = chains.a order by n desc limit ${MOST_REVOCATIONS}`;
    const sql =
      "select name from chains join agents using (a) where judged < whole or waiting > 0 or gap_since is not null " +
      `or exists (select 1 from lines where n in (${revoking}) and verified = 0) order by name`;
    return this.#database.all(sql).map((row) => String(row["name"]));
  }

  /** `n` of lines of the branch that is followed behind a number, up to `whole`, in order. */
  followed(author: string, after: number, limit: number): number[] {
    return this.followedRows(author, after, limit).map(({ n }) => n);
  }

  /** The same with what is known of each besides its bytes. */
  followedRows(author: string, after: number, limit: number): FollowedRow[] {
    const a = this.#agent(author);
    const { seq: whole, id } = this.whole(author);
    if (id === null) return [];
    const found: FollowedRow[] = [];
    for (const { branch, from, to } of this.#segments(a, { seq: whole, id: idBytes(id) })) {
      if (to <= after || found.length >= limit) continue;
      const rows = this.#database.all(
        "select n, seq, branch, verdict, aside from lines where a = ? and seq between ? and ? and branch = ? order by seq limit ?",
        a,
        Math.max(from, after + 1),
        to,
        branch,
        limit - found.length,
      );
      found.push(...rows.map(followedRow));
    }
    return found;
  }

  /** Keeps a line. False: as many wait of this author as may, of those that are proven or of the others. */
  wait(line: WaitingLine): boolean {
    const a = this.#makeAgent(line.author);
    const proven = line.isProven ? 1 : 0;
    const count = "select count(*) as count from waiting where a = ? and proven = ?";
    const row = this.#database.get("select waiting from chains where a = ?", a);
    // Most chains have few that wait: no need to count.
    const most = line.isProven ? MOST_WAITING : MOST_UNPROVEN;
    const isFull =
      (!line.isProven && line.bytes.length > MOST_UNPROVEN_BYTES) ||
      (Number(row?.["waiting"]) >= most &&
        Number(this.#database.get(count, a, proven)?.["count"]) >= most);
    if (isFull && this.stateOf(line) === undefined) return false;
    const { changes } = this.#database.run(
      "insert or ignore into waiting (a, seq, id, prev, proven, key, verified, received, live, bytes) " +
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      a,
      line.seq,
      idBytes(line.id),
      line.prev === null ? null : idBytes(line.prev),
      proven,
      line.keyId,
      line.isVerified ? 1 : 0,
      line.receivedMs,
      line.isLive ? 1 : 0,
      line.bytes,
    );
    this.#database.run("update chains set waiting = waiting + ? where a = ?", changes, a);
    return true;
  }

  /** Whether an authentic line that is held or waits follows this one. */
  isFollowed({ author, seq, id }: ChainPlace): boolean {
    const a = this.#agent(author);
    const bytes = idBytes(id);
    const held = "select 1 from lines where a = ? and seq = ? and prev = ?";
    const waiting = "select 1 from waiting where a = ? and seq = ? and prev = ? and proven = 1";
    return (
      this.#database.get(held, a, seq + 1, bytes) !== undefined ||
      this.#database.get(waiting, a, seq + 1, bytes) !== undefined
    );
  }

  waitingAt({ author, seq, id }: ChainPlace): WaitingLine | undefined {
    const sql = `select * from waiting where ${OF} and seq = ? and id = ?`;
    const row = this.#database.get(sql, author, seq, idBytes(id));
    return row === undefined ? undefined : waitingLine(author, row);
  }

  /** A copy with a valid signature takes the place of one that waits. */
  replace({ author, seq, id }: ChainPlace, bytes: Uint8Array, keyId: string): void {
    const sql = `update waiting set bytes = ?, key = ?, verified = 1 where ${OF} and seq = ? and id = ?`;
    this.#database.run(sql, bytes, keyId, author, seq, idBytes(id));
  }

  /** Takes out one line. */
  takeAt({ author, seq, id }: ChainPlace): WaitingLine | undefined {
    const sql = "select * from waiting where a = ? and seq = ? and id = ?";
    return this.#take(sql, author, this.#agent(author), seq, idBytes(id))[0];
  }

  /**
   * A line is authentic, so every line that it descends from is. `bytes` take the place of a copy with another
   * signature. Returns the lines that wait and are proven by this, the last first.
   */
  prove(place: ChainPlace, prev: string | null, { nowMs, verified }: Proof): ChainPlace[] {
    const a = this.#makeAgent(place.author);
    const received = "received = case proven when 1 then received else ? end";
    const of = "where a = ? and seq = ? and id = ?";
    this.#database.run(
      `update waiting set ${received}, proven = 1, bytes = coalesce(?, bytes), key = coalesce(?, key), ` +
        `verified = max(verified, ?) ${of}`,
      nowMs,
      verified?.bytes ?? null,
      verified?.keyId ?? null,
      verified === undefined ? 0 : 1,
      a,
      place.seq,
      idBytes(place.id),
    );
    const proven: ChainPlace[] = [place];
    let { seq } = place;
    for (let before = prev; before !== null;) {
      seq -= 1;
      const id = idBytes(before);
      const row = this.#database.get(
        "select prev, proven from waiting where a = ? and seq = ? and id = ?",
        a,
        seq,
        id,
      );
      if (row === undefined || row["proven"] === 1) break;
      this.#database.run(`update waiting set ${received}, proven = 1 ${of}`, nowMs, a, seq, id);
      proven.push({ author: place.author, seq, id: before });
      before = row["prev"] === null || row["prev"] === undefined ? null : idText(row["prev"]);
    }
    return proven;
  }

  /** Takes out proven lines that follow a linked line, or begin the chain. `seq` 0 asks for first lines. */
  takeBehind({
    author,
    seq,
    id,
  }: {
    author: string;
    seq: number;
    id: string | null;
  }): WaitingLine[] {
    const a = this.#agent(author);
    return this.#take(
      "select * from waiting where a = ? and seq = ? and prev is ? and proven = 1 order by id",
      author,
      a,
      seq + 1,
      id === null ? null : idBytes(id),
    );
  }

  /** Takes out a proven line that follows a linked one, with the lowest number; undefined where none does. */
  takeLinkable(author: string): WaitingLine | undefined {
    const sql =
      "select waiting.* from waiting join lines on lines.a = waiting.a and lines.seq = waiting.seq - 1 " +
      "and lines.id = waiting.prev where waiting.a = ? and proven = 1 and branch is not null " +
      "order by waiting.seq, waiting.id limit 1";
    return this.#take(sql, author, this.#agent(author))[0];
  }

  /** Takes out proven lines that are not linked, in the order of their numbers. */
  takeAhead(author: string, limit: number): WaitingLine[] {
    const a = this.#agent(author);
    const sql = "select * from waiting where a = ? and proven = 1 order by seq, id limit ?";
    return this.#take(sql, author, a, limit);
  }

  /** Since when lines of an author are ahead of a gap; undefined while none is. */
  noteGap(author: string, nowMs: number): number | undefined {
    const a = this.#makeAgent(author);
    const sql =
      "select exists (select 1 from waiting where a = ?1 and proven = 1) or " +
      "exists (select 1 from lines where a = ?1 and seq >= 1 and branch is null and aside is null) as gap, " +
      "gap_since from chains where a = ?1";
    const row = this.#database.get(sql, a);
    const known = row?.["gap_since"] ?? null;
    const since = row?.["gap"] === 1 ? (known === null ? nowMs : Number(known)) : null;
    if (since !== known)
      this.#database.run("update chains set gap_since = ? where a = ?", since, a);
    return since ?? undefined;
  }

  /** Lines in the name of an author that wait to be proven its own; at most as many as wait of one author. */
  countUnproven(author: string): number {
    const sql = `select count(*) as count from waiting where ${OF} and proven = 0`;
    return Number(this.#database.get(sql, author)?.["count"]);
  }

  /** Lines of an author that others vouch for alone: their own key is not known. */
  countUnverified(author: string): number {
    const sql = `select count(*) as count from lines where ${OF} and verified = 0 and key is not null`;
    return Number(this.#database.get(sql, author)?.["count"]);
  }

  /** Authors of whom lines are ahead of a gap, and since when; those that are as old as that. */
  gaps(sinceMs: number): { readonly author: string; readonly sinceMs: number }[] {
    return this.#database
      .all("select name, gap_since from chains join agents using (a) where gap_since <= ?", sinceMs)
      .map((row) => ({ author: String(row["name"]), sinceMs: Number(row["gap_since"]) }));
  }

  /** The id of a line that a proven one follows and that is missing; of several the one with the lowest number. */
  lacking(author: string): string | undefined {
    const a = this.#agent(author);
    const sql =
      "select prev from waiting where a = ?1 and proven = 1 and prev is not null and not exists " +
      "(select 1 from waiting as other where other.a = ?1 and other.seq = waiting.seq - 1 and other.id = waiting.prev) " +
      "order by seq, id limit 1";
    const prev = this.#database.get(sql, a)?.["prev"] ?? null;
    return prev === null ? undefined : idText(prev);
  }

  /** Lines that one of these keys may prove. */
  unproven(author: string, keyIds: readonly string[]): WaitingLine[] {
    const sql =
      `select * from waiting where ${OF} and verified = 0 and ` +
      "key in (select value from json_each(?)) order by seq desc, id";
    return this.#database
      .all(sql, author, JSON.stringify(keyIds))
      .map((row) => waitingLine(author, row));
  }

  /**
   * Lines were linked, or wait and are proven: says which are struck or not followed, and sets `whole` back
   * where one of them contradicts it. `advance` is to be called after it.
   */
  look(author: string, places: readonly { readonly seq: number; readonly id: string }[]): void {
    const a = this.#makeAgent(author);
    if (this.#hasDecisions(a))
      this.#setAsides(
        a,
        places.map(({ seq, id }) => ({ seq, id: idBytes(id) })),
      );
    const { seq: whole } = this.whole(author);
    const contradicting = places.filter(({ seq, id }) => {
      if (seq > whole) return false;
      return this.#candidates(a, seq).some((each) => idText(each["id"]) === id);
    });
    const lowest = Math.min(...contradicting.map(({ seq }) => seq));
    if (lowest <= whole) this.#setBack(a, lowest - 1);
  }

  /** Moves `whole` as far as the lines that are held allow. */
  advance(author: string): Whole {
    const a = this.#makeAgent(author);
    let whole = this.#passPlain(a, this.whole(author));
    for (;;) {
      const candidates = this.#candidates(a, whole.seq + 1);
      const [next, other] = candidates;
      const isNext =
        next !== undefined &&
        other === undefined &&
        next["branch"] !== null &&
        (next["prev"] === null ? whole.id === null : idText(next["prev"]) === whole.id);
      if (!isNext) {
        const fork = next === undefined ? this.#forkAhead(a) : whole.seq + 1;
        this.#setWhole(a, { ...whole, fork });
        return { ...whole, fork };
      }
      whole = { seq: whole.seq + 1, id: idText(next["id"]), fork: null };
    }
  }

  /** The operator follows this line, which is linked: no line up to its number counts that is on no branch to it. */
  follow({ author, seq, id }: ChainPlace): void {
    const a = this.#makeAgent(author);
    const { fork } = this.whole(author);
    this.#database.run(
      "insert or replace into follows (a, seq, id) values (?, ?, ?)",
      a,
      seq,
      idBytes(id),
    );
    this.#judgeAsides(a, Math.min(seq, fork ?? seq));
    this.advance(author);
  }

  /**
   * What a key has signed is struck, but for `last` and what it descends from. Null: all that it has signed.
   *
   * @param source `n` of the line of its owner that says so; 0: the operator does
   */
  strike(author: string, keyId: string, last: ChainPlace | null, source = 0): void {
    const a = this.#makeAgent(author);
    this.#database.run(
      "insert or replace into strikes (a, key, source, last, last_id) values (?, ?, ?, ?, ?)",
      a,
      keyId,
      source,
      last?.seq ?? 0,
      last === null ? null : idBytes(last.id),
    );
    this.#judgeAsides(a, 1);
    this.advance(author);
  }

  /** A line of an owner revokes nothing any more: it is not believed. */
  unstrike(author: string, source: number): void {
    const a = this.#makeAgent(author);
    this.#database.run("delete from strikes where a = ? and source = ?", a, source);
    this.#judgeAsides(a, 1);
    this.advance(author);
  }

  /** Whether a key has been revoked: only what it signed before is believed. */
  isStruckKey(author: string, keyId: string): boolean {
    const sql = `select 1 from strikes where ${OF} and key = ? limit 1`;
    return this.#database.get(sql, author, keyId) !== undefined;
  }

  /** Up to where the operator believes keys that were revoked; null: nothing that they have signed. */
  struckKeys(
    author: string,
  ): ReadonlyMap<string, { readonly seq: number; readonly id: string } | null> {
    const sql = `select key, last, last_id from strikes where ${OF} and source = 0 order by key`;
    return new Map(
      this.#database.all(sql, author).map((row) => {
        const id = row["last_id"] ?? null;
        const last = id === null ? null : { seq: Number(row["last"]), id: idText(id) };
        return [String(row["key"]), last];
      }),
    );
  }

  /** The id of the line with exactly this number that the operator has named. */
  followedAt(author: string, seq: number): string | undefined {
    const sql = `select id from follows where ${OF} and seq = ?`;
    const id = this.#database.get(sql, author, seq)?.["id"] ?? null;
    return id === null ? undefined : idText(id);
  }

  /** Undecided forks, by author: the number that the lines of each have. */
  forks(): ReadonlyMap<string, number> {
    const sql =
      "select name, fork from chains join agents using (a) where fork is not null order by name";
    const rows = this.#database.all(sql);
    return new Map(rows.map((row) => [String(row["name"]), Number(row["fork"])]));
  }

  /** Authentic lines with a number that count, those that are linked first, in the order in which they came. */
  rivals(author: string, seq: number): Rival[] {
    const held =
      `select n, id, received, bytes, branch is not null as linked from lines where ${OF} and seq = ? ` +
      "and aside is null order by linked desc, n";
    const waiting =
      "select null as n, id, received, bytes, 0 as linked from waiting " +
      `where ${OF} and seq = ? and proven = 1 order by received, id`;
    return [held, waiting]
      .flatMap((sql) => this.#database.all(sql, author, seq))
      .map((row) => ({
        place: { author, seq, id: idText(row["id"]) },
        receivedMs: Number(row["received"]),
        isLinked: row["linked"] === 1,
        bytes: row["bytes"] as Uint8Array,
      }));
  }

  /** The last line of each branch that counts, the longest first. */
  tips(author: string): ChainPlace[] {
    const sql =
      "select seq, id from lines where a = ? and branch = ? and aside is null order by seq desc limit 1";
    const a = this.#agent(author);
    return this.#database
      .all("select branch from branches where a = ? order by branch", a)
      .map(({ branch = null }) => this.#database.get(sql, a, branch))
      .filter((row) => row !== undefined)
      .map((row) => ({ author, seq: Number(row["seq"]), id: idText(row["id"]) }))
      .toSorted((one, other) => other.seq - one.seq);
  }

  /** The largest number of a line, of the branch that is followed, that one of these keys has signed; 0: none has. */
  lastSigned(author: string, keyIds: readonly string[]): number {
    const a = this.#agent(author);
    const { seq: whole, id } = this.whole(author);
    if (id === null || keyIds.length === 0) return 0;
    const keys = JSON.stringify(keyIds);
    const inKeys = "key in (select value from json_each(?))";
    for (const { branch, from, to } of this.#segments(a, {
      seq: whole,
      id: idBytes(id),
    }).toReversed()) {
      const noted = `select max(last) as last from signers where a = ? and branch = ? and ${inKeys}`;
      const last = Number(this.#database.get(noted, a, branch, keys)?.["last"] ?? 0);
      if (last >= from && last <= to) return last;
      if (last < from) continue;
      // The branch goes on beside the one that is followed.
      const held =
        `select seq from lines where a = ? and seq between ? and ? and branch = ? and verified = 1 and ${inKeys} ` +
        "order by seq desc limit 1";
      const row = this.#database.get(held, a, from, to, branch, keys);
      if (row !== undefined) return Number(row["seq"]);
    }
    return 0;
  }

  /** Since when a gap is waited for; undefined: there is none. */
  gapSince(author: string): number | undefined {
    const since = this.#database.get(`select gap_since from chains where ${OF}`, author);
    return typeof since?.["gap_since"] === "number" ? since["gap_since"] : undefined;
  }

  /**
   * Whether a line that can be linked begins a branch for which there is no room: of those signed with one key that
   * is pinned and active, and of all others together, 64 are kept. Spec 2.4.
   *
   * @param key that it is signed with, where that is pinned and active
   * @param pinned all such keys
   */
  isBranchTooMany(
    { author, seq, prev }: Pick<WaitingLine, "author" | "seq" | "prev">,
    key: string | undefined,
    pinned: readonly string[],
  ): boolean {
    const a = this.#agent(author);
    // Most lines follow the last one, and most authors have one branch.
    const follower =
      "select 1 from lines where a = ? and seq = ? and prev is ? and branch is not null limit 1";
    const before = prev === null ? null : idBytes(prev);
    if (this.#database.get(follower, a, seq, before) === undefined) return false;
    const sql =
      "select count(*) as count from branches join lines on lines.a = branches.a and lines.seq = fork + 1 and " +
      "lines.branch = branches.branch where branches.a = ? and ";
    const counted =
      key === undefined
        ? this.#database.get(
            `${sql} not (verified = 1 and key in (select value from json_each(?)))`,
            ...[a, JSON.stringify(pinned)],
          )
        : this.#database.get(`${sql} verified = 1 and key = ?`, a, key);
    return Number(counted?.["count"]) >= MOST_BRANCHES;
  }

  /** A line of an owner that revokes a key while it is believed. */
  noteRevocation(author: string, n: number): void {
    const a = this.#makeAgent(author);
    this.#database.run("insert or ignore into revocations (n, a) values (?, ?)", n, a);
  }

  /**
   * Lines of an author that may revoke keys, and whether each strikes now: those that do, the newest of the
   * others, and `fresh` ones.
   */
  revocations(
    author: string,
    fresh: readonly number[],
  ): { readonly n: number; readonly isInForce: boolean }[] {
    const a = this.#agent(author);
    const newest = `select n from revocations where a = ? order by n desc limit ${MOST_REVOCATIONS}`;
    const inForce =
      "select distinct source as n from strikes where a = ? and source > 0 order by n";
    const striking = this.#database.all(inForce, a).map((row) => Number(row["n"]));
    const others = this.#database.all(newest, a).map((row) => Number(row["n"]));
    const all = new Set([...striking, ...others, ...fresh]);
    return [...all]
      .toSorted((one, other) => one - other)
      .map((n) => ({ n, isInForce: striking.includes(n) }));
  }

  /** As \`advance\`, as long as one line follows another and nothing is decided and nothing waits. */
  #passPlain(a: number, from: Whole): Whole {
    let whole = from;
    const sql = "select waiting from chains where a = ?";
    if (this.#database.get(sql, a)?.["waiting"] !== 0 || this.#hasDecisions(a)) return whole;
    const select =
      "select seq, id, prev, branch from lines where a = ? and seq > ? order by seq limit ?";
    for (;;) {
      const rows = this.#database.all(select, a, whole.seq, PAGE);
      for (const [at, { seq, id, prev, branch }] of rows.entries()) {
        // The last of a full page may not be alone: the next page begins with it.
        if (at === PAGE - 1) break;
        const isAlone = rows[at + 1]?.["seq"] !== seq;
        const isNext = seq === whole.seq + 1 && branch !== null && isAlone;
        if (!isNext || (prev === null ? null : idText(prev)) !== whole.id) return whole;
        whole = { seq: Number(seq), id: idText(id), fork: null };
      }
      if (rows.length < PAGE) return whole;
    }
  }

  #hasDecisions(a: number): boolean {
    const sql =
      "select exists (select 1 from follows where a = ?) or exists (select 1 from strikes where a = ?) as any";
    return this.#database.get(sql, a, a)?.["any"] === 1;
  }

  /** Distinct lines with a number that count. */
  #candidates(a: number, seq: number): SqlRow[] {
    const held = this.#database.all(
      "select id, prev, branch from lines where a = ? and seq = ? and aside is null order by id",
      a,
      seq,
    );
    const waiting = this.#database
      .all(
        "select id, prev, null as branch, key, verified from waiting where a = ? and seq = ? and proven = 1 order by id",
        a,
        seq,
      )
      .filter((row) => !this.#isStruckAlone(a, seq, row));
    const follow = this.#follow(a, seq);
    return [...held, ...waiting].filter((row) => {
      if (follow !== undefined) return idText(row["id"]) === follow;
      return row["branch"] !== null || !this.#isBehindAnother(a, seq, row);
    });
  }

  /** Of a line that is not linked: it is known to descend from another one than the operator follows. */
  #isBehindAnother(a: number, seq: number, { prev }: SqlRow): boolean {
    if (this.#database.get("select 1 from follows where a = ?", a) === undefined) return false;
    let before = prev ?? null;
    for (let at = seq - 1; at >= 1 && before !== null; at -= 1) {
      const follow = this.#follow(a, at);
      if (follow !== undefined) return idText(before) !== follow;
      const sql =
        "select prev from waiting where a = ?1 and seq = ?2 and id = ?3 union all " +
        "select prev from lines where a = ?1 and seq = ?2 and id = ?3 and branch is null";
      before = this.#database.get(sql, a, at, before)?.["prev"] ?? null;
    }
    return false;
  }

  /** The lowest number that two lines ahead of a gap have. */
  #forkAhead(a: number): number | null {
    const rows = this.#database.all(
      "select seq from (" +
        "select seq, id from lines where a = ?1 and seq is not null and branch is null and aside is null " +
        "union select seq, id from waiting where a = ?1 and proven = 1" +
        ") group by seq having count(*) > 1 order by seq",
      a,
    );
    const forks = rows.map((row) => Number(row["seq"]));
    return forks.find((seq) => this.#candidates(a, seq).length > 1) ?? null;
  }

  /** The id of the line with a number that the operator follows; undefined: nothing is decided there. */
  #follow(a: number, seq: number): string | undefined {
    const sql = "select seq, id from follows where a = ? and seq >= ? order by seq limit 1";
    const row = this.#database.get(sql, a, seq);
    if (row === undefined) return undefined;
    const tip = { seq: Number(row["seq"]), id: row["id"] as Uint8Array };
    const id = tip.seq === seq ? tip.id : this.#ancestor(a, tip, seq)?.["id"];
    return id === undefined || id === null ? undefined : idText(id);
  }

  /** Of a line that is not linked: its key was revoked at an earlier line. */
  #isStruckAlone(a: number, seq: number, row: SqlRow): boolean {
    if (row["verified"] !== 1) return false;
    const sql = "select last, last_id from strikes where a = ? and key = ? order by source";
    return this.#database.all(sql, a, row["key"] ?? null).some((strike) => {
      const last = Number(strike["last"]);
      return seq > last || (seq === last && idText(strike["last_id"]) !== idText(row["id"]));
    });
  }

  /** After a decision: what is aside from a number on. `whole` begins again before what has changed. */
  #judgeAsides(a: number, from: number): void {
    const rows = this.#database.all(
      "select seq, id from lines where a = ? and seq >= ? order by seq, n",
      a,
      from,
    );
    const lines = rows.map((row) => ({ seq: Number(row["seq"]), id: row["id"] as Uint8Array }));
    const lowest = Math.min(from, ...this.#setAsides(a, lines));
    this.#setBack(a, lowest - 1);
    this.#database.run("update chains set judged = min(judged, ?) where a = ?", lowest - 1, a);
  }

  /** Returns the numbers of those that have changed. Lines come in the order of their numbers. */
  #setAsides(
    a: number,
    lines: readonly { readonly seq: number; readonly id: Uint8Array }[],
  ): number[] {
    const strikes = this.#database.all("select * from strikes where a = ? order by key, source", a);
    const changed: number[] = [];
    for (const { seq, id } of lines) {
      const row = this.#database.get(
        "select * from lines where a = ? and seq = ? and id = ?",
        a,
        seq,
        id,
      );
      if (row === undefined) continue;
      const aside = this.#inherited(a, row) ?? this.#own(a, row, strikes);
      if (aside === row["aside"]) continue;
      // What was refused for this alone is judged again.
      this.#database.run(
        "update lines set aside = ?1, verdict = case when ?1 is null and verdict in ('untrusted_key', 'log_forked') " +
          "then null else verdict end where n = ?2",
        aside,
        row["n"] ?? null,
      );
      changed.push(seq);
    }
    return changed;
  }

  #inherited(a: number, { seq, prev }: SqlRow): string | undefined {
    if (prev === null || prev === undefined) return undefined;
    const sql = "select aside from lines where a = ? and seq = ? and id = ?";
    const aside = this.#database.get(sql, a, Number(seq) - 1, prev)?.["aside"] ?? null;
    return aside === null ? undefined : String(aside);
  }

  #own(a: number, row: SqlRow, strikes: readonly SqlRow[]): string | null {
    const seq = Number(row["seq"]);
    const follow = this.#follow(a, seq);
    if (follow !== undefined && follow !== idText(row["id"])) return "rejected";
    if (row["branch"] === null && this.#isBehindAnother(a, seq, row)) return "rejected";
    if (strikes.length === 0) return null;
    const isStruck = strikes.some((strike) => {
      if (row["verified"] !== 1 || strike["key"] !== row["key"]) return false;
      const last = Number(strike["last"]);
      if (strike["last_id"] === null || seq > last) return true;
      const tip = { seq: last, id: strike["last_id"] as Uint8Array };
      return this.#ancestor(a, tip, seq)?.["n"] !== row["n"];
    });
    return isStruck ? "struck" : null;
  }

  /** The line with a number that a linked line is or descends from. */
  #ancestor(a: number, tip: Tip, seq: number): SqlRow | undefined {
    const segment = this.#segments(a, tip).find(({ from, to }) => from <= seq && seq <= to);
    const sql = "select n, id from lines where a = ? and seq = ? and branch = ?";
    return segment && this.#database.get(sql, a, seq, segment.branch);
  }

  /** The parts of branches that lead to a linked line, in the order of their numbers. */
  #segments(a: number, tip: Tip): Segment[] {
    const segments: Segment[] = [];
    const at = "select branch from lines where a = ? and seq = ? and id = ?";
    let branch = this.#database.get(at, a, tip.seq, tip.id)?.["branch"] ?? null;
    let to = tip.seq;
    while (branch !== null) {
      const sql = "select parent, fork from branches where a = ? and branch = ?";
      const row = this.#database.get(sql, a, branch);
      const from = Number(row?.["fork"] ?? 0) + 1;
      if (from <= to) segments.unshift({ branch: Number(branch), from, to });
      to = Math.min(to, from - 1);
      branch = row?.["parent"] ?? null;
    }
    return segments;
  }

  #setBack(a: number, to: number): void {
    const row = this.#database.get("select whole, whole_id from chains where a = ?", a);
    const whole = Number(row?.["whole"] ?? 0);
    if (to >= whole) return;
    const tip = { seq: whole, id: row?.["whole_id"] as Uint8Array };
    const id = to === 0 ? null : (this.#ancestor(a, tip, to)?.["id"] ?? null);
    this.#setWhole(a, { seq: to, id: id === null ? null : idText(id), fork: null });
    this.#database.run("update chains set judged = min(judged, ?) where a = ?", to, a);
  }

  #setWhole(a: number, { seq, id, fork }: Whole): void {
    this.#database.run(
      "update chains set whole = ?, whole_id = ?, fork = ? where a = ?",
      seq,
      id === null ? null : idBytes(id),
      fork,
      a,
    );
  }

  #take(
    sql: string,
    author: string,
    a: number,
    ...values: (string | number | Uint8Array | null)[]
  ) {
    const rows = this.#database.all(sql, a, ...values);
    for (const row of rows)
      this.#database.run(
        "delete from waiting where a = ? and seq = ? and id = ?",
        a,
        row["seq"] ?? null,
        row["id"] ?? null,
      );
    this.#database.run("update chains set waiting = waiting - ? where a = ?", rows.length, a);
    return rows.map((row) => waitingLine(author, row));
  }

  #agent(name: string): number {
    return Number(this.#database.get("select a from agents where name = ?", name)?.["a"] ?? -1);
  }

  #makeAgent(name: string): number {
    let a = this.#agent(name);
    if (a === -1) a = this.#database.run("insert into agents (name) values (?)", name).rowid;
    this.#database.run("insert or ignore into chains (a) values (?)", a);
    return a;
  }
}

function followedRow(row: SqlRow): FollowedRow {
  return {
    n: Number(row["n"]),
    seq: Number(row["seq"]),
    branch: Number(row["branch"]),
    verdict: row["verdict"] === null ? null : String(row["verdict"]),
    aside: (row["aside"] ?? null) as FollowedRow["aside"],
  };
}

function waitingLine(author: string, row: SqlRow): WaitingLine {
  return {
    author,
    seq: Number(row["seq"]),
    id: idText(row["id"]),
    prev: row["prev"] === null ? null : idText(row["prev"]),
    isProven: row["proven"] === 1,
    keyId: String(row["key"]),
    isVerified: row["verified"] === 1,
    receivedMs: Number(row["received"]),
    isLive: row["live"] === 1,
    bytes: row["bytes"] as Uint8Array,
  };
}
