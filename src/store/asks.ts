import {
  askKey,
  moved,
  partsOf,
  readAnswer,
  readAsk,
  readClose,
  takenBy,
  type Ask,
} from "../protocol/asks/ask-line.ts";
import type { OpenAsk } from "../protocol/asks/closing.ts";
import { partClosed, takeVerdict, verdictOf } from "../protocol/asks/closes.ts";
import { MOST_WORDS, WORD_TYPES, type LinkedLine } from "../protocol/asks/history.ts";
import { isLeave, readAfter } from "../protocol/asks/members-change.ts";
import { requestId } from "../protocol/asks/requests.ts";
import type { Verdict } from "../protocol/asks/verdict.ts";
import { field } from "../protocol/body.ts";
import { isSamePlace, type ChainPlace, type Place } from "../wire/places.ts";
import { pathTo, tipAt, type Tip } from "./branches.ts";
import { idBytes, idStartRange, IS_AT, PLACE, placeInputs, THREAD } from "./columns.ts";
import { Rows, type Database } from "./database.ts";
import { afterName, standsAt, StoreHistory, type WordRow } from "./history.ts";
import type { Page } from "./store.ts";

/** Changes of asks are counted. */
const NEXT_CHANGE = "(select coalesce(max(changed), 0) + 1 from asks)";
/** Of each asker so many parts are listed at least. */
const LEAST_OF_ASKER = 8;
/** A thread in which members are changed. */
const ROSTER = "roster:";

/** A line as it was inserted; `t` is its thread. */
interface NewRow {
  readonly n: number;
  readonly t: number;
  readonly type: string;
  readonly place: Place;
}

interface Linked {
  readonly tip: Tip;
  /** It may name places. */
  readonly isNaming: boolean;
  /** Something may have named it before. */
  readonly isAwaited: boolean;
}

/**
 * What follows from the lines of asks, kept in rows that change with each line that is taken in: words of
 * threads, what is asked, which closes stand. What a line changes is its own rows and marks; how much is judged
 * because of it is bounded by `judge`.
 */
export class AskRows extends Rows {
  /** Without the wire's name only questions that do not need it. */
  readonly #history: StoreHistory;

  constructor(database: Database) {
    super(database);
    this.#history = new StoreHistory(database, "");
  }

  /** A line is linked; those before it in its chain are. */
  addLinked({ n, t, type, place, tip, isNaming, isAwaited }: NewRow & Linked): void {
    if (isNaming) this.#raiseKnown(n, tip);
    if (isAwaited) this.#resolveNames(place, tip);
    if (type === "shutdown") this.#addLeave(n, tip);
    if (isWord(type)) this.#addWord(n, t, tip);
    if (isAwaited) this.#wake(place);
  }

  /** A line that is in no chain is held. */
  addLoose({ n, t, type, place }: NewRow): void {
    const line = isWord(type) ? this.#history.line(n) : undefined;
    const ask = line === undefined ? undefined : readAsk(line);
    if (line !== undefined && ask !== undefined) {
      this.#addAsked(n, t, ask, requestId(line));
      const key = askKey(ask, undefined);
      if (key !== undefined) this.#addPart(n, t, ask, key.party);
      // Closes of it may have been held before it.
      const sql =
        "select distinct n from names join thread_words w using (n) where of = ? and of_id = ? " +
        "and naming = 'closes' and w.t = ? and of_seq is null order by w.seq, n";
      const { author, id } = ask.place;
      for (const closing of this.database.column(sql, author, idBytes(id), t))
        this.#addClose(this.#linked(closing), closing, t);
    }
    this.#wake(place);
  }

  /** A line in no chain that names no party is for this agent, so it is asked too. */
  addParty(n: number, party: string): void {
    const ask = this.#ask(n);
    const t = this.database.value("select t from lines where n = ?", n) ?? 0;
    if (ask !== undefined && ask.parties === undefined) this.#addPart(n, t, ask, party);
  }

  /**
   * Judges closes that were taken in, or for which lines have come, at most so many. Returns whether nothing is
   * left to judge. `wireId` is this wire's.
   */
  judge(wireId: string, limit: number): boolean {
    const history = new StoreHistory(this.database, wireId);
    const sql = "select n, subject, ask from verdicts where state = 'due' order by n limit 1";
    for (let judged = 0; ; judged += 1) {
      const row = this.database.get<{ n: number; subject: string; ask: number }>(sql);
      if (row === undefined || judged >= limit) return row === undefined;
      if (row.subject === "take") this.#judgeTake(history, row.n);
      else this.#judgeClose(history, row.n, row.ask);
    }
  }

