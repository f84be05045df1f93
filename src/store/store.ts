import { StorageError } from "../storage/disk/disk.ts";
import { namingBy, type ChainPlace, type NamedPlace, type Place } from "../wire/places.ts";
import { MINUTE_MS } from "../wire/durations.ts";
import { parseObject } from "../wire/json/json.ts";
import type { History } from "../protocol/asks/history.ts";
import { AskRows } from "./asks.ts";
import { AuditRows } from "./audit.ts";
import { ClaimRows } from "./claims.ts";
import { TierRows } from "./tiers.ts";
import { DecisionRows } from "./decisions.ts";
import { EscalationRows } from "./escalations.ts";
import { StoreHistory } from "./history.ts";
import { Beats, noteLacks } from "./beats.ts";
import {
  AGENT,
  idBytes,
  idStart,
  idStartRange,
  IS_AT,
  optionalId,
  PLACE,
  placeInputs,
  THREAD,
} from "./columns.ts";
import { Chains, type ChainEnd } from "./chains.ts";
import { KeyChangeRows, NamedKeys } from "./keys.ts";
import { Leftovers } from "./leftovers.ts";
import { Mail } from "./mail.ts";
import { Database, Rows, type SqlInput } from "./database.ts";
import { linkHeads } from "./heads.ts";
import type { Tip } from "./branches.ts";
import { NoticeRows } from "./notices.ts";
import { OwedRows } from "./owed.ts";
import { SCHEMA, SCHEMA_VERSION } from "./schema.ts";
import { Extras, Sends } from "./sends.ts";
import { Tally } from "./tally.ts";
import { setBack } from "./set-back.ts";
import { ToldRows } from "./told.ts";

/** A line to hold. */
export interface NewLine extends Place {
  /** The id of the line before it in its chain. */
  readonly prev: string | null;
  /** Each place that it names, when it is in a chain. */
  readonly names: readonly NamedPlace[];
  readonly thread: string;
  readonly type: string;
  /** What its author says, milliseconds of Unix time. */
  readonly sentMs: number;
  /** When it was taken in, milliseconds of Unix time. */
  readonly receivedMs: number;
  /** It was not there when reading began: deadlines, wakes and incidents may follow from it. */
  readonly isLive: boolean;
  /** It is addressed to our agent. */
  readonly isOurs: boolean;
  /** Of high priority, or an incident. */
  readonly isUrgent: boolean;
  /** The key id that it states; null for an unsigned line. */
  readonly keyId: string | null;
  /** Its signature is valid under that key. */
  readonly isVerified: boolean;
  /** As it was signed, without the newline. */
  readonly bytes: Uint8Array;
  /** What a search finds it by; none for a line that nobody searches. */
  readonly words?: { readonly subject: string; readonly body: string };
  /** As \`Chains.endBefore\` has just found it: then nothing about its place is asked again. */
  readonly end?: ChainEnd | undefined;
}

/** A line that is held. `n` counts lines in the order in which they were taken in, from 1. */
export interface HeldLine extends Omit<NewLine, "words" | "names" | "end"> {
  readonly n: number;
  /** Which branch of its author's chain it is in; null while it is not linked down to the first line. */
  readonly branch: number | null;
  /** Null before it is judged: `mail`, `passed` for what is taken and for somebody else, or why it is none. */
  readonly verdict: string | null;
  /** Of mail: which one it is in the order of delivery, from 1. */
  readonly delivered: number | null;
  readonly isUnread: boolean;
  /** A key that was revoked has signed it, or it is on a branch that the operator does not follow. */
  readonly aside: "struck" | "rejected" | null;
}

/** What became of a line that was to be held. */
interface Held {
  readonly n: number;
  /** False: it was held already. */
  readonly isNew: boolean;
  /** Lines that are linked since, itself and those that were held before it, in the order of their numbers. */
  readonly linked: readonly number[];
}

interface ThreadRow {
  readonly thread: string;
  readonly lines: number;
  readonly unread: number;
  /** `n` of its last line. */
  readonly last: number;
}

/** A part of a list: what follows `after`, at most `limit`. */
export interface Page {
  readonly after: number;
  readonly limit: number;
}

const SELECT =
  `select n, ${PLACE}, ${optionalId("lines.prev")} as prev, branch, threads.name as thread, type, sent as sentMs, ` +
  "received as receivedMs, live as isLive, ours as isOurs, urgent as isUrgent, key as keyId, " +
  "verified as isVerified, verdict, delivered, lines.unread as isUnread, aside, bytes " +
  "from lines join agents using (a) join threads using (t)";
