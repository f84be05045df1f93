import type { BeatRecords, BeatWords, Lack } from "../protocol/beats/compose.ts";
import type { Want } from "../protocol/beats/beat.ts";
import {
  isDatedAhead,
  isSignOfLife,
  type BeatTimes,
  type Life,
  type LifeLimits,
} from "../protocol/beats/life.ts";
import type { Serving, ServingRecords, WantedLine } from "../protocol/beats/serving.ts";
import { DAY_MS, MINUTE_MS } from "../wire/durations.ts";
import type { ChainPlace, NamedPlace, RefusedLines } from "../wire/places.ts";
import { findPath, ON_PATH, partsBehind, pathJson, tipAt } from "./branches.ts";
import type { ChainEnd, Chains } from "./chains.ts";
import { AGENT, idBytes } from "./columns.ts";
import { Rows, type Database } from "./database.ts";
import { findStated } from "./heads.ts";

const DATED_AHEAD_MS = 5 * MINUTE_MS;
/** Of what one author has named and we lack, so much is remembered. */
const MOST_WANTED = 512;
/** Of its lines, one in so many looks whether that is too much. */
const PRUNED_EVERY = 256;
/** Gaps of one chain that are asked for at once. */
const MOST_GAPS = 16;
/** Refused lines that are looked at for one beat. */
const MOST_REFUSED_ROWS = 2_048;
/** Lines behind which nothing is linked, looked at for one want. */
const MOST_STEPS = 4_096;

/** Remembers what a line that is held names and we lack. */
export function noteLacks(
  database: Database,
  line: ChainPlace & { readonly n: number; readonly a: number },
  { prev, names, receivedMs, end, isAwaited }: Naming,
): void {
  const { n, a, author, seq, id } = line;
  const held = `select 1 from lines where a = ${AGENT} and seq = ? and id = ?`;
  const insert = "insert into wanted (a, of, of_seq, of_id, named) values (?, ?, ?, ?, ?) ";
  const note = (place: ChainPlace, onConflict: string): void => {
    const key = [place.seq, idBytes(place.id)] as const;
    if (database.has(held, place.author, ...key)) return;
    database.run(insert + onConflict, a, place.author, ...key, receivedMs);
  };
  // A gap is no new naming when what lies behind it is taken in at last.
  if (prev !== null && seq > 1 && end === undefined)
    note({ author, seq: seq - 1, id: prev }, "on conflict do nothing");
  for (const { place } of names)
    if (place.seq !== null)
      note(
        { ...place, seq: place.seq },
        "on conflict do update set named = excluded.named, asked = null, asks = 0",
      );
  const found = "delete from wanted where of = ? and of_seq = ? and of_id = ?";
  if (isAwaited) database.run(found, author, seq, idBytes(id));
  if (n % PRUNED_EVERY !== 0) return;
  const old =
    "delete from wanted where a = ? and (of, of_seq, of_id) in (select of, of_seq, of_id from wanted where a = ? " +
    `order by named desc, of_seq desc, of, of_id limit -1 offset ${MOST_WANTED})`;
  database.run(old, a, a);
}

interface Naming {
  readonly prev: string | null;
  readonly names: readonly NamedPlace[];
  readonly receivedMs: number;
  /** The line before it, where that is known to be held. */
  readonly end?: ChainEnd | undefined;
  /** Something may have named it before it was held. */
  readonly isAwaited: boolean;
}

/**
 * What the beats of one agent follow from: how far it holds and has read others, what it has refused, what it
 * lacks, what others want of it, and who of them lives. Changes belong into a transaction of the store.
 */
export class Beats extends Rows implements BeatRecords, ServingRecords {
  readonly #chains: Chains;
  readonly #self: string;

  constructor(database: Database, chains: Chains, self: string) {
    super(database);
    this.#chains = chains;
    this.#self = self;
  }