  /**
   * A live beat of a party says neither busy nor paused: from now on it has to answer what it has read. `whole` is
   * the last line of its chain that is followed, `closer` the agent that asks.
   */
  addReady(closer: string, whole: ChainPlace, nowMs: number): void {
    const party = whole.author;
    // The first condition on the state is the one of the partial index.
    const sql =
      `select ask, parties, asks.party, ${PLACE} from asks join asked using (n) ` +
      "join lines using (n) join agents using (a) where closer = ? and state in ('open', 'waits') and state = 'open' " +
      "and seq is not null and not exists (select 1 from reading where reading.ask = asks.ask and reading.party = ?)";
    type Row = ChainPlace & { ask: number; party: string; parties: string | null };
    for (const row of this.database.all<Row>(sql, closer, party)) {
      const parties = row.party === "" ? parseParties(row.parties) : [row.party];
      const isAsked = parties?.includes(party) === true;
      if (!isAsked || this.#history.firstHead(whole, row, "read") === undefined) continue;
      const insert = "insert into reading (ask, party, since) values (?, ?, ?)";
      this.database.run(insert, row.ask, party, nowMs);
    }
  }

  #raiseKnown(n: number, { a, branch, seq }: Tip): void {
    const sql =
      "select of, max(of_seq) as up_to from names where n = ? and of_seq is not null group by of order by of";
    const last =
      "select up_to from known where a = ? and branch = ? and of = ? order by seq desc limit 1";
    const insert = "insert into known (a, branch, of, seq, up_to) values (?, ?, ?, ?, ?)";
    for (const named of this.database.all<{ of: string; up_to: number }>(sql, n)) {
      if ((this.database.value(last, a, branch, named.of) ?? 0) < named.up_to)
        this.database.run(insert, a, branch, named.of, seq, named.up_to);
    }
  }