const THREADS = "select name as thread, lines, unread, last from threads where";
const HEARTBEAT = "heartbeat";
/** Lines behind one that is dated ahead, that are looked at. */
const MOST_FOLLOWERS = 64;
const DATED_AHEAD_MS = 5 * MINUTE_MS;

/**
 * Every line that one agent holds of one wire, and all that it privately knows besides its keys and
 * settings. Reads see what is committed. Returned lines are copies.
 */
export class Store extends Rows {
  readonly asks = new AskRows(this.database);
  readonly chains = new Chains(this.database);
  readonly namedKeys = new NamedKeys(this.database);
  readonly leftovers = new Leftovers(this.database);
  readonly extras = new Extras(this.database);
  readonly mail = new Mail(this.database);
  readonly claims = new ClaimRows(this.database);
  readonly decisions = new DecisionRows(this.database);
  readonly audit = new AuditRows(this.database);
  readonly escalations = new EscalationRows(this.database);
  readonly owed = new OwedRows(this.database);
  readonly sends = new Sends(this.database);
  readonly tally = new Tally(this.database);
  readonly keyChanges = new KeyChangeRows(this.database);
  readonly tiers = new TierRows(this.database);
  readonly told = new ToldRows(this.database);
  readonly notices = new NoticeRows(this.database);
  readonly #writer = new StoreWriter(this.database, this);

  /** Over an open database; makes its tables when it has none. */
  constructor(database: Database) {
    super(database);
    if (!this.#hasTables()) database.write(() => this.#makeTables());
    this.#requireVersion();
  }

  /** @throws StorageError */
  static open(path: string): Store {
    return new Store(Database.open(path));
  }

  /** Only reads work; nothing is made. @throws StorageError */
  static openToRead(path: string): Store {
    return new Store(Database.openToRead(path));
  }

  /** A copy of a store as of its last commit; another process may write meanwhile. @throws StorageError */
  static copy(path: string, to: string): void {
    const database = Database.openToRead(path);
    try {
      database.copyTo(to);
    } finally {
      database.close();
    }
  }

  get path(): string {
    return this.database.path;
  }

  /** One transaction; nothing else of this agent is changed meanwhile. @throws StorageError */
  write<T>(change: (into: StoreWriter) => T): T {
    return this.database.write(() => change(this.#writer));
  }

  /**
   * What was received later than now, by a wall clock that was set back since, is received now. True: something
   * was. `nowMs` is whole. Spec 4.9.
   */
  setBack(nowMs: number): boolean {
    return setBack(this.database, nowMs);
  }

  close(): void {
    this.database.close();
  }

  /** The lines that outcomes are judged by. `wireId` is this wire's. */
  history(wireId: string): History {
    return new StoreHistory(this.database, wireId);
  }

  /** What the beats of the agent follow from whose store this is. */
  beats(self: string): Beats {
    return new Beats(this.database, this.chains, self);
  }

  line(n: number): HeldLine | undefined {
    return this.database.get(`${SELECT} where n = ?`, n);
  }

  lineAt(place: Place): HeldLine | undefined {
    return this.database.get(`${SELECT} where ${IS_AT}`, ...placeInputs(place));
  }

  /** Each line that an author has signed with a number: more than one where its chain is forked. */
  linesNumbered(author: string, seq: number): HeldLine[] {
    return this.#list(`a = ${AGENT} and seq = ? order by n`, author, seq);
  }

  /** Lines of an author's chain behind a number, in the order of their numbers. */
  chain(author: string, { after, limit }: Page): HeldLine[] {
    return this.#list(`a = ${AGENT} and seq > ? order by seq, n limit ?`, author, after, limit);
  }

  /** Lines, beats excepted, whose id begins so; in the order of their ids. */
  withIdPrefix(prefix: string, limit: number): HeldLine[] {
    if (!/^[0-9a-f]{1,64}$/.test(prefix)) return [];
    return this.#list(
      `id_start between ? and ? and type <> '${HEARTBEAT}' and hex(id) like ? order by lines.id, n limit ?`,
      ...idStartRange(prefix),
      `${prefix}%`,
      limit,
    );
  }

  /** All lines in the order in which they were taken in. */
  lines({ after, limit }: Page): HeldLine[] {
    return this.#list(`n > ? order by n limit ?`, after, limit);
  }

  /**
   * Accepted lines of type `incident`, in the order in which they were taken in: of each author the newest ones.
   *
   * @param which `owed`: only those to which somebody owes an answer that we owe or are owed
   */
  incidentLines(which: "all" | "owed", ofEach: number): HeldLine[] {
    const owed = "n in (select n from owed where kind = 'incident') and";
    const numbered =
      "select n, row_number() over (partition by a order by n desc) as nth from lines " +
      `where type = 'incident' and ${which === "owed" ? owed : ""} verdict in ('mail', 'passed')`;
    return this.#list(`n in (select n from (${numbered}) where nth <= ?) order by n`, ofEach);
  }

  /** `n` of the line that was taken in last; 0 when none is held. */
  lastN(): number {
    return this.database.value("select max(n) from lines") ?? 0;
  }

  /** Lines of a chain that one of these keys may have signed, and that others vouch for alone. */
  unverified(author: string, keyIds: readonly string[], limit: number): HeldLine[] {
    return this.#list(
      `a = ${AGENT} and verified = 0 and key in (select value from json_each(?)) order by n limit ?`,
      author,
      JSON.stringify(keyIds),
      limit,
    );
  }

  /** Authors of lines outside of a linked chain that have no verdict yet. */
  unjudgedAuthors(): string[] {
    const sql =
      "select name from agents where exists (select 1 from lines where lines.a = agents.a and verdict is null " +
      "and branch is null) order by name";
    return this.database.column<string>(sql);
  }

  /** Such lines of one author, in the order in which they were taken in. */
  unjudged(author: string, limit: number): HeldLine[] {
    const which = `a = ${AGENT} and verdict is null and branch is null order by n limit ?`;
    return this.#list(which, author, limit);
  }

  /** Lines of an author in no chain, in the order in which they were taken in. */
  loose(author: string, { after, limit }: Page): HeldLine[] {
    return this.#list(
      `a = ${AGENT} and seq is null and n > ? order by n limit ?`,
      author,
      after,
      limit,
    );
  }

