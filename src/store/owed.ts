import { readAsk, readClose } from "../protocol/asks/ask-line.ts";
import { lineAt, type History, type HistoryLine, type Receipt } from "../protocol/asks/history.ts";
import {
  answeringOf,
  looseAnswer,
  obligationOf,
  type ObligationFacts,
  type ObligationKind,
} from "../protocol/asks/obligation.ts";
import { isChained, type Naming, type Place } from "../wire/places.ts";
import { AGENT, idBytes, idStart, IS_AT, PLACE, placeInputs, THREAD } from "./columns.ts";
import { Rows, type SqlInput } from "./database.ts";
import { REPLY } from "./history.ts";

/** A line that somebody owes an answer to. */
export interface OwedAnswer {
  /** Of the line, in the order in which lines were taken in. */
  readonly n: number;
  readonly place: Place;
  readonly by: string;
  readonly kind: ObligationKind;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** Of an ask that our agent has to close: since when who owes the answer has read it and has time. */
  readonly readMs: number | null;
}

type Facts = Omit<ObligationFacts, "receivedMs"> & { readonly self: string };

const ANSWERS: readonly Naming[] = ["answers", "about", "counters"];
const FEW = { from: "first", limit: 16 } as const;
const A_OF = "(select a from agents where name = ?1)";
const BY_US = "owed.by = ?1 and verdict = 'mail'";
const TO_US = `owed.a = ${A_OF}`;
/** Not refused: mail, or a line of ours. */
const IS_ASKED = "verdict in ('mail', 'passed')";
/** Of one line or thread, so many are listed. */
const MOST_LISTED = 256;
/** Of more than so many only that is known: counting costs as much as a peer likes. */
const MOST_COUNTED = 4_096;

/**
 * What our agent owes others and they owe it, emptied by answers in whatever order lines come. Changes belong
 * into a transaction. Spec 3.3.
 */
export class OwedRows extends Rows {
  /** Of a line that is linked since, or was taken in and is in no chain. */
  take(history: History, place: Place, facts: Facts): void {
    const line = lineAt(history, place);
    const receipt = history.receipt(place);
    if (line === undefined || receipt === undefined || line.type === "heartbeat") return;
    this.#fill(history, line, receipt, facts);
    this.#empty(history, line, receipt);
  }

  /** What an agent owes of that which is mail to it; by the order in which it was taken in. */
  owedBy(self: string, after: number, limit: number): readonly OwedAnswer[] {
    return this.#list(`${BY_US} and owed.n > ?`, [self, after], limit);
  }

  /** What others owe an agent. */
  owedTo(self: string, after: number, limit: number): readonly OwedAnswer[] {
    return this.#list(`${TO_US} and owed.n > ?`, [self, after], limit);
  }

