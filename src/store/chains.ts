import type { ChainPlace } from "../wire/places.ts";
import { partWith, pathTo, tipAt, type Tip } from "./branches.ts";
import { AGENT, idBytes, optionalId } from "./columns.ts";
import { Rows, type SqlInput } from "./database.ts";

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
interface Rival {
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
const OF = `a = ${AGENT}`;
const ID = "lower(hex(id)) as id";
const PREV = `${optionalId("prev")} as prev`;
const WAITING =
  `select name as author, seq, ${ID}, ${PREV}, proven as isProven, key as keyId, verified as isVerified, ` +
  "received as receivedMs, live as isLive, bytes from waiting join agents using (a)";

/** A line as far as its place among the lines of its author follows from it. */
interface Candidate {
  readonly id: string;
  readonly prev: string | null;
  readonly branch: number | null;
}

interface HeldRow extends Candidate, Pick<WaitingLine, "seq" | "isVerified"> {
  readonly n: number;
  readonly key: string | null;
  readonly aside: FollowedRow["aside"];
}

interface Strike {
  readonly key: string;
  readonly last: number;
  readonly id: string | null;
}

/**
 * The chain of each author: which lines are linked, up to where it is whole, where it forks, and what of it is
 * struck or not followed. Changes belong into a transaction of the store. Spec 1.6.
 */
export class Chains extends Rows {
  /** What is known of a line at a place: it is held and linked, held behind a gap, or waits. */
  stateOf({ author, seq, id }: ChainPlace): "linked" | "held" | "proven" | "unproven" | undefined {
    const bytes = idBytes(id);
    const held = `select iif(branch is null, 'held', 'linked') from lines where ${OF} and seq = ? and id = ?`;
    const waiting = `select iif(proven, 'proven', 'unproven') from waiting where ${OF} and seq = ? and id = ?`;
    return (
      this.database.value<"linked" | "held">(held, author, seq, bytes) ??
      this.database.value<"proven" | "unproven">(waiting, author, seq, bytes)
    );
  }

  /**
   * When a line follows the last that is held of its author, and nothing waits: that one. Most lines do, and
   * nothing else has to be asked of their place.
   */
  endBefore({ author, seq, prev }: Pick<ChainPlace, "author" | "seq"> & { prev: string | null }) {
    if (prev === null) return undefined;
    const sql =
      `select lines.a as a, lines.seq as seq, ${ID}, branch, received as receivedMs, waiting from lines join chains using (a) ` +
      `where ${OF} and lines.seq >= ? order by lines.seq limit 2`;
    type Row = Omit<ChainPlace, "author"> & {
      a: number;
      branch: number | null;
      receivedMs: number;
      waiting: number;
    };
    const [row, ...others] = this.database.all<Row>(sql, author, seq - 1);
    const isEnd =
      others.length === 0 && row?.seq === seq - 1 && row.id === prev && row.waiting === 0;
    if (!isEnd || row.branch === null) return undefined;
    return { a: row.a, branch: row.branch, receivedMs: row.receivedMs } satisfies ChainEnd;
  }

  /** The largest number of a line that is held of an author; 0: none. */
  lastHeld(author: string): number {
    const sql = `select max(seq) from lines where ${OF} and seq is not null`;
    return this.database.value(sql, author) ?? 0;
  }

  whole(author: string): Whole {
    const sql = `select whole as seq, ${optionalId("whole_id")} as id, fork from chains where ${OF}`;
    return this.database.get(sql, author) ?? NOBODY;
  }

  /** The last line of an author that is linked and followed. */
  tip(author: string): ChainPlace | undefined {
    const { seq, id } = this.whole(author);
    return id === null ? undefined : { author, seq, id };
  }

  /** `n` of lines that are struck or not followed, and have no verdict yet. */
  unjudgedAside(author: string, limit: number): number[] {
    const sql = `select n from lines where ${OF} and aside is not null and verdict is null order by seq, n limit ?`;
    return this.database.column(sql, author, limit);
  }

  /**
   * Whether one line leads to another by `prev`, also where neither is linked. No line descends from itself.
   * Spec 1.6.
   */
  descends(newer: ChainPlace, older: ChainPlace): boolean {
    const { author } = newer;
    const sql = `select a, branch, ${PREV} from lines where ${OF} and seq = ? and id = ?`;
    let { seq, id } = newer;
    while (seq > older.seq) {
      const row = this.database.get<Candidate & { a: number }>(sql, author, seq, idBytes(id));
      if (row === undefined || row.prev === null) return false;
      if (row.branch !== null)
        return this.#ancestor({ a: row.a, branch: row.branch, seq }, older.seq)?.id === older.id;
      seq -= 1;
      id = row.prev;
    }
    return seq < newer.seq && id === older.id;
  }