  /** Lines that name this one have named a line of this branch; some closes cannot stand any more. */
  #resolveNames({ author, seq, id }: Place, tip: Tip): void {
    const unlinked = "of_id = ? and of = ? and of_seq = ? and of_branch is null";
    const naming = this.database.all<{ a: number; seq: number }>(
      `select names.a as a, min(lines.seq) as seq from names join lines using (n) where ${unlinked} group by names.a order by names.a`,
      ...[idBytes(id), author, seq],
    );
    if (naming.length === 0) return;
    for (const row of naming) {
      for (const part of pathTo(this.database, tip)) {
        const sql =
          "update verdicts set state = 'due' where subject = 'close' and state = 'open' and seq > ? and n in " +
          "(select n from watches where a = ? and of = ? and of_branch = ? and of_seq < ?)";
        this.database.run(sql, row.seq, row.a, author, part.branch, part.seq);
      }
    }
    const sql = `update names set of_branch = ? where ${unlinked}`;
    this.database.run(sql, tip.branch, idBytes(id), author, seq);
  }

  #addLeave(n: number, { a, branch, seq }: Tip): void {
    const line = this.#linked(n);
    if (!isLeave(line)) return;
    const after = readAfter(field(line.body, "after"));
    const name = after === undefined ? "" : afterName(after);
    const sql = "insert into leaves (n, a, branch, seq, after) values (?, ?, ?, ?, ?)";
    this.database.run(sql, n, a, branch, seq, name);
  }

  #addWord(n: number, t: number, tip: Tip): void {
    const { a, branch, seq } = tip;
    const before = this.#history.lastWord(tip, t);
    const nth = (before?.nth ?? 0) + 1;
    if (nth > MOST_WORDS + 1) return;
    const line = this.#linked(n);
    const isRead = nth <= MOST_WORDS;
    if (line.thread === "") return;
    const position = before && standsAt(before);
    const stands = isRead ? moved(position, line) : position;
    const taken = isRead ? takenBy(line) : undefined;
    const ask = isRead ? readAsk(line) : undefined;
    const [taking, other] =
      taken === undefined ? [before?.taking, before?.other] : [n, this.#otherTaken(before, taken)];
    this.database.run(
      "insert into thread_words (n, t, a, branch, seq, nth, asks, stands, stands_seq, stands_id, taking, other) " +
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[n, t, a, branch, seq, nth],
      (before?.asks ?? 0) + (ask === undefined ? 0 : 1),
      ...[stands?.author, stands?.seq, stands && idBytes(stands.id)],
      ...[taking, other],
    );
    if (!isRead) return;
    for (const is of ["proposal", "request"] as const) {
      const answer = readAnswer(line, is);
      if (answer === undefined) continue;
      this.database.run(
        "insert into answers (n, t, a, branch, seq, of, of_seq, of_id, type, approves) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ...[n, t, a, branch, seq, answer.ask.author, answer.ask.seq, idBytes(answer.ask.id)],
        ...[is, answer.approves],
      );
    }
    if (ask !== undefined) {
      this.#addAsked(n, t, ask, requestId(line));
      for (const party of partsOf(ask)) this.#addPart(n, t, ask, party);
    }
    if (taken !== undefined && typeof other === "number" && line.thread.startsWith(ROSTER))
      this.#addVerdict(n, "take", tip);
    if (line.type === "correction") this.#addClose(line, n, t);
  }

  /** The last word that takes another place than this one. */
  #otherTaken(before: WordRow | undefined, taken: Place): number | null {
    const taking = before?.taking ?? null;
    const row = taking === null ? undefined : this.#history.word(taking);
    const place = row && standsAt(row);
    return place !== undefined && isSamePlace(place, taken) ? (row?.other ?? null) : taking;
  }

  #addAsked(
    n: number,
    t: number,
    { is, isVoid, isOfMembers, parties }: Ask,
    name: string | undefined,
  ): void {
    const sql =
      "insert or ignore into asked (n, t, type, void, members, parties, name) values (?, ?, ?, ?, ?, ?, ?)";
    const names = parties === undefined ? null : JSON.stringify(parties);
    this.database.run(sql, n, t, is, isVoid, isOfMembers, names, name);
  }

  #addPart(n: number, t: number, { is, place, isOfMembers }: Ask, party: string): void {
    const sql =
      "insert or ignore into asks (n, party, closer, t, members, changed, kind, asker) " +
      `values (?, ?, ?, ?, ?, ${NEXT_CHANGE}, ?, (select a from lines where n = ?))`;
    const closer = place.seq === null ? party : place.author;
    this.database.run(sql, n, party, closer, t, isOfMembers, is, n);
  }

  #ask(n: number): Ask | undefined {
    const sql =
      `select ${ASK} from asked join lines using (n) join agents using (a) ` +
      "join threads on threads.t = asked.t where n = ?";
    const row = this.database.get<AskRow>(sql, n);
    return row && toAsk(row);
  }

  #addClose(line: LinkedLine, n: number, t: number): void {
    const close = readClose(line);
    const asked =
      close &&
      this.database.value(`select n from lines where ${IS_AT}`, ...placeInputs(close.decides));
    const ask = asked === undefined ? undefined : this.#ask(asked);
    if (close === undefined || asked === undefined || ask === undefined) return;
    const key = partClosed(this.#history, ask, { line, close });
    const tip = tipAt(this.database, line.place);
    if (key === undefined || tip === undefined) return;
    this.#addPart(asked, t, ask, key.party);
    const part = "select ask from asks where n = ? and party = ?";
    const found = this.database.value(part, asked, key.party);
    this.#addVerdict(n, "close", tip, { part: found, outcome: close.outcome });
  }

  #addVerdict(
    n: number,
    subject: "close" | "take",
    { branch, seq }: Tip,
    close?: { readonly part: number | undefined; readonly outcome: string },
  ): void {
    const sql =
      "insert or ignore into verdicts (n, subject, ask, branch, seq, outcome) values (?, ?, ?, ?, ?, ?)";
    this.database.run(sql, n, subject, close?.part, branch, seq, close?.outcome);
  }

  #judgeTake(history: StoreHistory, n: number): void {
    const line = this.#linked(n);
    this.#setVerdict(n, "take", takeVerdict(history, line), line.place);
  }

  #judgeClose(history: StoreHistory, n: number, part: number): void {
    const line = this.#linked(n);
    const tip = tipAt(this.database, line.place);
    const close = readClose(line);
    const sql = "select n, party from asks where ask = ?";
    const asked = this.database.get<{ n: number; party: string }>(sql, part);
    const ask = asked && this.#ask(asked.n);
    if (tip === undefined || close === undefined || ask === undefined)
      throw new Error(`line ${n} is no close`);
    if (this.#hasEarlierClose(part, tip)) {
      this.database.run(
        "update verdicts set state = 'behind' where n = ? and subject = 'close'",
        n,
      );
      this.#wake(line.place);
      return;
    }
    const parties = asked?.party ? [asked.party] : (ask.parties ?? []);
    const verdict = verdictOf(history, ask, parties, { line, close });
    this.#setVerdict(n, "close", verdict, line.place);
    if (verdict === "no") this.#dueBehind(part);
    if (typeof verdict !== "string") {
      for (const { at } of close.entries) this.#watch(n, tip.a, at);
    }
    this.#refresh(part);
  }

  #hasEarlierClose(part: number, tip: Tip): boolean {
    const sql =
      "select 1 as found from verdicts where ask = ? and branch = ? and seq <= ? and seq < ? and state <> 'no' limit 1";
    return pathTo(this.database, tip).some(({ branch, seq }) =>
      this.database.has(sql, part, branch, seq, tip.seq),
    );
  }

  /** The next close on each branch, now that one before it is invalid. */
  #dueBehind(part: number): void {
    const sql =
      "update verdicts set state = 'due' where subject = 'close' and n in (select n from " +
      "(select n, min(seq) from verdicts where ask = ? and state = 'behind' group by branch))";
    this.database.run(sql, part);
  }

  #watch(n: number, a: number, at: Place | undefined): void {
    if (at?.seq === null || at === undefined) return;
    const party = tipAt(this.database, { ...at, seq: at.seq });
    if (party === undefined) return;
    const sql = "insert into watches (a, of, of_branch, of_seq, n) values (?, ?, ?, ?, ?)";
    this.database.run(sql, a, at.author, party.branch, party.seq, n);
  }

  #setVerdict(n: number, subject: "close" | "take", verdict: Verdict, place: Place): void {
    const state = typeof verdict === "string" ? verdict : "open";
    const sql = "update verdicts set state = ? where n = ? and subject = ?";
    this.database.run(sql, state, n, subject);
    this.database.run("delete from waits where n = ? and subject = ?", n, subject);
    if (subject === "close") this.database.run("delete from watches where n = ?", n);
    if (typeof verdict === "string") {
      this.#wake(place);
      return;
    }
    for (const { author, seq, id } of verdict.lacks) {
      const insert = "insert into waits (of, of_seq, of_id, n, subject) values (?, ?, ?, ?, ?)";
      this.database.run(insert, author, seq, idBytes(id), n, subject);
    }
  }

  /** What waits for a line, or for its verdict, can be judged again. */
  #wake({ author, seq, id }: Place): void {
    const sql =
      "update verdicts set state = 'due' where state = 'open' and (n, subject) in " +
      "(select n, subject from waits where of_id = ? and of = ? and of_seq is ?)";
    this.database.run(sql, idBytes(id), author, seq);
  }

  /** Says of a part of an ask what its closes make of it. */
  #refresh(part: number): void {
    const first = this.database.all<{ n: number; state: string; outcome: string }>(
      "select v.n as n, v.state as state, v.outcome as outcome from verdicts v join lines using (n) where ask = ? and v.state in ('yes', 'open') " +
        "order by v.state = 'open', v.seq, lines.id",
      part,
    );
    const valid = first.filter((row) => row.state === "yes");
    const outcomes = new Set(valid.map((row) => row.outcome));
    const [outcome = first.length === 0 ? "open" : "waits"] = outcomes;
    const state = outcomes.size > 1 ? "contested" : outcome;
    const sql =
      `update asks set state = ?, close = ?, changed = ${NEXT_CHANGE} ` +
      "where ask = ? and (state <> ? or close is not ?)";
    const close = valid[0]?.n;
    this.database.run(sql, state, close, part, state, close);
  }

  /** What an agent has to close, in the order in which it was asked; only of one thread if that is given. */
  open(closer: string, thread?: string): OpenAsk[] {
    const inThread = thread === undefined ? "" : `and asks.t = ${THREAD}`;
    const standing =
      "select 1 from verdicts where verdicts.ask = asks.ask and verdicts.state <> 'no'";
    const sql =
      `${PART} where closer = ? and asks.state in ('open', 'waits') ${inThread} ` +
      `and not exists (${standing}) order by asks.ask`;
    const reading = "select party, since from reading where ask = ? order by party";
    const verdict = "select 1 as found from verdicts where ask = ? limit 1";
    const inputs = thread === undefined ? [closer] : [closer, thread];
    return this.database.all<PartRow>(sql, ...inputs).map((row) => {
      const { ask, party } = toPart(row);
      const ready = this.database.all<{ party: string; since: number }>(reading, row.part);
      const isPart = party !== "" && ask.place.seq !== null;
      return {
        ask: isPart ? { ...ask, parties: [party] } : ask,
        of: isPart ? party : undefined,
        isLive: row.isLive,
        readySince: new Map(ready.map((each) => [each.party, each.since])),
        hasUnproved: this.database.has(verdict, row.part),
      };
    });
  }

  /** Parts of asks of one thread, in the order in which they were asked. */
  ofThread(thread: string, limit: number): AskPart[] {
    return this.#parts(`where asks.t = ${THREAD} order by asks.ask limit ?`, thread, limit);
  }

  /** Parts by the last change of their state, the earliest first; `after` is the `changed` of the page before. */
  changed({ after, limit }: Page): AskPart[] {
    const which = "where asks.changed > ? order by asks.changed, asks.ask limit ?";
    return this.#parts(which, after, limit);
  }

  /**
   * The newest parts of asks of that type, and the newest that are not settled, of each asker so many that they are
   * about `limit` together; in the order in which they were asked.
   */
  newest(type: Ask["is"], limit: number): AskPart[] {
    const next = "select min(asker) from asks where kind = ?1";
    const askers = this.database.column(
      `with recursive askers (a) as (${next} union all select (${next} and asker > askers.a) from askers ` +
        "where askers.a is not null) select a from askers where a is not null",
      type,
    );
    const each = Math.max(LEAST_OF_ASKER, Math.floor(limit / Math.max(1, askers.length)));
    const unsettled = "and state in ('open', 'waits', 'contested')";
    const newest = (where: string): string =>
      `select * from (select ask from asks where kind = ?1 and asker = ?2 ${where} order by ask desc limit ?3)`;
    const sql = `${PART} where asks.ask in (${newest("")} union ${newest(unsettled)})`;
    return askers
      .flatMap((a) => this.database.all<PartRow>(sql, type, a, each))
      .toSorted((one, other) => one.part - other.part)
      .map(toPart);
  }

  /** Parts of asks whose `request_id` or event id begins so, a few; in the order in which they were asked. */
  withPrefix(prefix: string, limit: number): AskPart[] {
    if (!/^[0-9a-f]{1,128}$/u.test(prefix)) return [];
    const named = "select n from asked where name >= ?1 and name < ?1 || 'g' limit ?2";
    const byId =
      "select n from lines join asked using (n) where id_start between ?3 and ?4 and hex(id) like ?1 || '%' limit ?2";
    const which = `where asks.n in (select * from (${named}) union select * from (${byId})) order by asks.ask limit ?2`;
    return this.#parts(which, prefix, limit, ...idStartRange(prefix));
  }

  #parts(which: string, ...values: (string | number)[]): AskPart[] {
    return this.database.all<PartRow>(`${PART} ${which}`, ...values).map(toPart);
  }

  #linked(n: number): LinkedLine {
    return this.#history.line(n) as LinkedLine;
  }
}

