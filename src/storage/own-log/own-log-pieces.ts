import { createHash } from "node:crypto";
import type { ChainHead } from "../../wire/chain.ts";
import { parseObject } from "../../wire/json/json.ts";
import { MAX_LINE_BYTES } from "../../wire/limits.ts";
import type { DiskFile } from "../disk/disk.ts";
import { isBlank, wholeLines } from "../disk/line-splitter.ts";
import type { OwnLine } from "./pending.ts";

/** What is in our own log, in order; blank lines and rubbish of others left out. */
export type Piece =
  /** One of the expected lines, whole, by its index. */
  | { readonly kind: "own"; readonly index: number; readonly start: number }
  /** Another whole JSON object; `own`: its place in our chain, when it carries our valid signature. */
  | {
      readonly kind: "other";
      readonly bytes: Uint8Array;
      readonly own: ChainHead | undefined;
      readonly start: number;
    }
  /** What is left of expected lines; `length` in bytes, newlines included. */
  | { readonly kind: "damage"; readonly length: number; readonly start: number };

/** Says of a line that it is chained, carries our valid signature, and where in the chain it is. */
export type OwnLineCheck = (line: Uint8Array) => ChainHead | undefined;

/** Our lines begin with their timestamp to the microsecond and end in their signature. */
const TELLING_BYTES = 48;

/** Reads the end of our own log (from offset `from`) for the lines that are expected there. */
export function* piecesOf(
  file: DiskFile,
  from: number,
  expected: readonly OwnLine[],
  check: OwnLineCheck,
): Generator<Piece> {
  const { size } = file.stat();
  const orderByHash = new Map(expected.map((own, index) => [hashOf(own.line), index]));
  const lines = wholeLines(file, from, size);
  let step = lines.next();
  for (; step.done !== true; step = lines.next()) {
    const { bytes: whole, start, end } = step.value;
    if (whole === undefined || isBlank(whole)) continue;
    const index = orderByHash.get(hashOf(whole));
    if (index !== undefined) {
      yield { kind: "own", index, start };
      continue;
    }
    const own = check(whole);
    if (own === undefined && looksLikeOne(whole, expected)) {
      // A hole of ours swallows its newline, too: what somebody else wrote behind it may be whole.
      const hole = whole.lastIndexOf(0) + 1;
      const bytes = whole.subarray(hole);
      const isWhole = hole > 0 && parseObject(bytes).ok && !orderByHash.has(hashOf(bytes));
      yield { kind: "damage", length: end - start - (isWhole ? bytes.length + 1 : 0), start };
      if (isWhole) yield { kind: "other", bytes, own: check(bytes), start };
    } else if (parseObject(whole).ok) yield { kind: "other", bytes: whole, own, start };
  }
  const rest = step.value;
  const tail = file.read(Math.min(MAX_LINE_BYTES, size - rest), rest);
  if (isOurTail(tail, expected)) yield { kind: "damage", length: size - rest, start: rest };
}

function isOurTail(tail: Uint8Array, expected: readonly OwnLine[]): boolean {
  if (tail.length === 0) return false;
  const isBeginning = expected.some(({ line }) => commonPrefix(tail, line) === tail.length);
  return isBeginning || looksLikeOne(tail, expected);
}

/** A damaged form of one of these lines: a hole of zero bytes (JSON has none), or its begin or end. */
function looksLikeOne(bytes: Uint8Array, expected: readonly OwnLine[]): boolean {
  if (expected.length > 0 && bytes.includes(0)) return true;
  return expected.some(
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

/** Hex SHA-256. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