  /** Lines that are held behind a gap, the last first. */
  heldAhead(
    author: string,
  ): { readonly id: string; readonly prev: string | null; readonly n: number }[] {
    const sql = `select n, ${ID}, ${PREV} from lines where ${OF} and seq is not null and branch is null order by seq desc, n`;
    return this.database.all(sql, author);
  }

  /** Up to which number lines of the followed branch have their verdict. */
  judged(author: string): number {
    return this.database.value(`select judged from chains where ${OF}`, author) ?? 0;
  }

  setJudged(author: string, seq: number): void {
    this.database.run(`update chains set judged = ? where ${OF}`, seq, author);
  }

  /** Up to which number the author's own carriers have its chain, as far as they were read. */
  carried(author: string): number {
    return this.database.value(`select carried from chains where ${OF}`, author) ?? 0;
  }

  noteCarried(author: string, seq: number): void {
    const sql = `update chains set carried = max(carried, min(?, whole)) where ${OF}`;
    this.database.run(sql, seq, author);
  }

  /** A carrier of the author is not what it was. */
  dropCarried(author: string): void {
    this.database.run(`update chains set carried = 0 where ${OF}`, author);
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
    return this.database.column<string>(sql);
  }

  /** `n` of lines of the branch that is followed behind a number, up to `whole`, in order. */
  followed(author: string, after: number, limit: number): number[] {
    return this.followedRows(author, after, limit).map(({ n }) => n);
  }

  /** The same with what is known of each besides its bytes. */
  followedRows(author: string, after: number, limit: number): FollowedRow[] {
    const tip = this.#wholeTip(author);
    if (tip === undefined) return [];
    const found: FollowedRow[] = [];
    let from = after + 1;
    for (const { a, branch, seq: to } of pathTo(this.database, tip).toReversed()) {
      if (to < from || found.length >= limit) continue;
      const rows = this.database.all<FollowedRow>(
        "select n, seq, branch, verdict, aside from lines where a = ? and seq between ? and ? and branch = ? order by seq limit ?",
        ...[a, from, to, branch, limit - found.length],
      );
      found.push(...rows);
      from = to + 1;
    }
    return found;
  }

  /** Keeps a line. False: as many wait of this author as may, of those that are proven or of the others. */
  wait(line: WaitingLine): boolean {
    const a = this.#makeAgent(line.author);
    const { isProven } = line;
    // Most chains have few that wait: no need to count.
    const waiting = this.database.value("select waiting from chains where a = ?", a) ?? 0;
    const count = "select count(*) from waiting where a = ? and proven = ?";
    const most = isProven ? MOST_WAITING : MOST_UNPROVEN;
    const isFull =
      (!isProven && line.bytes.length > MOST_UNPROVEN_BYTES) ||
      (waiting >= most && (this.database.value(count, a, isProven) ?? 0) >= most);
    if (isFull && this.stateOf(line) === undefined) return false;
    const { changes } = this.database.run(
      "insert or ignore into waiting (a, seq, id, prev, proven, key, verified, received, live, bytes) " +
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[a, line.seq, idBytes(line.id), line.prev && idBytes(line.prev), isProven, line.keyId],
      ...[line.isVerified, line.receivedMs, line.isLive, line.bytes],
    );
    this.database.run("update chains set waiting = waiting + ? where a = ?", changes, a);
    return true;
  }

  /** Whether an authentic line that is held or waits follows this one. */
  isFollowed({ author, seq, id }: ChainPlace): boolean {
    const a = this.#agent(author);
    const bytes = idBytes(id);
    const held = "select 1 from lines where a = ? and seq = ? and prev = ?";
    const waiting = "select 1 from waiting where a = ? and seq = ? and prev = ? and proven = 1";
    return (
      this.database.has(held, a, seq + 1, bytes) || this.database.has(waiting, a, seq + 1, bytes)
    );
  }

  waitingAt({ author, seq, id }: ChainPlace): WaitingLine | undefined {
    return this.database.get(
      `${WAITING} where name = ? and seq = ? and id = ?`,
      author,
      seq,
      idBytes(id),
    );
  }

