import { AGENT, idBytes, idStart, THREAD } from "./columns.ts";
import { Rows, type SqlInput } from "./database.ts";

/** Which mail is meant; all of it by default. */
export interface MailQuery {
  readonly unread?: boolean | undefined;
  /** Of high priority, or an incident. */
  readonly urgent?: boolean | undefined;
  readonly from?: string | undefined;
  readonly thread?: string | undefined;
  /** A whole event id. */
  readonly id?: string | undefined;
}

/** How much of an author's mail is unread. */
export interface Unread {
  readonly author: string;
  readonly count: number;
  /** Of high priority, or an incident. */
  readonly urgent: number;
  /** Which one the last of them is in the order of delivery. */
  readonly last: number;
}

interface MailRow {
  readonly a: number;
  readonly t: number;
  readonly urgent: number;
}

/**
 * The inbox as questions: a page costs what it shows, however much is unread behind it. Spec
 * 4.6.
 */
export class Mail extends Rows {
  /** `n` of the mail behind a number of the order of delivery, the oldest first. */
  after(query: MailQuery, after: number, limit: number): number[] {
    return this.#select(query, "delivered > ?", after, "delivered", limit);
  }

  /** `n` of the newest mail before a number, the newest first. */
  before(query: MailQuery, before: number, limit: number): number[] {
    return this.#select(query, "delivered < ?", before, "delivered desc", limit);
  }

  /** How much of it lies behind a number. What is unread as a whole is known without counting. */
  count(query: MailQuery, after = 0): number {
    const { unread, urgent: isUrgent, from, thread, id } = query;
    const isWhole = after === 0 && thread === undefined && id === undefined;
    if (isWhole && unread === true) {
      const counted = this.unread().filter(({ author }) => from === undefined || author === from);
      const rows = counted.map(({ count, urgent }) => (isUrgent === true ? urgent : count));
      return rows.reduce((sum, count) => sum + count, 0);
    }
    if (isWhole && from === undefined && isUrgent !== true) return this.last();
    const { where, values } = conditions(query, "delivered > ?", after);
    return this.database.value(`select count(*) from lines where ${where}`, ...values) ?? 0;
  }

  /** Which one the last is in the order of delivery; 0 when there is none. */
  last(): number {
    const sql = "select max(delivered) from lines where delivered is not null";
    return this.database.value(sql) ?? 0;
  }

  /** Authors of unread mail, by name. */
  unread(): Unread[] {
    return this.database.all(
      "select name as author, count, urgent, last from unread join agents using (a) where count > 0 order by name",
    );
  }

  /** `n` of unread mail behind a number, urgent mail first, each in the order of delivery. */
  fresh(after: number, limit: number): number[] {
    const sql =
      "select n from lines where unread = 1 and delivered > ? order by urgent desc, delivered limit ?";
    return this.database.column(sql, after, limit);
  }

  /** `n` of an author's unread mail up to a number of its chain; of an unchained line's author: all taken in before it. */
  unreadUpTo(author: string, at: { readonly seq: number | null; readonly n: number }): number[] {
    const sql =
      `select n from lines where unread = 1 and a = ${AGENT} and ` +
      (at.seq === null ? "n <= ?" : "(seq <= ? or seq is null) and n <= ?") +
      " order by n";
    const values = at.seq === null ? [at.n] : [at.seq, at.n];
    return this.database.column(sql, author, ...values);
  }

  /** Within a transaction: the next ones in the order of delivery. Not to be called twice for a line. */
  deliver(ns: readonly number[]): void {
    const sql =
      "update lines set verdict = 'mail', delivered = ?, unread = 1 where n = ? returning a, t, urgent";
    const authors = new Map<number, { count: number; urgent: number; last: number }>();
    const threads = new Map<number, number>();
    let last = ns.length === 0 ? 0 : this.last();
    for (const n of ns) {
      last += 1;
      const { a, t, ...row } = this.database.change<MailRow>(sql, last, n);
      const { count, urgent } = authors.get(a) ?? { count: 0, urgent: 0 };
      authors.set(a, { count: count + 1, urgent: urgent + row.urgent, last });
      threads.set(t, (threads.get(t) ?? 0) + 1);
    }
    for (const [a, unread] of authors)
      this.database.run(
        "insert into unread (a, count, urgent, last) values (?, ?, ?, ?) on conflict (a) do update set " +
          "count = count + excluded.count, urgent = urgent + excluded.urgent, last = excluded.last",
        ...[a, unread.count, unread.urgent, unread.last],
      );
    for (const [t, count] of threads)
      this.database.run("update threads set unread = unread + ? where t = ?", count, t);
  }

  /** Within a transaction: marks mail as read; returns how much of it was unread. */
  markRead(ns: readonly number[]): number {
    let marked = 0;
    for (const n of ns) {
      const sql =
        "update lines set unread = null where n = ? and unread = 1 returning a, t, urgent";
      const [row] = this.database.all<MailRow>(sql, n);
      if (row === undefined) continue;
      const author = "update unread set count = count - 1, urgent = urgent - ? where a = ?";
      this.database.run(author, row.urgent, row.a);
      this.database.run("update threads set unread = unread - 1 where t = ?", row.t);
      marked += 1;
    }
    return marked;
  }

  /** Within a transaction: all that is unread. */
  markAllRead(): number {
    const count = this.count({ unread: true });
    this.database.run("update lines set unread = null where unread = 1");
    this.database.run("update unread set count = 0, urgent = 0");
    this.database.run("update threads set unread = 0 where unread > 0");
    return count;
  }

  #select(query: MailQuery, bound: string, at: number, order: string, limit: number): number[] {
    const { where, values } = conditions(query, bound, at);
    const sql = `select n from lines where ${where} order by ${order} limit ?`;
    return this.database.column(sql, ...values, limit);
  }
}

function conditions(
  { unread, urgent, from, thread, id }: MailQuery,
  bound: string,
  at: number,
): { readonly where: string; readonly values: SqlInput[] } {
  const parts: [string, ...SqlInput[]][] = [[bound, at]];
  if (unread === true) parts.push(["unread = 1"]);
  if (urgent === true) parts.push(["urgent = 1"]);
  if (from !== undefined) parts.push([`a = ${AGENT}`, from]);
  if (thread !== undefined) parts.push([`t = ${THREAD}`, thread]);
  if (id !== undefined) parts.push(["id_start = ? and id = ?", idStart(id), idBytes(id)]);
  return {
    where: parts.map(([sql]) => sql).join(" and "),
    values: parts.flatMap(([, ...values]) => values),
  };
}
