import { DAY_MS } from "../wire/durations.ts";
import type { Database } from "./database.ts";

/** A name that a caller gives to a send, so that a repeated call sends nothing. Spec 8.1. */
export interface SendKey {
  readonly name: string;
  /** SHA-256, in hex, of all that the caller asks for. */
  readonly digest: string;
}

/** What was sent under a key. */
export interface KeyedSend {
  readonly digest: string;
  /** Milliseconds of Unix time. */
  readonly sentMs: number;
  /** `n` of the lines, in their order. */
  readonly ns: readonly number[];
}

const KEY_LIFETIME_MS = DAY_MS;
const MOST_KEYS = 4_096;
/** For each place of the wire so many steps are kept; earlier lines count as published at the first of them. */
const MOST_STEPS = 256;

/**
 * What became of our own lines beside the wire: under which key they were sent, and since when each place of the
 * wire holds them. Changes belong into a transaction of the store.
 */
export class Sends {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** What a key means now; undefined when it is free, or free again after 24 hours. */
  find(name: string, nowMs: number): KeyedSend | undefined {
    const row = this.#database.get("select * from sends where key = ?", name);
    if (row === undefined || Number(row["at"]) + KEY_LIFETIME_MS <= nowMs) return undefined;
    return {
      digest: String(row["digest"]),
      sentMs: Number(row["at"]),
      ns: JSON.parse(String(row["ns"])) as number[],
    };
  }

  /** Binds a key to lines of the same transaction. The key is free, or this throws. Forgets the oldest keys. */
  bind({ name, digest }: SendKey, ns: readonly number[], nowMs: number): void {
    this.#database.run("delete from sends where at <= ?", nowMs - KEY_LIFETIME_MS);
    this.#database.run(
      "insert into sends (key, digest, at, ns) values (?, ?, ?, ?)",
      ...[name, digest, nowMs, JSON.stringify(ns)],
    );
    const oldest = "select at from sends order by at desc limit 1 offset ?";
    this.#database.run(`delete from sends where at < (${oldest})`, MOST_KEYS - 1);
  }

  /** Up to which number of our chain carriers in a place of the wire hold it; 0: nothing is known. */
  publishedThrough(place: string): number {
    const sql = "select max(through) as through from published where place = ?";
    return Number(this.#database.get(sql, place)?.["through"] ?? 0);
  }

  /** Carriers in a place of the wire hold our chain up to a number that is higher than before. */
  notePublished(place: string, through: number, nowMs: number): void {
    const sql = "insert into published (place, through, since) values (?, ?, ?)";
    this.#database.run(sql, place, through, nowMs);
    const older =
      "select through from published where place = ?1 order by through desc limit -1 offset ?2";
    this.#database.run(
      `delete from published where place = ?1 and through in (${older})`,
      ...[place, MOST_STEPS],
    );
  }

  /** Since when a place of the wire holds a line of our chain, ms of Unix time; undefined: not yet. */
  publishedMs(place: string, seq: number): number | undefined {
    const sql =
      "select since from published where place = ? and through >= ? order by through limit 1";
    const row = this.#database.get(sql, place, seq);
    return row === undefined ? undefined : Number(row["since"]);
  }
}