  /** A copy with a valid signature takes the place of one that waits. */
  replace({ author, seq, id }: ChainPlace, bytes: Uint8Array, keyId: string): void {
    const sql = `update waiting set bytes = ?, key = ?, verified = 1 where ${OF} and seq = ? and id = ?`;
    this.database.run(sql, bytes, keyId, author, seq, idBytes(id));
  }

  /** Takes out one line. */
  takeAt({ author, seq, id }: ChainPlace): WaitingLine | undefined {
    return this.#take(`name = ? and seq = ? and id = ?`, author, seq, idBytes(id))[0];
  }

  /**
   * A line is authentic, so every line that it descends from is. `bytes` take the place of a copy with another
   * signature. Returns the lines that wait and are proven by this, the last first.
   */
  prove(place: ChainPlace, prev: string | null, { nowMs, verified }: Proof): ChainPlace[] {
    const a = this.#makeAgent(place.author);
    const received = "received = case proven when 1 then received else ? end";
    const of = "where a = ? and seq = ? and id = ?";
    this.database.run(
      `update waiting set ${received}, proven = 1, bytes = coalesce(?, bytes), key = coalesce(?, key), ` +
        `verified = max(verified, ?) ${of}`,
      ...[nowMs, verified?.bytes, verified?.keyId, verified !== undefined],
      ...[a, place.seq, idBytes(place.id)],
    );
    const proven: ChainPlace[] = [place];
    let { seq } = place;
    for (let before = prev; before !== null;) {
      seq -= 1;
      const id = idBytes(before);
      const sql = `select ${PREV}, proven as isProven from waiting where a = ? and seq = ? and id = ?`;
      const row = this.database.get<Pick<WaitingLine, "prev" | "isProven">>(sql, a, seq, id);
      if (row === undefined || row.isProven) break;
      this.database.run(`update waiting set ${received}, proven = 1 ${of}`, nowMs, a, seq, id);
      proven.push({ author: place.author, seq, id: before });
      before = row.prev;
    }
    return proven;
  }

  /** Takes out proven lines that follow a linked line, or begin the chain. `seq` 0 asks for first lines. */
  takeBehind({ author, seq, id }: Pick<Whole, "seq" | "id"> & { author: string }): WaitingLine[] {
    const which = "name = ? and seq = ? and prev is ? and proven = 1 order by waiting.id";
    return this.#take(which, author, seq + 1, id && idBytes(id));
  }

  /** Takes out a proven line that follows a linked one, with the lowest number; undefined where none does. */
  takeLinkable(author: string): WaitingLine | undefined {
    const linked =
      "select 1 from lines where lines.a = waiting.a and lines.seq = waiting.seq - 1 and lines.id = waiting.prev " +
      "and branch is not null";
    const which = `name = ? and proven = 1 and exists (${linked}) order by waiting.seq, waiting.id limit 1`;
    return this.#take(which, author)[0];
  }

  /** Takes out proven lines that are not linked, in the order of their numbers. */
  takeAhead(author: string, limit: number): WaitingLine[] {
    const which = "name = ? and proven = 1 order by waiting.seq, waiting.id limit ?";
    return this.#take(which, author, limit);
  }

  /** Since when lines of an author are ahead of a gap; undefined while none is. */
  noteGap(author: string, nowMs: number): number | undefined {
    const a = this.#makeAgent(author);
    const sql =
      "select exists (select 1 from waiting where a = ?1 and proven = 1) or " +
      "exists (select 1 from lines where a = ?1 and seq >= 1 and branch is null and aside is null) as isGap, " +
      "gap_since from chains where a = ?1";
    const row = this.database.get<{ isGap: boolean; gap_since: number | null }>(sql, a);
    const known = row?.gap_since ?? undefined;
    const since = row?.isGap === true ? (known ?? nowMs) : undefined;
    if (since !== known) this.database.run("update chains set gap_since = ? where a = ?", since, a);
    return since;
  }

  /** Lines in the name of an author that wait to be proven its own; at most as many as wait of one author. */
  countUnproven(author: string): number {
    const sql = `select count(*) from waiting where ${OF} and proven = 0`;
    return this.database.value(sql, author) ?? 0;
  }

  /** Lines of an author that others vouch for alone: their own key is not known. */
  countUnverified(author: string): number {
    const sql = `select count(*) from lines where ${OF} and verified = 0 and key is not null`;
    return this.database.value(sql, author) ?? 0;
  }