  /** `n` of the last line of an author in no chain; 0 when there is none. */
  lastLoose(author: string): number {
    const sql = `select max(n) from lines where a = ${AGENT} and seq is null`;
    return this.database.value(sql, author) ?? 0;
  }

  /** When the last line of an author was received; 0 when none was. */
  lastReceivedMs(author: string): number {
    const sql = `select received from lines where a = ${AGENT} and seq is not null order by seq desc limit 1`;
    return this.database.value(sql, author) ?? 0;
  }

  /** As the last line of an author's chain states it; undefined without one. */
  lastTimestamp(author: string): string | undefined {
    const sql = `select bytes from lines where a = ${AGENT} and seq is not null order by seq desc limit 1`;
    const bytes = this.database.value<Uint8Array>(sql, author);
    const parsed = bytes && parseObject(bytes);
    const timestamp = parsed?.ok === true ? parsed.value["timestamp"] : undefined;
    return typeof timestamp === "string" ? timestamp : undefined;
  }

  /**
   * Whether a line that follows this one is not dated ahead of its own receipt: one that descends from it, or
   * for one in no chain any such line that was taken in later.
   */
  isFollowedInTime(
    {
      n,
      author,
      seq,
      id,
      receivedMs,
    }: Pick<HeldLine, "n" | "author" | "seq" | "id" | "receivedMs">,
    { skewMs, withinMs }: { readonly skewMs: number; readonly withinMs: number },
  ): boolean {
    const sql =
      `select ${PLACE} from lines join agents using (a) where a = ${AGENT} and aside is null and ` +
      "(live = 0 or sent <= received + ?) and received <= ? and " +
      (seq === null ? "seq is null and n > ?" : "seq > ? order by lines.seq") +
      ` limit ${MOST_FOLLOWERS}`;
    const until = receivedMs + withinMs;
    const followers = this.database.all<ChainPlace>(sql, author, skewMs, until, seq ?? n);
    if (seq === null) return followers.length > 0;
    return followers.some((follower) => this.chains.descends(follower, { author, seq, id }));
  }

  /** `n` of the newest lines of an author's chain that are no beats, the newest first. */
  newestSaid(author: string, limit: number): number[] {
    const sql =
      `select n from lines where a = ${AGENT} and seq is not null ` +
      `and type <> '${HEARTBEAT}' order by seq desc limit ?`;
    return this.database.column(sql, author, limit);
  }

  /** The operator takes what this author has dated ahead, as far as it waits. Within a transaction. */
  acceptDates(author: string): void {
    const sql =
      "insert or ignore into dates_accepted (n) select n from lines " +
      `where a = ${AGENT} and verdict is null and sent > received`;
    this.database.run(sql, author);
  }

