import { createHash } from "node:crypto";
import type { ChainHead } from "../wire/chain.ts";
import { parseObject } from "../wire/json.ts";
import { MAX_LINE_BYTES } from "../wire/limits.ts";
import type { DiskFile } from "./disk.ts";
import { isBlank, wholeLines } from "./line-splitter.ts";
import type { OwnLine } from "./pending.ts";

/** What stands in our own log after the part that is known to be durable. */
export interface OwnLogScan {
  /** How many of the expected lines stand there whole, in order, and where. */
  readonly places: readonly number[];
  /** Our own damage begins here: to be cut and restored. */
  readonly cutAt: number | undefined;
  /** Damage with lines after it that we could not restore. */
  readonly unrestorable: number | undefined;
  /** Lines with our valid signature that are not among the expected ones. */
  readonly unexpected: readonly ChainHead[];
}

/** Says of a line that it is chained, carries our valid signature, and where in the chain it is. */
export type OwnLineCheck = (line: Uint8Array) => ChainHead | undefined;

/** Our lines begin with their timestamp to the microsecond and end in their signature. */
const TELLING_BYTES = 48;

/**
 * Compares the end of our own log (from offset `from`) with the lines that pending expects there.
 * Lines of other programs and their fragments may lie between: they stay, unless they follow our
 * own damage, which then cannot be cut. Spec 4.1, Append.
 */
export function scanOwnLog(
  file: DiskFile,
  from: number,
  expected: readonly OwnLine[],
  check: OwnLineCheck,
): OwnLogScan {
  const { size } = file.stat();
  const orderByHash = new Map(expected.map((own, index) => [hashOf(own.line), index]));
  const places: number[] = [];
  const unexpected: ChainHead[] = [];
  let damageAt: number | undefined;
  let outOfOrderAt: number | undefined;
  let lastOther: number | undefined;

  const lines = wholeLines(file, from, size);
  let step = lines.next();
  for (; step.done !== true; step = lines.next()) {
    const { bytes, start } = step.value;
    if (bytes === undefined || isBlank(bytes)) continue;
    const index = expected.length === 0 ? undefined : orderByHash.get(hashOf(bytes));
    if (index === places.length) {
      places.push(start);
      // In their order after it: what looked damaged before was somebody else's.
      damageAt = undefined;
    } else if (index !== undefined) {
      if (index > places.length) outOfOrderAt ??= start;
    } else {
      const own = check(bytes);
      if (own !== undefined) unexpected.push(own);
      if (own === undefined && looksLikeOne(bytes, expected.slice(places.length)))
        damageAt ??= start;
      else if ((damageAt ?? outOfOrderAt) !== undefined && parseObject(bytes).ok) lastOther = start;
    }
  }
  const rest = step.value;
  const missing = expected.slice(places.length);
  const tail = file.read(Math.min(MAX_LINE_BYTES, size - rest), rest);
  if (isOurTail(tail, missing)) damageAt ??= rest;
  const cutAt = missing.length === 0 ? undefined : earliest(damageAt, outOfOrderAt);
  if (cutAt === undefined) return { places, cutAt, unrestorable: undefined, unexpected };
  const blocked = lastOther !== undefined && lastOther > cutAt;
  return {
    places: places.filter((place) => place < cutAt),
    cutAt: blocked ? undefined : cutAt,
    unrestorable: blocked ? cutAt : undefined,
    unexpected,
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

function isOurTail(tail: Uint8Array, missing: readonly OwnLine[]): boolean {
  if (tail.length === 0) return false;
  const isBeginning = missing.some(({ line }) => commonPrefix(tail, line) === tail.length);
  return isBeginning || looksLikeOne(tail, missing);
}

/** A damaged form of one of these lines: a hole of zero bytes (JSON has none), or its begin or end. */
function looksLikeOne(bytes: Uint8Array, missing: readonly OwnLine[]): boolean {
  if (missing.length === 0) return false;
  if (bytes.includes(0)) return true;
  return missing.some(
    ({ line }) =>
      commonPrefix(bytes, line) >= TELLING_BYTES || commonSuffix(bytes, line) >= TELLING_BYTES,
  );
}

function commonPrefix(a: Uint8Array, b: Uint8Array): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}

function commonSuffix(a: Uint8Array, b: Uint8Array): number {
  let length = 0;
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) {
    length += 1;
  }
  return length;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
