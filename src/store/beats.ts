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
import type { Database, SqlRow } from "./database.ts";
import { findStated } from "./heads.ts";
import { idBytes, idText } from "./ids.ts";

const DATED_AHEAD_MS = 5 * MINUTE_MS;
const A = "(select a from agents where name = ?)";
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
  const held = `select 1 from lines where a = ${A} and seq = ? and id = ?`;
  const insert = "insert into wanted (a, of, of_seq, of_id, named) values (?, ?, ?, ?, ?) ";
  const note = (place: ChainPlace, onConflict: string): void => {
    const key = [place.seq, idBytes(place.id)] as const;
    if (database.get(held, place.author, ...key) !== undefined) return;
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
export class Beats implements BeatRecords, ServingRecords {
  readonly #database: Database;
  readonly #chains: Chains;
  readonly #self: string;

  constructor(database: Database, chains: Chains, self: string) {
    this.#database = database;
    this.#chains = chains;
    this.#self = self;
  }

  others(): readonly string[] {
    const sql = "select name from chains join agents using (a) where name <> ? order by name";
    return this.#database.all(sql, this.#self).map((row) => String(row["name"]));
  }

  whole(author: string): number {
    return this.#chains.whole(author).seq;
  }

  settled(author: string): ChainPlace | undefined {
    const { seq, id } = this.#chains.whole(author);
    if (id === null) return undefined;
    const whole = { author, seq, id };
    const sql =
      `select min(seq) as seq from lines where a = ${A} and ours = 1 and verdict is null and seq is not null ` +
      `and ${ON_PATH}`;
    const path = pathJson(findPath(this.#database, whole));
    const waits = this.#database.get(sql, author, path)?.["seq"] ?? null;
    return waits === null ? whole : this.placeAt(whole, Number(waits) - 1);
  }

  read(author: string): number {
    const sql = `select min(seq) as seq from lines where a = ${A} and unread = 1 and seq is not null`;
    const seq = this.#database.get(sql, author)?.["seq"] ?? null;
    return seq === null ? Number.MAX_SAFE_INTEGER : Number(seq) - 1;
  }

  stated(line: ChainPlace): { readonly takenIn: number; readonly read: number } {
    return {
      takenIn: findStated(this.#database, this.#self, line, "taken_in"),
      read: findStated(this.#database, this.#self, line, "read"),
    };
  }

  placeAt(tip: ChainPlace, seq: number): ChainPlace | undefined {
    if (seq < 1 || seq > tip.seq) return undefined;
    if (seq === tip.seq) return tip;
    const sql = `select id from lines where a = ${A} and seq = ? and ${ON_PATH}`;
    const path = pathJson(findPath(this.#database, tip));
    const row = this.#database.get(sql, tip.author, seq, path);
    return row && { author: tip.author, seq, id: idText(row["id"]) };
  }

  hasNews(tip: ChainPlace, after: number, to: number): boolean {
    if (after >= to) return false;
    const sql =
      `select 1 from lines where a = ${A} and seq > ? and seq <= ? and type <> 'heartbeat' ` +
      `and seq is not null and ${ON_PATH} limit 1`;
    const path = pathJson(findPath(this.#database, tip));
    return this.#database.get(sql, tip.author, after, to, path) !== undefined;
  }

  unnamed(author: string): readonly RefusedLines[] {
    const rows = this.#unnamedRows(author, 1, Number.MAX_SAFE_INTEGER);
    const ranges: RefusedLines[] = [];
    for (const row of rows) {
      const last = { author, seq: Number(row["seq"]), id: idText(row["id"]) };
      const reason = String(row["verdict"]);
      const before = ranges.at(-1);
      const goesOn = before !== undefined && before.reason === reason && isNext(row, before.last);
      ranges.splice(goesOn ? -1 : ranges.length, 1, {
        ...{ last, reason },
        first: goesOn ? before.first : last.seq,
      });
    }
    return [...this.#forked(author), ...ranges];
  }

  lacks(): readonly Lack[] {
    const wanted =
      "select name, wanted.*, 1 as known from wanted join agents using (a) where not exists " +
      `(select 1 from waiting where a = (select a from agents where name = of) and seq = of_seq and id = of_id) ` +
      "order by name, asks, of_seq desc, of, of_id";
    const lacks = this.#database.all(wanted).map(lackOf);
    const names = new Set(lacks.map(({ namer, place }) => `${namer} ${place.seq} ${place.id}`));
    return [
      ...lacks,
      ...this.#gaps().filter(({ namer, place }) => !names.has(`${namer} ${place.seq} ${place.id}`)),
    ];
  }

  hasNamed(line: ChainPlace): boolean {
    if (line.author === this.#self) return true;
    const tip = tipAt(this.#database, line);
    const named = `select 1 from names where a = ${A} and of = ?`;
    if (tip === undefined) {
      const sql = `${named} and of_branch is null and of_seq = ? and of_id = ?`;
      const values = [this.#self, line.author, line.seq, idBytes(line.id)];
      return this.#database.get(sql, ...values) !== undefined;
    }
    const sql = `${named} and of_branch = ? and of_seq >= ? limit 1`;
    // The line itself is on a branch with what follows it there.
    const parts = partsBehind(this.#database, tip).filter(({ branch }) => branch !== tip.branch);
    return [tip, ...parts].some(
      ({ branch, seq }) =>
        this.#database.get(sql, this.#self, line.author, branch, seq) !== undefined,
    );
  }

  linesFor({ first, last }: Want, limit: number): readonly WantedLine[] {
    const { author, seq, id } = last;
    const path = findPath(this.#database, last);
    const rows =
      path.size > 0
        ? this.#database.all(
            `select n, seq, id from lines where a = ${A} and seq between ? and ? and ${ON_PATH} order by seq limit ?`,
            ...[author, first, seq, pathJson(path), limit],
          )
        : this.#database.all(
            "with recursive back (n, a, seq, id, prev) as (select n, a, seq, id, prev from lines " +
              `where a = ${A} and seq = ? and id = ? union all select lines.n, lines.a, lines.seq, lines.id, lines.prev ` +
              "from back join lines on lines.a = back.a and lines.seq = back.seq - 1 and lines.id = back.prev " +
              `where back.seq > ? limit ${MOST_STEPS}) select n, seq, id from back order by seq limit ?`,
            ...[author, seq, idBytes(id), first, limit],
          );
    return rows.map((row) => ({
      n: Number(row["n"]),
      place: { author, seq: Number(row["seq"]), id: idText(row["id"]) },
    }));
  }

  servedMs(reader: string, n: number): number | undefined {
    const row = this.#database.get(`select at from served where a = ${A} and n = ?`, reader, n);
    return row === undefined ? undefined : Number(row["at"]);
  }

  served(reader: string, sinceMs: number): { readonly copies: number; readonly lines: number } {
    const sql = `select coalesce(sum(copies), 0) as copies, count(*) as lines from served where a = ${A} and at >= ?`;
    const row = this.#database.get(sql, reader, sinceMs);
    return { copies: Number(row?.["copies"]), lines: Number(row?.["lines"]) };
  }

  /** Lines to copy into a carrier of ours: `n` of each, the lowest first. */
  dueCopies(limit: number): readonly number[] {
    const sql = "select distinct n from served where due = 1 order by n limit ?";
    return this.#database.all(sql, limit).map((row) => Number(row["n"]));
  }

  /** `n` of the latest beat of another author, in its chain or beside it. */
  latest(author: string): number | undefined {
    const beat = this.#database.get(`select beat from lives where a = ${A}`, author)?.["beat"];
    return typeof beat === "number" ? beat : undefined;
  }

  life(author: string): Life | undefined {
    const row = this.#database.get(
      `select * from lives where a = ${A} and received is not null`,
      author,
    );
    if (row === undefined) return undefined;
    const cadence = row["cadence"] ?? null;
    return {
      receivedMs: Number(row["received"]),
      isPaused: row["paused"] === 1,
      cadenceMs: cadence === null ? undefined : Number(cadence),
    };
  }

  /** The latest date of the beats of an author that were held, of those not dated ahead. */
  latestBeatMs(author: string): number | undefined {
    const row = this.#database.get(`select latest from lives where a = ${A}`, author);
    const latest = row?.["latest"] ?? null;
    return latest === null ? undefined : Number(latest);
  }

  /** A beat of another agent is held: the latest, unless one that is dated later is held and not dated ahead. */
  noteLatest(n: number): void {
    const later =
      "select 1 from lines as before, lines as now where before.n = lives.beat and now.n = excluded.beat " +
      `and before.sent > now.sent and before.sent <= before.received + ${DATED_AHEAD_MS}`;
    const sql =
      "insert into lives (a, beat) select a, n from lines where n = ? " +
      `on conflict do update set beat = excluded.beat where not exists (${later})`;
    this.#database.run(sql, n);
  }

  /** Our chain has a beat that says so. */
  noteSaid({ refused, wants }: BeatWords, nowMs: number): void {
    for (const range of refused) this.#nameRefused(range);
    for (const { last } of wants) {
      const key = [last.author, last.seq, idBytes(last.id)] as const;
      // A gap is named by the line behind it alone, which waits.
      this.#database.run(
        "insert or ignore into wanted (a, of, of_seq, of_id, named) select a, name, seq - 1, prev, received " +
          "from waiting join agents using (a) where name = ? and seq = ? and prev = ? and proven = 1",
        ...[last.author, last.seq + 1, idBytes(last.id)],
      );
      this.#database.run(
        "update wanted set asked = coalesce(asked, ?), asks = asks + 1 where of = ? and of_seq = ? and of_id = ?",
        ...[nowMs, ...key],
      );
    }
  }

  /** What is done with lines that an agent wants. */
  noteServed(reader: string, servings: readonly Serving[], nowMs: number): void {
    const day = nowMs - (nowMs % DAY_MS);
    this.#database.run(
      `delete from served where a = ${A} and at < ? and due is null`,
      reader,
      day - DAY_MS,
    );
    for (const { n, isCopy } of servings) {
      const copy = isCopy ? 1 : 0;
      this.#database.run(
        `insert into served (a, n, at, copies, due) select a, ?, ?, ?, ? from agents where name = ? on conflict do update ` +
          "set copies = iif(at < ?, 0, copies) + excluded.copies, at = excluded.at, due = excluded.due",
        ...[n, nowMs, copy, isCopy ? 1 : null, reader, day],
      );
    }
  }

  /** A carrier of ours has these lines. */
  noteCopied(ns: readonly number[]): void {
    for (const n of ns)
      this.#database.run("update served set due = null where n = ? and due = 1", n);
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
    this.#database.run(
      "insert into lives (a, latest) select a, ? from agents where name = ? " +
        "on conflict do update set latest = max(coalesce(latest, excluded.latest), excluded.latest)",
      ...[beat.datedMs, author],
    );
    if (!isAlive) return false;
    this.#database.run(
      `update lives set received = ?, cadence = ?, paused = ? where a = ${A}`,
      ...[beat.receivedMs, beat.cadenceMs ?? null, beat.isPaused ? 1 : 0, author],
    );
    return true;
  }

  #unnamedRows(author: string, first: number, last: number): SqlRow[] {
    return this.#database.all(
      `select n, seq, id, prev, verdict from lines where a = ${A} and ours = 1 and named is null ` +
        "and verdict <> 'mail' and verdict <> 'passed' and seq between ? and ? order by seq, n limit ?",
      ...[author, first, last, MOST_REFUSED_ROWS],
    );
  }

  #nameRefused({ first, last }: RefusedLines): void {
    let id = last.id;
    for (const row of this.#unnamedRows(last.author, first, last.seq).toReversed()) {
      if (idText(row["id"]) !== id) continue;
      this.#database.run("update lines set named = 1 where n = ?", row["n"] ?? null);
      id = row["prev"] === null ? "" : idText(row["prev"]);
    }
  }

  /** The first two lines of an undecided fork that were taken in, as far as our chain has not named them. */
  #forked(author: string): readonly RefusedLines[] {
    const { fork } = this.#chains.whole(author);
    if (fork === null) return [];
    const sql =
      `select id from (select id, received, n from lines where a = ${A} and seq = ? and aside is null union all ` +
      `select id, received, null from waiting where a = ${A} and seq = ? and proven = 1) ` +
      "order by received, n is null, n, id limit 2";
    return this.#database
      .all(sql, author, fork, author, fork)
      .map((row) => ({ author, seq: fork, id: idText(row["id"]) }))
      .filter((place) => !this.hasNamed(place))
      .map((last) => ({ first: fork, last, reason: "log_forked" }));
  }

  /** The lines before those that wait. */
  #gaps(): Lack[] {
    const authors = this.#database.all(
      "select a, name from chains join agents using (a) where waiting > 0 order by name",
    );
    const sql =
      "select seq - 1 as of_seq, prev as of_id, received as named from waiting as behind where a = ? and proven = 1 and seq > 1 " +
      "and not exists (select 1 from lines where a = behind.a and seq = behind.seq - 1 and id = behind.prev) " +
      "and not exists (select 1 from waiting where a = behind.a and seq = behind.seq - 1 and id = behind.prev) " +
      `order by seq, id limit ${MOST_GAPS}`;
    return authors.flatMap(({ a = null, name = null }) =>
      this.#database.all(sql, a).map((row) => lackOf({ ...row, name, of: name })),
    );
  }
}

function lackOf(row: SqlRow): Lack {
  const asked = row["asked"] ?? null;
  return {
    place: { author: String(row["of"]), seq: Number(row["of_seq"]), id: idText(row["of_id"]) },
    namer: String(row["name"]),
    namedMs: Number(row["named"]),
    askedMs: asked === null ? undefined : Number(asked),
  };
}

function isNext(row: SqlRow, before: ChainPlace): boolean {
  return (
    Number(row["seq"]) === before.seq + 1 &&
    row["prev"] !== null &&
    idText(row["prev"]) === before.id
  );
}