  isDateAccepted(n: number): boolean {
    return this.database.has("select 1 from dates_accepted where n = ?", n);
  }

  /** The first line of a chain for our agent that has no verdict yet; undefined: none waits. */
  firstUndecided(author: string): HeldLine | undefined {
    const sql =
      `${SELECT} where a = ${AGENT} and ours = 1 and verdict is null ` +
      "and seq is not null order by seq, n limit 1";
    return this.database.get(sql, author);
  }

  /** Whether an authentic line of a chain is held, or waits. */
  hasChain(author: string): boolean {
    const sql =
      "select exists (select 1 from lines where a = agents.a and seq >= 1) or " +
      "exists (select 1 from waiting where a = agents.a and proven = 1) from agents where name = ?";
    return this.database.value(sql, author) === 1;
  }

  thread(name: string, { after, limit }: Page): HeldLine[] {
    return this.#list(
      `t = ${THREAD} and n > ? and type <> '${HEARTBEAT}' order by n limit ?`,
      name,
      after,
      limit,
    );
  }

  /** The newest lines of a thread, the oldest of them first. */
  newestOfThread(name: string, limit: number): HeldLine[] {
    const which = `t = ${THREAD} and type <> '${HEARTBEAT}' order by n desc limit ?`;
    return this.#list(which, name, limit).toReversed();
  }

  threadRow(name: string): ThreadRow | undefined {
    return this.database.get(`${THREADS} name = ? and lines > 0`, name);
  }

  /** Threads by their last line, the latest first. `before` is the `last` of the page before. */
  threads(before: number, limit: number): ThreadRow[] {
    const sql = `${THREADS} last < ? and lines > 0 order by last desc limit ?`;
    return this.database.all(sql, before, limit);
  }

  /** Lines that hold words beginning with each of those asked for, the latest first. */
  search(
    asked: string,
    { before, limit }: { readonly before: number; readonly limit: number },
  ): HeldLine[] {
    const words = asked.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
    if (words.length === 0) return [];
    const query = words.map((word) => `"${word}"*`).join(" ");
    const sql =
      "select rowid from words where words match ? and rowid < ? order by rowid desc limit ?";
    return this.database.column(sql, query, before, limit).flatMap((n) => this.line(n) ?? []);
  }

  cursor(carrier: string): string | undefined {
    return this.database.value<string>("select value from cursors where carrier = ?", carrier);
  }

  meta(name: string): string | undefined {
    return this.database.value<string>("select value from meta where name = ?", name);
  }

  #list(which: string, ...values: SqlInput[]): HeldLine[] {
    return this.database.all(`${SELECT} where ${which}`, ...values);
  }

  #hasTables(): boolean {
    const sql = "select name from sqlite_schema where type = 'table' and name = 'meta'";
    return this.database.has(sql);
  }

  #makeTables(): void {
    // Another process may have been first.
    if (this.#hasTables()) return;
    this.database.runAll(SCHEMA);
    this.#writer.setMeta("version", String(SCHEMA_VERSION));
  }

  #requireVersion(): void {
    const version = this.meta("version");
    if (version === String(SCHEMA_VERSION)) return;
    throw new StorageError("corrupt", this.database.path, `its tables are of version ${version}`, {
      hint: `this program reads version ${SCHEMA_VERSION}: use the one that wrote it, or move the file away`,
    });
  }
}

/** A line that gets its branch, or has just got it. */
interface NewLink extends Pick<NewLine, "type" | "id" | "prev" | "keyId" | "isVerified"> {
  readonly n: number;
  readonly t: number;
  readonly seq: number;
}

/** What a transaction may change. */
export class StoreWriter extends Rows {
  readonly #asks: AskRows;
  readonly #mail: Mail;
  readonly #tally: Tally;

  constructor(database: Database, { asks, mail, tally }: Pick<Store, "asks" | "mail" | "tally">) {
    super(database);
    this.#asks = asks;
    this.#mail = mail;
    this.#tally = tally;
  }