  /** The same of both, at most so many between us and each other agent: nobody hides what another one asks. */
  fairShare(self: string, side: "by us" | "to us", each: number): readonly OwedAnswer[] {
    const [us, other] = side === "by us" ? ["by = ?1", "a"] : [`a = ${A_OF}`, "by"];
    const least = `select min(${other}) from owed where ${us}`;
    const others =
      `with recursive others (name) as (${least} union all select (${least} and ${other} > others.name) ` +
      "from others where name is not null) select name from others where name is not null";
    const where = `${side === "by us" ? BY_US : TO_US} and owed.${other} = ?`;
    return this.database
      .column<string | number>(others, self)
      .flatMap((name) => this.#list(where, [self, name], each))
      .toSorted((one, two) => one.n - two.n);
  }

  /** How many they are, and how many of them are late; of many no more than a few thousand are counted. */
  countFor(
    self: string,
    side: "by us" | "to us",
    nowMs: number,
  ): { readonly all: number; readonly late: number } {
    const sql =
      'select count(*) as "all", coalesce(sum(due <= ?2), 0) as late from (select due from owed join lines using (n) ' +
      `where ${side === "by us" ? BY_US : TO_US} limit ${MOST_COUNTED})`;
    return this.database.get(sql, self, nowMs) ?? { all: 0, late: 0 };
  }

  /** What is owed of one line that was taken in, between us and others. */
  ofLine(n: number): readonly OwedAnswer[] {
    return this.#list(`owed.n = ? and ${IS_ASKED}`, [n], MOST_LISTED);
  }

  /** What is owed in a thread, between us and others. */
  inThread(thread: string): readonly OwedAnswer[] {
    const where = `owed.t = ${THREAD} and ${IS_ASKED}`;
    return this.#list(where, [thread], MOST_LISTED);
  }

  /** Incidents that are not acked: those that an agent has raised, or those that it is asked about too. */
  incidents(self: string, which: "raised" | "all", limit: number): readonly OwedAnswer[] {
    const whose = which === "raised" ? TO_US : `(${TO_US} or ${BY_US})`;
    return this.#list(`owed.kind = 'incident' and ${whose}`, [self], limit);
  }

  /** How much one agent owes to another. */
  count(by: string, to: string): number {
    const sql = `select count(*) from owed join lines using (n) where by = ? and owed.a = ${AGENT} and ${IS_ASKED}`;
    return this.database.value(sql, by, to) ?? 0;
  }

  /** One that is no member any more owes nothing, and is owed nothing. */
  forgive(handle: string): void {
    const sql =
      "delete from owed where by = ? or exists (select 1 from lines join agents using (a) where lines.n = owed.n and name = ?)";
    this.database.run(sql, handle, handle);
  }

  #fill(history: History, line: HistoryLine, receipt: Receipt, facts: Facts): void {
    const obligation = obligationOf(line, { ...facts, receivedMs: receipt.atMs });
    if (obligation === undefined) return;
    const { kind, by, dueMs } = obligation;
    const ours = by.filter((handle) => [handle, line.place.author].includes(facts.self));
    for (const handle of ours) {
      if (this.#isAnswered(history, line, receipt, kind, handle)) continue;
      this.database.run(
        "insert or ignore into owed (n, by, a, t, kind, due) select n, ?, a, t, ?, ? from lines where n = ?",
        ...[handle, kind, Math.round(dueMs(handle)), receipt.n],
      );
    }
  }

  /** Whether an answer was taken in before the line that it answers. */
  #isAnswered(
    history: History,
    { place, thread }: HistoryLine,
    { n, atMs }: Receipt,
    kind: ObligationKind,
    by: string,
  ): boolean {
    const isNamed = ANSWERS.some((naming) => history.namers(by, naming, place, FEW).length > 0);
    const isClosed =
      !isChained(place) &&
      history.namers(by, "closes", place, FEW).some((line) => readClose(line) !== undefined);
    if (isNamed || isClosed) return true;
    const isLoosely = history.looseReplies(by, thread).some((reply) => {
      const how = looseAnswer(reply, place);
      const isLater = (history.receipt(reply.place)?.atMs ?? 0) >= atMs;
      return how === "by_name" || (how === "bare" && isLater);
    });
    if (isLoosely || kind === "ask" || kind === "incident") return isLoosely;
    const types = kind === "message" ? "and type in ('ack', 'proposal')" : "";
    const sql =
      `select n from lines where t = (select t from lines where n = ?) and ${REPLY} ${types} ` +
      `and a = ${AGENT} and received >= ? and (branch is not null or seq is null) limit 1`;
    return this.database.has(sql, n, by, atMs);
  }

  #empty(history: History, line: HistoryLine, { n, atMs }: Receipt): void {
    const { places, ids, inThread, ends } = answeringOf(line);
    const by = line.place.author;
    for (const answered of places) {
      const sql = `delete from owed where by = ? and n = (select n from lines where ${IS_AT})`;
      this.database.run(sql, by, ...placeInputs(answered));
    }
    for (const id of ids) {
      const sql =
        "delete from owed where by = ? and t = (select t from lines where n = ?) " +
        "and n in (select n from lines where id_start = ? and id = ?)";
      this.database.run(sql, by, n, idStart(id), idBytes(id));
    }
    if (inThread.length > 0) {
      const sql =
        "delete from owed where by = ? and t = (select t from lines where n = ?) " +
        "and kind in (select value from json_each(?)) " +
        "and exists (select 1 from lines where lines.n = owed.n and received <= ?)";
      this.database.run(sql, by, n, JSON.stringify(inThread), atMs);
    }
    if (ends !== undefined) this.#end(history, line, ends.place, ends.by);
  }

  /** The author of an ask ends it, or resolves an incident. */
  #end(history: History, line: HistoryLine, place: Place, of: string | undefined): void {
    const ended = history.receipt(place);
    const asked = lineAt(history, place);
    if (ended === undefined || asked === undefined) return;
    const ask = readAsk(asked);
    if (ask !== undefined && asked.thread !== line.thread) return;
    // The end of a request says of which party, unless there is only one.
    const isForOne = ask?.is === "request" && !ask.isVoid;
    if (isForOne && of === undefined && ask.parties?.length !== 1) return;
    const sql = "delete from owed where n = ? and by = coalesce(?, by)";
    this.database.run(sql, ended.n, isForOne ? of : null);
  }

  #list(where: string, values: readonly SqlInput[], limit: number): readonly OwedAnswer[] {
    const sql =
      `select owed.n as n, ${PLACE}, by, owed.kind as kind, received as sinceMs, due as dueMs, since as readMs ` +
      "from owed join lines using (n) join agents on agents.a = owed.a " +
      "left join asks on asks.n = owed.n and asks.party in ('', by) " +
      "left join reading on reading.ask = asks.ask and reading.party = by " +
      `where ${where} order by owed.n, by limit ?`;
    return this.database
      .all<Omit<OwedAnswer, "place"> & Place>(sql, ...values, limit)
      .map(({ author, seq, id, ...owed }) => ({ ...owed, place: { author, seq, id } }));
  }
}
