import { HOUR_MS } from "../wire/durations.ts";
import { firstCodePoints } from "../wire/json/code-points.ts";
import { MAX_SUBJECT_CODE_POINTS } from "../wire/limits.ts";
import { Rows } from "./database.ts";

/** Something that our own operator should know; it asks for no ack and starts no safe mode. */
export interface OperatorIncident {
  /** The same matter has the same key, so it is told once. */
  readonly key: string;
  readonly cause: string;
  readonly peer?: string | undefined;
  readonly subject: string;
  readonly detail: string;
  /** `incident_log.jsonl` gets a line about it too. */
  readonly concernsWire?: boolean;
}

/** One that was told. `k` counts them from 1, in the order in which they were told. */
export interface ToldIncident extends Omit<OperatorIncident, "key" | "peer" | "concernsWire"> {
  readonly k: number;
  readonly atMs: number;
  readonly peer: string | null;
}

/** Among ids to mark as read: everything that the operator was told. */
export const INCIDENTS_TOLD = "incident-notices";
/** So many about one peer are told within an hour, then one that says that there are more. */
const MAX_TOLD_PER_HOUR = 6;
/** The texts of so many are kept, the newest ones. */
const MOST_KEPT = 256;
const MAX_DETAIL_CODE_POINTS = 2_000;
const MORE = "more_incidents";
const TOLD = "select k, at as atMs, cause, peer, subject, detail from told";

/**
 * What the operator was told. Keys are kept for good, so that nothing is told twice. Changes belong into a
 * transaction. Spec 3.5.
 */
export class ToldRows extends Rows {
  /** False: it was told before, or its peer's hour is full: then it is told when it is raised again later. */
  add(incident: OperatorIncident, nowMs: number): boolean {
    const { key, cause, peer } = incident;
    if (this.isTold(key)) return false;
    // A matter without a peer counts against its cause: no file that is changed often hides what matters more.
    const who = peer ?? `:${cause}`;
    const sql = "select count(*) from told where who = ? and at > ? and at <= ?";
    const count = this.database.value(sql, who, nowMs - HOUR_MS, nowMs) ?? 0;
    if (count > MAX_TOLD_PER_HOUR) return false;
    if (count < MAX_TOLD_PER_HOUR) this.#insert(incident, who, nowMs);
    else this.#insert(moreIncidents(incident, who, nowMs), who, nowMs);
    return count < MAX_TOLD_PER_HOUR;
  }

  isTold(key: string): boolean {
    return this.database.has("select 1 from told where key = ?", key);
  }

  /** Those that are kept, the oldest first. */
  list(): ToldIncident[] {
    const sql = `${TOLD} where subject is not null order by k desc limit ${MOST_KEPT}`;
    return this.database.all<ToldIncident>(sql).toReversed();
  }

  /** Those of which `incident_log.jsonl` has to get a line, in their order. */
  toPublish(): ToldIncident[] {
    return this.database.all(`${TOLD} where wire = 1 and subject is not null order by k`);
  }

  setPublished(k: number): void {
    this.database.run("update told set wire = 0 where k = ?", k);
  }

  /** How many the operator has not marked as read, and the newest of them. */
  unread(): { readonly unread: number; readonly newest: ToldIncident | undefined } {
    return {
      unread: this.database.value("select count(*) from told where unread = 1") ?? 0,
      newest: this.database.get(`${TOLD} where unread = 1 order by k desc limit 1`),
    };
  }

  /** Returns how many were unread. */
  markRead(): number {
    return this.database.run("update told set unread = 0 where unread = 1").changes;
  }

  /** Lines that `incident_log.jsonl` has to get, as they were signed; `n` of each, in their order. */
  linesToCopy(limit: number): number[] {
    return this.database.column("select n from incident_log order by n limit ?", limit);
  }

  copyLine(n: number): void {
    this.database.run("insert or ignore into incident_log (n) values (?)", n);
  }

  setCopied(n: number): void {
    this.database.run("delete from incident_log where n = ?", n);
  }

  #insert(incident: OperatorIncident, who: string, nowMs: number): void {
    const { key, cause, peer, subject, detail, concernsWire = false } = incident;
    const { rowid: k } = this.database.run(
      "insert into told (key, who, at, cause, peer, subject, detail, wire, unread) values (?, ?, ?, ?, ?, ?, ?, ?, 1)",
      ...[key, who, nowMs, cause, peer],
      firstCodePoints(subject, MAX_SUBJECT_CODE_POINTS),
      firstCodePoints(detail, MAX_DETAIL_CODE_POINTS),
      concernsWire,
    );
    const sql = "update told set subject = null, detail = null, unread = 0 where k = ?";
    this.database.run(sql, k - MOST_KEPT);
  }
}

function moreIncidents(
  { cause, peer }: OperatorIncident,
  who: string,
  nowMs: number,
): OperatorIncident {
  const subject = peer === undefined ? `"${cause}"` : peer;
  return {
    key: `${MORE}:${who}:${nowMs}`,
    cause: peer === undefined ? cause : MORE,
    peer,
    subject: `more incidents about ${subject}`,
    detail:
      `${MAX_TOLD_PER_HOUR} incidents about ${subject} were told within the hour; ` +
      "further ones are not, until there is room: see deaddrop status",
  };
}