  /** Authors of whom lines are ahead of a gap, and since when; those that are as old as that. */
  gaps(sinceMs: number): { readonly author: string; readonly sinceMs: number }[] {
    const sql =
      "select name as author, gap_since as sinceMs from chains join agents using (a) where gap_since <= ? order by a";
    return this.database.all(sql, sinceMs);
  }

  /** The id of a line that a proven one follows and that is missing; of several the one with the lowest number. */
  lacking(author: string): string | undefined {
    const a = this.#agent(author);
    const sql =
      "select lower(hex(prev)) from waiting where a = ?1 and proven = 1 and prev is not null and not exists " +
      "(select 1 from waiting as other where other.a = ?1 and other.seq = waiting.seq - 1 and other.id = waiting.prev) " +
      "order by seq, id limit 1";
    return this.database.value<string>(sql, a);
  }

  /** Lines that one of these keys may prove. */
  unproven(author: string, keyIds: readonly string[]): WaitingLine[] {
    const sql =
      `${WAITING} where name = ? and verified = 0 and ` +
      "key in (select value from json_each(?)) order by waiting.seq desc, waiting.id";
    return this.database.all(sql, author, JSON.stringify(keyIds));
  }

  /**
   * Lines were linked, or wait and are proven: says which are struck or not followed, and sets `whole` back
   * where one of them contradicts it. `advance` is to be called after it.
   */
  look(author: string, places: readonly { readonly seq: number; readonly id: string }[]): void {
    const a = this.#makeAgent(author);
    if (this.#hasDecisions(a)) this.#setAsides(a, places);
    const { seq: whole } = this.whole(author);
    const contradicting = places.filter(({ seq, id }) => {
      if (seq > whole) return false;
      return this.#candidates(a, seq).some((each) => each.id === id);
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
        next !== undefined && other === undefined && next.branch !== null && next.prev === whole.id;
      if (!isNext) {
        const fork = next === undefined ? this.#forkAhead(a) : whole.seq + 1;
        this.#setWhole(a, { ...whole, fork });
        return { ...whole, fork };
      }
      whole = { seq: whole.seq + 1, id: next.id, fork: null };
    }
  }

  /** The operator follows this line, which is linked: no line up to its number counts that is on no branch to it. */
  follow({ author, seq, id }: ChainPlace): void {
    const a = this.#makeAgent(author);
    const { fork } = this.whole(author);
    this.database.run(
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
    this.database.run(
      "insert or replace into strikes (a, key, source, last, last_id) values (?, ?, ?, ?, ?)",
      ...[a, keyId, source, last?.seq ?? 0, last && idBytes(last.id)],
    );
    this.#judgeAsides(a, 1);
    this.advance(author);
  }

  /** A line of an owner revokes nothing any more: it is not believed. */
  unstrike(author: string, source: number): void {
    const a = this.#makeAgent(author);
    this.database.run("delete from strikes where a = ? and source = ?", a, source);
    this.#judgeAsides(a, 1);
    this.advance(author);
  }

  /** Whether a key has been revoked: only what it signed before is believed. */
  isStruckKey(author: string, keyId: string): boolean {
    const sql = `select 1 from strikes where ${OF} and key = ? limit 1`;
    return this.database.has(sql, author, keyId);
  }

  /** Up to where the operator believes keys that were revoked; null: nothing that they have signed. */
  struckKeys(
    author: string,
  ): ReadonlyMap<string, { readonly seq: number; readonly id: string } | null> {
    const strikes = this.#strikes(`${OF} and source = 0`, author);
    return new Map(
      strikes.map(({ key, last, id }) => [key, id === null ? null : { seq: last, id }]),
    );
  }

  /** The id of the line with exactly this number that the operator has named. */
  followedAt(author: string, seq: number): string | undefined {
    const sql = `select lower(hex(id)) from follows where ${OF} and seq = ?`;
    return this.database.value<string>(sql, author, seq);
  }

  /** Undecided forks, by author: the number that the lines of each have. */
  forks(): ReadonlyMap<string, number> {
    const sql =
      "select name, fork from chains join agents using (a) where fork is not null order by name";
    const rows = this.database.all<{ name: string; fork: number }>(sql);
    return new Map(rows.map(({ name, fork }) => [name, fork]));
  }

  /** Authentic lines with a number that count, those that are linked first, in the order in which they came. */
  rivals(author: string, seq: number): Rival[] {
    const held =
      `select ${ID}, received as receivedMs, bytes, branch is not null as isLinked from lines where ${OF} and seq = ? ` +
      "and aside is null order by isLinked desc, n";
    const waiting =
      `select ${ID}, received as receivedMs, bytes, 0 as isLinked from waiting ` +
      `where ${OF} and seq = ? and proven = 1 order by received, waiting.id`;
    return [held, waiting]
      .flatMap((sql) => this.database.all<Omit<Rival, "place"> & { id: string }>(sql, author, seq))
      .map(({ id, ...rival }) => ({ ...rival, place: { author, seq, id } }));
  }

  /** The last line of each branch that counts, the longest first. */
  tips(author: string): ChainPlace[] {
    const sql = `select seq, ${ID} from lines where a = ? and branch = ? and aside is null order by seq desc limit 1`;
    const a = this.#agent(author);
    return this.database
      .column("select branch from branches where a = ? order by branch", a)
      .flatMap((branch) => this.database.get<Omit<ChainPlace, "author">>(sql, a, branch) ?? [])
      .map((tip) => ({ author, ...tip }))
      .toSorted((one, other) => other.seq - one.seq);
  }

  /** The largest number of a line, of the branch that is followed, that one of these keys has signed; 0: none has. */
  lastSigned(author: string, keyIds: readonly string[]): number {
    const tip = this.#wholeTip(author);
    if (tip === undefined || keyIds.length === 0) return 0;
    const keys = JSON.stringify(keyIds);
    const inKeys = "key in (select value from json_each(?))";
    const noted = `select max(last) from signers where a = ? and branch = ? and ${inKeys}`;
    const held =
      `select seq from lines where a = ? and seq between ? and ? and branch = ? and verified = 1 and ${inKeys} ` +
      "order by seq desc limit 1";
    const path = pathTo(this.database, tip);
    for (const [at, { a, branch, seq: to }] of path.entries()) {
      const from = (path[at + 1]?.seq ?? 0) + 1;
      const last = this.database.value(noted, a, branch, keys) ?? 0;
      if (last < from) continue;
      // Where it is larger, the branch goes on beside the one that is followed.
      const found = last <= to ? last : this.database.value(held, a, from, to, branch, keys);
      if (found !== undefined) return found;
    }
    return 0;
  }

  /** Since when a gap is waited for; undefined: there is none. */
  gapSince(author: string): number | undefined {
    return this.database.value(`select gap_since from chains where ${OF}`, author);
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
    if (!this.database.has(follower, a, seq, prev && idBytes(prev))) return false;
    const sql =
      "select count(*) from branches join lines on lines.a = branches.a and lines.seq = fork + 1 and " +
      "lines.branch = branches.branch where branches.a = ? and ";
    const counted =
      key === undefined
        ? this.database.value(
            `${sql} not (verified = 1 and key in (select value from json_each(?)))`,
            ...[a, JSON.stringify(pinned)],
          )
        : this.database.value(`${sql} verified = 1 and key = ?`, a, key);
    return (counted ?? 0) >= MOST_BRANCHES;
  }

  /** A line of an owner that revokes a key while it is believed. */
  noteRevocation(author: string, n: number): void {
    const a = this.#makeAgent(author);
    this.database.run("insert or ignore into revocations (n, a) values (?, ?)", n, a);
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
    const striking = this.database.column(inForce, a);
    const all = new Set([...striking, ...this.database.column(newest, a), ...fresh]);
    return [...all]
      .toSorted((one, other) => one - other)
      .map((n) => ({ n, isInForce: striking.includes(n) }));
  }

  /** As `advance`, as long as one line follows another and nothing is decided and nothing waits. */
  #passPlain(a: number, from: Whole): Whole {
    let whole = from;
    const sql = "select waiting from chains where a = ?";
    if (this.database.value(sql, a) !== 0 || this.#hasDecisions(a)) return whole;
    const select = `select seq, ${ID}, ${PREV}, branch from lines where a = ? and seq > ? order by seq limit ?`;
    for (;;) {
      const rows = this.database.all<Candidate & { seq: number }>(select, a, whole.seq, PAGE);
      for (const [at, { seq, id, prev, branch }] of rows.entries()) {
        // The last of a full page may not be alone: the next page begins with it.
        if (at === PAGE - 1) break;
        const isAlone = rows[at + 1]?.seq !== seq;
        const isNext = seq === whole.seq + 1 && branch !== null && isAlone;
        if (!isNext || prev !== whole.id) return whole;
        whole = { seq, id, fork: null };
      }
      if (rows.length < PAGE) return whole;
    }
  }

  #hasDecisions(a: number): boolean {
    const sql =
      "select exists (select 1 from follows where a = ?1) or exists (select 1 from strikes where a = ?1)";
    return this.database.value(sql, a) === 1;
  }

  /** Distinct lines with a number that count. */
  #candidates(a: number, seq: number): Candidate[] {
    const held = this.database.all<Candidate>(
      `select ${ID}, ${PREV}, branch from lines where a = ? and seq = ? and aside is null order by lines.id`,
      ...[a, seq],
    );
    const waiting = this.database
      .all<Candidate & Pick<HeldRow, "key" | "isVerified">>(
        `select ${ID}, ${PREV}, null as branch, key, verified as isVerified from waiting ` +
          "where a = ? and seq = ? and proven = 1 order by waiting.id",
        ...[a, seq],
      )
      .filter((row) => !this.#isStruckAlone(a, seq, row));
    const follow = this.#follow(a, seq);
    return [...held, ...waiting].filter((row) => {
      if (follow !== undefined) return row.id === follow;
      return row.branch !== null || !this.#isBehindAnother(a, seq, row);
    });
  }

  /** Of a line that is not linked: it is known to descend from another one than the operator follows. */
  #isBehindAnother(a: number, seq: number, { prev }: Candidate): boolean {
    if (!this.database.has("select 1 from follows where a = ?", a)) return false;
    const sql =
      `select ${PREV} from waiting where a = ?1 and seq = ?2 and id = ?3 union all ` +
      `select ${PREV} from lines where a = ?1 and seq = ?2 and id = ?3 and branch is null`;
    let before = prev ?? undefined;
    for (let at = seq - 1; at >= 1 && before !== undefined; at -= 1) {
      const follow = this.#follow(a, at);
      if (follow !== undefined) return before !== follow;
      before = this.database.value<string>(sql, a, at, idBytes(before));
    }
    return false;
  }

  /** The lowest number that two lines ahead of a gap have. */
  #forkAhead(a: number): number | null {
    const forks = this.database.column(
      "select seq from (" +
        "select seq, id from lines where a = ?1 and seq is not null and branch is null and aside is null " +
        "union select seq, id from waiting where a = ?1 and proven = 1" +
        ") group by seq having count(*) > 1 order by seq",
      a,
    );
    return forks.find((seq) => this.#candidates(a, seq).length > 1) ?? null;
  }

  /** The id of the line with a number that the operator follows; undefined: nothing is decided there. */
  #follow(a: number, seq: number): string | undefined {
    const sql = `select seq, ${ID} from follows where a = ? and seq >= ? order by seq limit 1`;
    const named = this.database.get<Omit<ChainPlace, "author">>(sql, a, seq);
    if (named === undefined || named.seq === seq) return named?.id;
    const tip = this.#tip(a, named);
    return tip && this.#ancestor(tip, seq)?.id;
  }

