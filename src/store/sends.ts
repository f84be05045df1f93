import type { ExtraLine } from "../carriers/publisher.ts";
import { DAY_MS, MINUTE_MS } from "../wire/durations.ts";
import { Rows } from "./database.ts";

/** An idempotency key: a repeated call with the same name sends nothing. Spec 8.1. */
export interface SendKey {
  readonly name: string;
  /** SHA-256, in hex, of all that the caller asks for. */
  readonly digest: string;
}

/** What was sent under an idempotency key. */
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
/** So long a carrier may take to get an extra line; one that is wanted later is wanted again. */
const EXTRA_LIFETIME_MS = 10 * MINUTE_MS;

/** Under which idempotency keys our own lines were sent, and since when each place of the wire holds them. */
export class Sends extends Rows {
  /** What a key means now; undefined when it is free, or free again after 24 hours. */
  find(name: string, nowMs: number): KeyedSend | undefined {
    const sql = "select digest, at as sentMs, ns from sends where key = ? and at > ?";
    const row = this.database.get<Omit<KeyedSend, "ns"> & { ns: string }>(
      sql,
      name,
      nowMs - KEY_LIFETIME_MS,
    );
    return row && { ...row, ns: JSON.parse(row.ns) as number[] };
  }

  /** Binds a key to lines of the same transaction. The key is free, or this throws. Forgets the oldest keys. */
  bind({ name, digest }: SendKey, ns: readonly number[], nowMs: number): void {
    this.database.run("delete from sends where at <= ?", nowMs - KEY_LIFETIME_MS);
    this.database.run(
      "insert into sends (key, digest, at, ns) values (?, ?, ?, ?)",
      ...[name, digest, nowMs, JSON.stringify(ns)],
    );
    const oldest = "select at from sends order by at desc limit 1 offset ?";
    this.database.run(`delete from sends where at < (${oldest})`, MOST_KEYS - 1);
  }

  /** Up to which number of our chain carriers in a place of the wire hold it; 0: nothing is known. */
  publishedThrough(place: string): number {
    return this.database.value("select max(through) from published where place = ?", place) ?? 0;
  }

  /** Carriers in a place of the wire hold our chain up to a number that is higher than before. */
  notePublished(place: string, through: number, nowMs: number): void {
    const sql = "insert into published (place, through, since) values (?, ?, ?)";
    this.database.run(sql, place, through, nowMs);
    const older =
      "select through from published where place = ?1 order by through desc limit -1 offset ?2";
    this.database.run(
      `delete from published where place = ?1 and through in (${older})`,
      ...[place, MOST_STEPS],
    );
  }

  /** Since when a place of the wire holds a line of our chain, ms of Unix time; undefined: not yet. */
  publishedMs(place: string, seq: number): number | undefined {
    const sql =
      "select since from published where place = ? and through >= ? order by through limit 1";
    return this.database.value(sql, place, seq);
  }
}

/**
 * Lines that our carriers get beside our chain: beats in no chain, and copies of lines that others lack.
 * Spec 3.2.1, 3.2.4.
 */
export class Extras extends Rows {
  add(bytes: Uint8Array, nowMs: number): void {
    this.database.run(
      "delete from extras where at < ? or at > ?",
      nowMs - EXTRA_LIFETIME_MS,
      nowMs,
    );
    this.database.run("insert into extras (at, bytes) values (?, ?)", nowMs, bytes);
  }

  after(e: number): ExtraLine[] {
    return this.database.all("select e, bytes from extras where e > ? order by e", e);
  }
}