  /**
   * Holds a line. One that is held already keeps the `n` that it has. Of the beats of an author that are in
   * no chain only the one that is dated latest is kept.
   */
  hold(line: NewLine): Held {
    const { end } = line;
    const a = end?.a ?? this.#agent(line.author);
    const known = end === undefined ? this.#known(a, line) : undefined;
    if (known !== undefined) return { n: known, isNew: false, linked: [] };
    if (line.seq === null && line.type === HEARTBEAT) {
      const of = `where a = ? and seq is null and type = '${HEARTBEAT}'`;
      // One that is dated ahead, as by a clock that was wrong, does not keep others away.
      const sql = `select n from lines ${of} and sent >= ? and sent <= received + ${DATED_AHEAD_MS}`;
      const later = this.database.value(sql, a, line.sentMs);
      if (later !== undefined) return { n: later, isNew: false, linked: [] };
      this.database.run(`delete from lines ${of}`, a);
    }
    const t = this.#thread(line.thread, line.type !== HEARTBEAT);
    const branch = end?.branch ?? this.#branchFor(a, line);
    const { rowid: n } = this.database.run(
      "insert into lines (a, seq, prev, branch, id, id_start, t, type, sent, received, live, ours, urgent, key, verified, bytes) " +
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[
        a,
        line.seq,
        line.prev && idBytes(line.prev),
        branch,
        idBytes(line.id),
        idStart(line.id),
        t,
      ],
      ...[line.type, line.sentMs, line.receivedMs, line.isLive, line.isOurs, line.isUrgent],
      ...[line.keyId, line.isVerified, line.bytes],
    );
    this.#tally.add(line.type, Math.min(line.sentMs, line.receivedMs));
    if (line.words !== undefined) {
      this.database.run(
        "insert into words (rowid, subject, body) values (?, ?, ?)",
        n,
        line.words.subject,
        line.words.body,
      );
    }
    const { seq } = line;
    if (seq === null) {
      if (line.type !== HEARTBEAT) this.#asks.addLoose({ n, t, type: line.type, place: line });
      return { n, isNew: true, linked: [] };
    }
    this.#nameAll(n, a, line);
    const isAwaited = this.#isAwaited({ ...line, seq });
    noteLacks(this.database, { ...line, n, a, seq }, { ...line, isAwaited });
    if (branch === undefined) return { n, isNew: true, linked: [] };
    return { n, isNew: true, linked: this.#link(a, { ...line, n, t, seq, branch, isAwaited }) };
  }

  /** States why a line is no mail. */
  setVerdict(n: number, verdict: string): void {
    this.database.run("update lines set verdict = ? where n = ?", verdict, n);
  }

  /** Makes lines mail, as the next ones in the order of delivery. None of them is mail yet. */
  deliver(...ns: readonly number[]): void {
    this.#mail.deliver(ns);
  }

  /** A copy of a line has shown that it is for our agent: it is judged again. */
  setOurs(n: number): void {
    const sql =
      "update lines set ours = 1, verdict = case verdict when 'passed' then null else verdict end where n = ?";
    this.database.run(sql, n);
  }

  /** A copy whose signature is valid takes the place of one whose signature is not. */
  verify(n: number, { bytes, keyId }: Pick<NewLine, "bytes" | "keyId">): void {
    const sql = "update lines set bytes = ?, key = ?, verified = 1 where n = ?";
    this.database.run(sql, bytes, keyId, n);
    const linked = "select a, branch, seq from lines where n = ? and branch is not null";
    const tip = this.database.get<Tip>(linked, n);
    if (tip !== undefined) this.#noteSigner(tip, { keyId, isVerified: true });
  }

  /** Which keys have signed lines of a branch, and up to where. */
  #noteSigner(
    { a, branch, seq }: Tip,
    { keyId, isVerified }: Pick<NewLine, "keyId" | "isVerified">,
  ): void {
    if (keyId === null || !isVerified) return;
    const sql =
      "insert into signers (a, branch, key, last) values (?, ?, ?, ?) " +
      "on conflict (a, branch, key) do update set last = max(last, excluded.last)";
    this.database.run(sql, a, branch, keyId, seq);
  }

  /** Marks lines as read; returns how many of them were unread. */
  markRead(ns: readonly number[]): number {
    return this.#mail.markRead(ns);
  }

  setCursor(carrier: string, value: string): void {
    this.database.run(
      "insert or replace into cursors (carrier, value) values (?, ?)",
      carrier,
      value,
    );
  }

  dropCursor(carrier: string): void {
    this.database.run("delete from cursors where carrier = ?", carrier);
  }

  /** Any other state of which there is one: a snapshot, a generation. */
  setMeta(name: string, value: string): void {
    this.database.run("insert or replace into meta (name, value) values (?, ?)", name, value);
  }