const ASK =
  `${PLACE}, threads.name as thread, asked.type as type, asked.parties as parties, asked.void as isVoid, ` +
  "asked.members as isOfMembers";
const PART =
  `select asks.ask as part, asks.party as party, asks.state as state, asks.changed as changed, lines.live as isLive, ` +
  `lines.received as receivedMs, ${ASK} ` +
  "from asks join asked using (n) join lines using (n) join agents using (a) join threads on threads.t = asks.t";

/** A part of an ask that is decided by itself. */
export interface AskPart {
  readonly ask: Ask;
  /** Of a request, and of an ask in no chain: the one that answers; empty for all. */
  readonly party: string;
  readonly state: "open" | "waits" | "approved" | "ended" | "contested";
  /** Counts changes of the states of all asks: that of its last one. */
  readonly changed: number;
  readonly receivedMs: number;
}

interface AskRow extends Place, Pick<Ask, "thread" | "isVoid" | "isOfMembers"> {
  readonly type: Ask["is"];
  readonly parties: string | null;
}

interface PartRow extends AskRow, Omit<AskPart, "ask"> {
  readonly part: number;
  readonly isLive: boolean;
}

function toPart(row: PartRow): AskPart {
  const { party, state, changed, receivedMs } = row;
  return { ask: toAsk(row), party, state, changed, receivedMs };
}

function toAsk({ author, seq, id, thread, type, parties, isVoid, isOfMembers }: AskRow): Ask {
  const place = { author, seq, id };
  return { place, thread, is: type, parties: parseParties(parties), isVoid, isOfMembers };
}

function parseParties(names: string | null): readonly string[] | undefined {
  return names === null ? undefined : (JSON.parse(names) as string[]);
}

/** Whether it is a line that can ask, answer or close: others are not parsed. */
function isWord(type: string): boolean {
  return WORD_TYPES.some((each) => each === type);
}