  others(): readonly string[] {
    const sql = "select name from chains join agents using (a) where name <> ? order by name";
    return this.database.column<string>(sql, this.#self);
  }

  whole(author: string): number {
    return this.#chains.whole(author).seq;
  }

  settled(author: string): ChainPlace | undefined {
    const { seq, id } = this.#chains.whole(author);
    if (id === null) return undefined;
    const whole = { author, seq, id };
    const sql =
      `select min(seq) from lines where a = ${AGENT} and ours = 1 and verdict is null and seq is not null ` +
      `and ${ON_PATH}`;
    const waits = this.database.value(sql, author, this.#pathJson(whole));
    return waits === undefined ? whole : this.placeAt(whole, waits - 1);
  }

  read(author: string): number {
    const sql = `select min(seq) - 1 from lines where a = ${AGENT} and unread = 1 and seq is not null`;
    return this.database.value(sql, author) ?? Number.MAX_SAFE_INTEGER;
  }

  stated(line: ChainPlace): { readonly takenIn: number; readonly read: number } {
    return {
      takenIn: findStated(this.database, this.#self, line, "taken_in"),
      read: findStated(this.database, this.#self, line, "read"),
    };
  }

  placeAt(tip: ChainPlace, seq: number): ChainPlace | undefined {
    if (seq < 1 || seq > tip.seq) return undefined;
    if (seq === tip.seq) return tip;
    const sql = `select lower(hex(id)) from lines where a = ${AGENT} and seq = ? and ${ON_PATH}`;
    const id = this.database.value<string>(sql, tip.author, seq, this.#pathJson(tip));
    return id === undefined ? undefined : { author: tip.author, seq, id };
  }

  hasNews(tip: ChainPlace, after: number, to: number): boolean {
    if (after >= to) return false;
    const sql =
      `select 1 from lines where a = ${AGENT} and seq > ? and seq <= ? and type <> 'heartbeat' ` +
      `and seq is not null and ${ON_PATH} limit 1`;
    return this.database.has(sql, tip.author, after, to, this.#pathJson(tip));
  }

  unnamed(author: string): readonly RefusedLines[] {
    const ranges: RefusedLines[] = [];
    for (const { seq, id, prev, reason } of this.#unnamedRows(author, 1, Number.MAX_SAFE_INTEGER)) {
      const last = { author, seq, id };
      const before = ranges.at(-1);
      const goesOn =
        before?.reason === reason && before.last.seq === seq - 1 && before.last.id === prev;
      ranges.splice(goesOn ? -1 : ranges.length, 1, {
        ...{ last, reason },
        first: goesOn ? before.first : last.seq,
      });
    }
    return [...this.#forked(author), ...ranges];
  }

  lacks(): readonly Lack[] {
    const wanted =
      "select name as namer, of as author, of_seq as seq, lower(hex(of_id)) as id, named as namedMs, asked as askedMs " +
      "from wanted join agents using (a) where not exists " +
      `(select 1 from waiting where a = (select a from agents where name = of) and seq = of_seq and id = of_id) ` +
      "order by name, asks, of_seq desc, of, of_id";
    const lacks = this.database.all<LackRow>(wanted).map(toLack);
    const names = new Set(lacks.map(({ namer, place }) => `${namer} ${place.seq} ${place.id}`));
    return [
      ...lacks,
      ...this.#gaps().filter(({ namer, place }) => !names.has(`${namer} ${place.seq} ${place.id}`)),
    ];
  }

  hasNamed(line: ChainPlace): boolean {
    if (line.author === this.#self) return true;
    const tip = tipAt(this.database, line);
    const named = `select 1 from names where a = ${AGENT} and of = ?`;
    if (tip === undefined) {
      const sql = `${named} and of_branch is null and of_seq = ? and of_id = ?`;
      return this.database.has(sql, this.#self, line.author, line.seq, idBytes(line.id));
    }
    const sql = `${named} and of_branch = ? and of_seq >= ? limit 1`;
    // The line itself is on a branch with what follows it there.
    const parts = partsBehind(this.database, tip).filter(({ branch }) => branch !== tip.branch);
    return [tip, ...parts].some(({ branch, seq }) =>
      this.database.has(sql, this.#self, line.author, branch, seq),
    );
  }

  linesFor({ first, last }: Want, limit: number): readonly WantedLine[] {
    const { author, seq, id } = last;
    const path = findPath(this.database, last);
    const rows =
      path.size > 0
        ? this.database.all<LineRow>(
            `select n, seq, lower(hex(id)) as id from lines where a = ${AGENT} and seq between ? and ? and ${ON_PATH} order by lines.seq limit ?`,
            ...[author, first, seq, pathJson(path), limit],
          )
        : this.database.all<LineRow>(
            "with recursive back (n, a, seq, id, prev) as (select n, a, seq, id, prev from lines " +
              `where a = ${AGENT} and seq = ? and id = ? union all select lines.n, lines.a, lines.seq, lines.id, lines.prev ` +
              "from back join lines on lines.a = back.a and lines.seq = back.seq - 1 and lines.id = back.prev " +
              `where back.seq > ? limit ${MOST_STEPS}) select n, seq, lower(hex(id)) as id from back order by seq limit ?`,
            ...[author, seq, idBytes(id), first, limit],
          );
    return rows.map((row) => ({ n: row.n, place: { author, seq: row.seq, id: row.id } }));
  }

  servedMs(reader: string, n: number): number | undefined {
    return this.database.value(`select at from served where a = ${AGENT} and n = ?`, reader, n);
  }

  served(reader: string, sinceMs: number): { readonly copies: number; readonly lines: number } {
    const sql = `select coalesce(sum(copies), 0) as copies, count(*) as lines from served where a = ${AGENT} and at >= ?`;
    return this.database.get(sql, reader, sinceMs) ?? { copies: 0, lines: 0 };
  }

  /** Lines to copy into a carrier of ours: `n` of each, the lowest first. */
  dueCopies(limit: number): readonly number[] {
    const sql = "select distinct n from served where due = 1 order by n limit ?";
    return this.database.column(sql, limit);
  }

  /** `n` of the latest beat of another author, in its chain or beside it. */
  latest(author: string): number | undefined {
    return this.database.value(`select beat from lives where a = ${AGENT}`, author);
  }

  life(author: string): Life | undefined {
    const sql =
      "select received as receivedMs, paused as isPaused, cadence as cadenceMs from lives " +
      `where a = ${AGENT} and received is not null`;
    const row = this.database.get<Omit<Life, "cadenceMs"> & { cadenceMs: number | null }>(
      sql,
      author,
    );
    return row && { ...row, cadenceMs: row.cadenceMs ?? undefined };
  }

  /** The latest date of the beats of an author that were held, of those not dated ahead. */
  latestBeatMs(author: string): number | undefined {
    return this.database.value(`select latest from lives where a = ${AGENT}`, author);
  }

  /** A beat of another agent is held: the latest, unless one that is dated later is held and not dated ahead. */
  noteLatest(n: number): void {
    const later =
      "select 1 from lines as before, lines as now where before.n = lives.beat and now.n = excluded.beat " +
      `and before.sent > now.sent and before.sent <= before.received + ${DATED_AHEAD_MS}`;
    const sql =
      "insert into lives (a, beat) select a, n from lines where n = ? " +
      `on conflict do update set beat = excluded.beat where not exists (${later})`;
    this.database.run(sql, n);
  }

  /** Our chain has a beat that says so. */
  noteSaid({ refused, wants }: BeatWords, nowMs: number): void {
    for (const range of refused) this.#nameRefused(range);
    for (const { last } of wants) {
      const key = [last.author, last.seq, idBytes(last.id)] as const;
      // A gap is named by the line behind it alone, which waits.
      this.database.run(
        "insert or ignore into wanted (a, of, of_seq, of_id, named) select a, name, seq - 1, prev, received " +
          "from waiting join agents using (a) where name = ? and seq = ? and prev = ? and proven = 1",
        ...[last.author, last.seq + 1, idBytes(last.id)],
      );
      this.database.run(
        "update wanted set asked = coalesce(asked, ?), asks = asks + 1 where of = ? and of_seq = ? and of_id = ?",
        ...[nowMs, ...key],
      );
    }
  }

  /** What is done with lines that an agent wants. */
  noteServed(reader: string, servings: readonly Serving[], nowMs: number): void {
    const day = nowMs - (nowMs % DAY_MS);
    this.database.run(
      `delete from served where a = ${AGENT} and at < ? and due is null`,
      reader,
      day - DAY_MS,
    );
    for (const { n, isCopy } of servings) {
      this.database.run(
        `insert into served (a, n, at, copies, due) select a, ?, ?, ?, ? from agents where name = ? on conflict do update ` +
          "set copies = iif(at < ?, 0, copies) + excluded.copies, at = excluded.at, due = excluded.due",
        ...[n, nowMs, isCopy, isCopy || null, reader, day],
      );
    }
  }

  /** A carrier of ours has these lines. */
  noteCopied(ns: readonly number[]): void {
    for (const n of ns)
      this.database.run("update served set due = null where n = ? and due = 1", n);
  }

  /** A beat of another agent is held. True: it is a sign of life, and says this. */
  noteBeat(
    author: string,
    beat: BeatTimes & Pick<Life, "cadenceMs" | "isPaused">,
    limits: Omit<LifeLimits, "latestMs">,
  ): boolean {
    const latestMs = this.latestBeatMs(author);
    if (isDatedAhead(beat, limits.skewMs)) return false;
    const isAlive = isSignOfLife(beat, { ...limits, latestMs });
    this.database.run(
      "insert into lives (a, latest) select a, ? from agents where name = ? " +
        "on conflict do update set latest = max(coalesce(latest, excluded.latest), excluded.latest)",
      ...[beat.datedMs, author],
    );
    if (!isAlive) return false;
    this.database.run(
      `update lives set received = ?, cadence = ?, paused = ? where a = ${AGENT}`,
      ...[beat.receivedMs, beat.cadenceMs, beat.isPaused, author],
    );
    return true;
  }

  #pathJson(place: ChainPlace): string {
    return pathJson(findPath(this.database, place));
  }

  #unnamedRows(author: string, first: number, last: number): RefusedRow[] {
    return this.database.all(
      `select n, seq, lower(hex(id)) as id, lower(hex(prev)) as prev, verdict as reason from lines where a = ${AGENT} and ours = 1 and named is null ` +
        "and verdict <> 'mail' and verdict <> 'passed' and seq between ? and ? order by lines.seq, n limit ?",
      ...[author, first, last, MOST_REFUSED_ROWS],
    );
  }

  #nameRefused({ first, last }: RefusedLines): void {
    let { id } = last;
    for (const row of this.#unnamedRows(last.author, first, last.seq).toReversed()) {
      if (row.id !== id) continue;
      this.database.run("update lines set named = 1 where n = ?", row.n);
      id = row.prev;
    }
  }

  /** The first two lines of an undecided fork that were taken in, as far as our chain has not named them. */
  #forked(author: string): readonly RefusedLines[] {
    const { fork } = this.#chains.whole(author);
    if (fork === null) return [];
    const sql =
      `select lower(hex(id)) from (select id, received, n from lines where a = ${AGENT} and seq = ? and aside is null union all ` +
      `select id, received, null from waiting where a = ${AGENT} and seq = ? and proven = 1) ` +
      "order by received, n is null, n, id limit 2";
    return this.database
      .column<string>(sql, author, fork, author, fork)
      .map((id) => ({ author, seq: fork, id }))
      .filter((place) => !this.hasNamed(place))
      .map((last) => ({ first: fork, last, reason: "log_forked" }));
  }

  /** The lines before those that wait. */
  #gaps(): Lack[] {
    const authors = this.database.all<{ a: number; author: string }>(
      "select a, name as author from chains join agents using (a) where waiting > 0 order by name",
    );
    const sql =
      "select seq - 1 as seq, lower(hex(prev)) as id, received as namedMs, null as askedMs " +
      "from waiting as behind where a = ? and proven = 1 and behind.seq > 1 " +
      "and not exists (select 1 from lines where a = behind.a and seq = behind.seq - 1 and id = behind.prev) " +
      "and not exists (select 1 from waiting where a = behind.a and seq = behind.seq - 1 and id = behind.prev) " +
      `order by behind.seq, behind.id limit ${MOST_GAPS}`;
    return authors.flatMap(({ a, author }) =>
      this.database.all<LackRow>(sql, a).map((row) => toLack({ ...row, author, namer: author })),
    );
  }
}

interface LineRow {
  readonly n: number;
  readonly seq: number;
  readonly id: string;
}

interface RefusedRow extends LineRow {
  /** Empty for the first line. */
  readonly prev: string;
  readonly reason: string;
}

interface LackRow extends ChainPlace {
  readonly namer: string;
  readonly namedMs: number;
  readonly askedMs: number | null;
}

function toLack({ namer, namedMs, askedMs, author, seq, id }: LackRow): Lack {
  return { place: { author, seq, id }, namer, namedMs, askedMs: askedMs ?? undefined };
}