  #nameAll(n: number, a: number, { names, type }: NewLine): void {
    for (const { place, naming, read } of names) {
      this.database.run(
        "insert into names (n, a, of, of_seq, of_id, naming, read, of_branch) values (?, ?, ?, ?, ?, ?, ?, " +
          `(select branch from lines where a = ${AGENT} and seq = ? and id = ?))`,
        ...[n, a, place.author, place.seq, idBytes(place.id), namingBy(type, naming), read],
        ...[place.author, place.seq, idBytes(place.id)],
      );
    }
  }

  /** Whether anything that is held refers to a line that is new: most lines are referred to by nothing yet. */
  #isAwaited({ author, seq, id }: ChainPlace): boolean {
    const sql =
      "select 1 where exists (select 1 from wanted where of = ?1 and of_seq = ?2 and of_id = ?3) " +
      "or exists (select 1 from names where of_id = ?3 and of_branch is null and of_seq is not null) " +
      "or exists (select 1 from waits where of_id = ?3)";
    return this.database.has(sql, author, seq, idBytes(id));
  }

  /** Links a line that has its branch, and lines behind it that were held before it. */
  #link(
    a: number,
    first: NewLink &
      Pick<NewLine, "author" | "end" | "names"> & { branch: number; isAwaited: boolean },
  ): number[] {
    const { author } = first;
    const done: number[] = [];
    const linked: NewLink[] = [first];
    for (let each = linked.pop(); each !== undefined; each = linked.pop()) {
      const { seq, id } = each;
      const branch = each === first ? first.branch : this.#branchFor(a, each);
      if (branch === undefined) continue;
      if (each !== first)
        this.database.run("update lines set branch = ? where n = ?", branch, each.n);
      const isNaming = each !== first || first.names.length > 0;
      const isAwaited = each !== first || first.isAwaited;
      linkHeads(this.database, { ...each, a, id: idBytes(id), isNaming, isAwaited });
      const [place, tip] = [
        { author, seq, id },
        { a, branch, seq },
      ];
      this.#asks.addLinked({ ...each, place, tip, isNaming, isAwaited });
      this.#noteSigner(tip, each);
      done.push(each.n);
      if (first.end !== undefined) return done;
      const next =
        `select n, t, type, seq, lower(hex(id)) as id, ${optionalId("prev")} as prev, key as keyId, ` +
        "verified as isVerified from lines where a = ? and seq = ? and prev = ? order by n desc";
      linked.push(...this.database.all<NewLink>(next, a, seq + 1, idBytes(id)));
    }
    return done;
  }

  /** The branch of a line that follows one that is linked, or is the first; otherwise undefined. */
  #branchFor(a: number, { seq, prev }: Pick<NewLine, "seq" | "prev">): number | undefined {
    if (seq === null) return undefined;
    let parent: number | undefined;
    if (seq > 1) {
      const row = this.database.get<{ branch: number; isTaken: boolean }>(
        "select branch, exists (select 1 from lines as other where other.a = lines.a and other.seq = lines.seq + 1 " +
          "and other.branch = lines.branch) as isTaken " +
          "from lines where a = ? and seq = ? and id = ? and branch is not null",
        ...[a, seq - 1, prev && idBytes(prev)],
      );
      if (row === undefined || !row.isTaken) return row?.branch;
      parent = row.branch;
    }
    const last = this.database.value("select max(branch) from branches where a = ?", a) ?? -1;
    const sql = "insert into branches (a, branch, parent, fork) values (?, ?, ?, ?)";
    this.database.run(sql, a, last + 1, parent, seq - 1);
    return last + 1;
  }

  #known(a: number, { seq, id }: NewLine): number | undefined {
    const sql = "select n from lines where id_start = ? and id = ? and seq is ? and a = ?";
    return this.database.value(sql, idStart(id), idBytes(id), seq, a);
  }

  #agent(name: string): number {
    return (
      this.database.value("select a from agents where name = ?", name) ??
      this.database.run("insert into agents (name) values (?)", name).rowid
    );
  }

  /** The thread of a line that is inserted next, and counts in it. */
  #thread(name: string, isCounted: boolean): number {
    const counted =
      "insert into threads (name, lines, last) " +
      "select ?, 1, coalesce(max(seq), 0) + 1 from sqlite_sequence where name = 'lines' " +
      "on conflict (name) do update set lines = lines + 1, last = excluded.last returning t";
    const other =
      "insert into threads (name) values (?) on conflict (name) do update set name = name returning t";
    return this.database.change<{ t: number }>(isCounted ? counted : other, name).t;
  }
}