  /** Of a line that is not linked: its key was revoked at an earlier line. */
  #isStruckAlone(a: number, seq: number, row: Pick<HeldRow, "id" | "key" | "isVerified">): boolean {
    if (!row.isVerified) return false;
    return this.#strikes("a = ? and key = ?", a, row.key).some(
      ({ last, id }) => seq > last || (seq === last && id !== row.id),
    );
  }

  #strikes(which: string, ...values: SqlInput[]): Strike[] {
    const sql = `select key, last, ${optionalId("last_id")} as id from strikes where ${which} order by key, source`;
    return this.database.all(sql, ...values);
  }

  /** After a decision: what is aside from a number on. `whole` begins again before what has changed. */
  #judgeAsides(a: number, from: number): void {
    const sql = `select seq, ${ID} from lines where a = ? and seq >= ? order by seq, n`;
    const lines = this.database.all<Omit<ChainPlace, "author">>(sql, a, from);
    const lowest = Math.min(from, ...this.#setAsides(a, lines));
    this.#setBack(a, lowest - 1);
    this.database.run("update chains set judged = min(judged, ?) where a = ?", lowest - 1, a);
  }

  /** Returns the numbers of those that have changed. Lines come in the order of their numbers. */
  #setAsides(a: number, lines: readonly Omit<ChainPlace, "author">[]): number[] {
    const strikes = this.#strikes("a = ?", a);
    const sql =
      `select n, seq, ${ID}, ${PREV}, branch, key, verified as isVerified, aside from lines ` +
      "where a = ? and seq = ? and id = ?";
    const changed: number[] = [];
    for (const { seq, id } of lines) {
      const row = this.database.get<HeldRow>(sql, a, seq, idBytes(id));
      if (row === undefined) continue;
      const aside = this.#inheritedAside(a, row) ?? this.#ownAside(a, row, strikes);
      if (aside === row.aside) continue;
      // What was refused for this alone is judged again.
      this.database.run(
        "update lines set aside = ?1, verdict = case when ?1 is null and verdict in ('untrusted_key', 'log_forked') " +
          "then null else verdict end where n = ?2",
        ...[aside, row.n],
      );
      changed.push(seq);
    }
    return changed;
  }

  #inheritedAside(a: number, { seq, prev }: HeldRow): HeldRow["aside"] | undefined {
    if (prev === null) return undefined;
    const sql = "select aside from lines where a = ? and seq = ? and id = ?";
    return this.database.value<"struck" | "rejected">(sql, a, seq - 1, idBytes(prev));
  }

  #ownAside(a: number, row: HeldRow, strikes: readonly Strike[]): HeldRow["aside"] {
    const { seq } = row;
    const follow = this.#follow(a, seq);
    if (follow !== undefined && follow !== row.id) return "rejected";
    if (row.branch === null && this.#isBehindAnother(a, seq, row)) return "rejected";
    const isStruck = strikes.some(({ key, last, id }) => {
      if (!row.isVerified || key !== row.key) return false;
      if (id === null || seq > last) return true;
      const tip = this.#tip(a, { seq: last, id });
      return (tip && this.#ancestor(tip, seq)?.n) !== row.n;
    });
    return isStruck ? "struck" : null;
  }

  /** The line with a number that a linked line is or descends from. */
  #ancestor(tip: Tip, seq: number): { readonly n: number; readonly id: string } | undefined {
    const part = partWith(this.database, tip, seq);
    const sql = `select n, ${ID} from lines where a = ? and seq = ? and branch = ?`;
    return part && this.database.get(sql, part.a, seq, part.branch);
  }

  #tip(a: number, { seq, id }: Omit<ChainPlace, "author">): Tip | undefined {
    const sql =
      "select a, branch, seq from lines where a = ? and seq = ? and id = ? and branch is not null";
    return this.database.get(sql, a, seq, idBytes(id));
  }

  /** The last line of the branch that is followed. */
  #wholeTip(author: string): Tip | undefined {
    const { seq, id } = this.whole(author);
    return id === null ? undefined : tipAt(this.database, { author, seq, id });
  }

  #setBack(a: number, to: number): void {
    const sql = `select whole as seq, lower(hex(whole_id)) as id from chains where a = ? and whole > ?`;
    const whole = this.database.get<Omit<ChainPlace, "author">>(sql, a, to);
    if (whole === undefined) return;
    const tip = this.#tip(a, whole);
    const id = (tip && this.#ancestor(tip, to)?.id) ?? null;
    this.#setWhole(a, { seq: to, id, fork: null });
    this.database.run("update chains set judged = min(judged, ?) where a = ?", to, a);
  }

  #setWhole(a: number, { seq, id, fork }: Whole): void {
    this.database.run(
      "update chains set whole = ?, whole_id = ?, fork = ? where a = ?",
      ...[seq, id && idBytes(id), fork, a],
    );
  }

  #take(which: string, ...values: SqlInput[]): WaitingLine[] {
    const lines = this.database.all<WaitingLine>(`${WAITING} where ${which}`, ...values);
    for (const { author, seq, id } of lines) {
      const sql = `delete from waiting where ${OF} and seq = ? and id = ?`;
      this.database.run(sql, author, seq, idBytes(id));
      this.database.run(`update chains set waiting = waiting - 1 where ${OF}`, author);
    }
    return lines;
  }

  #agent(name: string): number {
    return this.database.value("select a from agents where name = ?", name) ?? -1;
  }

  #makeAgent(name: string): number {
    let a = this.#agent(name);
    if (a === -1) a = this.database.run("insert into agents (name) values (?)", name).rowid;
    this.database.run("insert or ignore into chains (a) values (?)", a);
    return a;
  }
}
