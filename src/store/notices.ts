import { sha256Hex } from "../wire/canonical.ts";
import { HOUR_MS } from "../wire/durations.ts";
import { Rows } from "./database.ts";

/** What a notice is about. Spec 3.12. */
export type NoticeKind =
  | ("approved" | "rejected" | "ended" | "withdrawn" | "disputed" | "agreed_not_closed")
  | ("claim_contested" | "claim_lost" | "claim_kept")
  | ("claim_alone" | "claim_granted" | "claim_denied")
  | ("escalated" | "safe_mode_begun" | "safe_mode_ended")
  | ("refused" | "mail_waits")
  | ("peer_held" | "peer_silent" | "peer_back")
  | ("members_changed" | "roster_forked")
  | ("plan_asks" | "more_notices");

/**
 * What the local agent must know and no line says by itself: one sentence of the daemon's own words, as it
 * stands in `notices.jsonl`.
 */
export interface Notice {
  /** ISO-8601, UTC. */
  readonly at: string;
  /** `n-` and 12 hex digits: it cannot be taken for an event id. */
  readonly id: string;
  readonly kind: NoticeKind;
  /** An event id, or a handle and an instant: what tells occasions apart. */
  readonly about: string;
  readonly text: string;
}

/** One that was told; `m` counts them in the order in which they were told, from 1. */
export interface HeldNotice extends Notice {
  readonly m: number;
  readonly isRead: boolean;
}

/** Something that may become a notice. */
export interface Matter extends Pick<Notice, "kind" | "about" | "text"> {
  /** Whose hour it counts against; undefined: there is no limit. */
  readonly peer: string | undefined;
}

/** An ask, or one party's part of a request, that is looked at again. */
export interface Watched {
  /** The line that asks. */
  readonly n: number;
  /** Empty: it is decided for all parties together. */
  readonly party: string;
  /** Who closes it. */
  readonly closer: string;
}

/** So many about one peer are told within an hour, then one that says that there are more. */
const MAX_PER_HOUR = 6;
const ID_DIGITS = 12;

/**
 * What the agent was told. Matters are kept for good, so that nothing is told twice. Changes belong into a
 * transaction. Spec 3.12.
 */
export class NoticeRows extends Rows {
  /** False: it was told before, or is left out because its peer's hour is full. */
  add(matter: Matter, nowMs: number): boolean {
    const { kind, about, peer } = matter;
    const sql = "select 1 from notices where kind = ? and about = ?";
    if (this.database.has(sql, kind, about)) return false;
    const count = peer === undefined ? 0 : this.#countHour(peer, nowMs);
    if (count < MAX_PER_HOUR || peer === undefined) this.#insert(matter, nowMs);
    else if (count === MAX_PER_HOUR) this.#insert(moreNotices(peer, nowMs), nowMs);
    return count < MAX_PER_HOUR;
  }

  /** False: nothing that counts against that peer's hour is told now. */
  hasRoom(peer: string | undefined, nowMs: number): boolean {
    return peer === undefined || this.#countHour(peer, nowMs) <= MAX_PER_HOUR;
  }

  /** Notices behind a number, in order. */
  after(m: number, limit: number): HeldNotice[] {
    return this.#list("where m > ? order by m limit ?", m, limit);
  }

  /** The newest ones, oldest first. */
  newest(limit: number, isUnreadOnly: boolean): HeldNotice[] {
    const which = isUnreadOnly ? "where unread = 1 " : "";
    return this.#list(`${which}order by m desc limit ?`, limit).toReversed();
  }

  /** Number of the first one with that id. */
  numberOf(id: string): number | undefined {
    return this.database.value("select min(m) from notices where id = ?", id);
  }

  oldestUnread(): number | undefined {
    return this.database.value("select min(m) from notices where unread = 1");
  }

  /** Number of the one that was told last; 0 when none was. */
  last(): number {
    return this.database.value("select max(m) from notices") ?? 0;
  }

  countUnread(): number {
    return this.database.value("select count(*) from notices where unread = 1") ?? 0;
  }

  /** Returns how many of them were unread. */
  markRead(ids: readonly string[] | "all"): number {
    const sql = "update notices set unread = null where unread = 1";
    if (ids === "all") return this.database.run(sql).changes;
    return ids.reduce((sum, id) => sum + this.database.run(`${sql} and id = ?`, id).changes, 0);
  }

  /** Looks at an ask again then; one that is watched already is not put off. */
  watch({ n, party, closer }: Watched, dueMs: number): void {
    const sql =
      "insert into watched (n, party, closer, due) values (?, ?, ?, ?) " +
      "on conflict do update set due = min(due, excluded.due)";
    this.database.run(sql, n, party, closer, Math.ceil(dueMs));
  }

  /** Puts off a watched ask until then; without a time it is not looked at again. */
  putOff({ n, party }: Watched, dueMs: number | undefined): void {
    if (dueMs === undefined)
      this.database.run("delete from watched where n = ? and party = ?", n, party);
    else {
      const sql = "update watched set due = ? where n = ? and party = ?";
      this.database.run(sql, Math.ceil(dueMs), n, party);
    }
  }

  /** Makes all that an agent has to close due at once. */
  hasten(closer: string): void {
    this.database.run("update watched set due = 0 where closer = ?", closer);
  }

  /** Watched asks that are due, the earliest first. */
  due(nowMs: number, limit: number): Watched[] {
    const sql =
      "select n, party, closer from watched where due <= ? order by due, n, party limit ?";
    return this.database.all(sql, nowMs, limit);
  }

  #countHour(peer: string, nowMs: number): number {
    const sql = "select count(*) from notices where peer = ? and at > ? and at <= ?";
    return this.database.value(sql, peer, nowMs - HOUR_MS, nowMs) ?? 0;
  }

  #insert({ kind, about, text, peer }: Matter, nowMs: number): void {
    const id = `n-${sha256Hex(Buffer.from(`${kind} ${about}`, "utf8")).slice(0, ID_DIGITS)}`;
    this.database.run(
      "insert or ignore into notices (kind, about, id, at, peer, text, unread) values (?, ?, ?, ?, ?, ?, 1)",
      ...[kind, about, id, nowMs, peer, text],
    );
  }

  #list(which: string, ...values: number[]): HeldNotice[] {
    const sql = `select m, at, id, kind, about, text, unread is null as isRead from notices ${which}`;
    return this.database
      .all<Omit<HeldNotice, "at"> & { at: number }>(sql, ...values)
      .map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
  }
}

function moreNotices(peer: string, nowMs: number): Matter {
  return {
    kind: "more_notices",
    about: `${peer} ${new Date(nowMs).toISOString()}`,
    text:
      `There were more than ${MAX_PER_HOUR} notices about ${peer} within the hour, so further ones are left out: ` +
      "deaddrop proposals and deaddrop sent show what became of everything.",
    peer,
  };
}
