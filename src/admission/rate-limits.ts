import type { Tier } from "../trust/tiers.ts";
import { MINUTE_MS, DAY_MS } from "../wire/durations.ts";

/** After silence a peer may send this many minutes' worth at once. Spec 2.4. */
const BURST_MINUTES = 10;

/** What one peer may make us store in a day. Spec 2.4. @internal */
export const STORAGE_BYTES_PER_DAY = 64 * 1024 * 1024;

/**
 * One peer's token bucket. It gains `limitPerMinute` tokens a minute and holds at most
 * `BURST_MINUTES` times that; a peer that we have just met may send one minute's worth. Times are
 * of our monotonic clock, in milliseconds.
 */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** The bucket of a peer that we have just met. */
export function newBucket(limitPerMinute: number, nowMs: number): Bucket {
  return { tokens: limitPerMinute, atMs: nowMs };
}

/**
 * Whether a line costs its sender a token: live lines other than beats, from anyone but a TRUSTED peer.
 * Acks and incidents do too, since both become mail. Spec 2.3, 2.4.
 */
export function costsToken(type: string, live: boolean, tier: Tier | undefined): boolean {
  if (!live || tier === "TRUSTED") return false;
  return type !== "heartbeat";
}

/** One token taken at `nowMs`; when `ok` is false the line stays unread in the peer's log. */
export function take(
  bucket: Bucket,
  nowMs: number,
  limitPerMinute: number,
): { readonly ok: boolean; readonly bucket: Bucket } {
  const filled = refill(bucket, nowMs, limitPerMinute);
  if (filled.tokens < 1) return { ok: false, bucket: filled };
  return { ok: true, bucket: { tokens: filled.tokens - 1, atMs: filled.atMs } };
}

/** Milliseconds from `nowMs` until a token is there: 0 when one is, infinite when none will be. */
export function waitForToken(bucket: Bucket, nowMs: number, limitPerMinute: number): number {
  const { tokens } = refill(bucket, nowMs, limitPerMinute);
  if (tokens >= 1) return 0;
  return Math.ceil(((1 - tokens) * MINUTE_MS) / limitPerMinute);
}

function refill(bucket: Bucket, nowMs: number, limitPerMinute: number): Bucket {
  // A clock that went back gives nothing and takes nothing.
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  const gained = (elapsedMs * limitPerMinute) / MINUTE_MS;
  return {
    tokens: Math.min(bucket.tokens + gained, BURST_MINUTES * limitPerMinute),
    atMs: Math.max(bucket.atMs, nowMs),
  };
}

/** What one peer has made us store on one UTC day (days since 1970). */
export interface StorageUse {
  readonly day: number;
  readonly bytes: number;
}

/**
 * Charges `bytes` to the peer's allowance of the day of `nowMs` (our wall clock). When `ok` is
 * false the line stays unread until the next day. A clock set back stays in the day it was in, so
 * it grants nothing twice. Spec 2.4.
 */
export function store(
  use: StorageUse,
  nowMs: number,
  bytes: number,
): { readonly ok: boolean; readonly use: StorageUse } {
  const today = Math.floor(nowMs / DAY_MS);
  const current = today > use.day ? { day: today, bytes: 0 } : use;
  const total = current.bytes + bytes;
  if (total > STORAGE_BYTES_PER_DAY) return { ok: false, use: current };
  return { ok: true, use: { day: current.day, bytes: total } };
}

/** The same when our wall clock was set back to `nowMs`: what was used up counts for that day. */
export function setDayBack(use: StorageUse, nowMs: number): StorageUse {
  return { ...use, day: Math.min(use.day, Math.floor(nowMs / DAY_MS)) };
}
