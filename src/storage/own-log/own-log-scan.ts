import type { ChainHead } from "../../wire/chain.ts";
import type { DiskFile } from "../disk/disk.ts";
import { hashOf, piecesOf, type OwnLineCheck, type Piece } from "./own-log-pieces.ts";
import type { OwnLine } from "./pending.ts";

/** What is in our own log after the part that is known to be durable. */
export interface OwnLogScan {
  /** How many of the expected lines are there whole, in order, and where. */
  readonly places: readonly number[];
  /** Our own damage begins here: to be cut, if there is any. */
  readonly cutAt: number | undefined;
  /** What has to be appended then: expected lines, and between them what others had written there. */
  readonly missing: readonly OwnLine[];
  /** Damage with more behind it than we carry over. */
  readonly unrestorable: number | undefined;
  /** Lines with our valid signature that are not among the expected ones. */
  readonly unexpected: readonly ChainHead[];
}

/** A flood behind our own damage must not take our memory: beyond this the operator is asked. */
const MAX_CARRIED_BYTES = 4 * 1024 * 1024;

/**
 * Compares the end of our own log (from offset `from`) with the lines that pending owes it. Lines
 * of other programs and their fragments may be between: they stay, and what of them is a whole
 * JSON object stays also when it follows our own damage. Spec 4.1, Append.
 */
export function scanOwnLog(
  file: DiskFile,
  from: number,
  owed: readonly OwnLine[],
  check: OwnLineCheck,
): OwnLogScan {
  const expected = owed.filter((own) => own.foreign !== true);
  const carriedBefore = new Map(
    owed.filter((own) => own.foreign === true).map((own) => [hashOf(own.line), own]),
  );
  const places: number[] = [];
  const unexpected: ChainHead[] = [];
  let damageAt: number | undefined;
  let outOfOrderAt: number | undefined;
  let behind: Piece[] = [];
  let carriedBytes = 0;

  for (const piece of piecesOf(file, from, expected, check)) {
    if (piece.kind === "damage") damageAt ??= piece.start;
    else if (piece.kind === "own") {
      if (piece.index > places.length) outOfOrderAt ??= piece.start;
      else if (piece.index === places.length) {
        places.push(piece.start);
        // In their order after it: what looked damaged before was somebody else's.
        if (outOfOrderAt === undefined) {
          damageAt = undefined;
          behind = [];
          carriedBytes = 0;
        }
      }
    } else {
      if (piece.own !== undefined) unexpected.push(piece.own);
      carriedBefore.delete(hashOf(piece.bytes));
    }
    if ((damageAt ?? outOfOrderAt) === undefined) continue;
    if (piece.kind === "other") carriedBytes += piece.bytes.length;
    if (carriedBytes <= MAX_CARRIED_BYTES) behind.push(piece);
  }

  const cutAt = places.length === expected.length ? undefined : earliest(damageAt, outOfOrderAt);
  const kept = cutAt === undefined ? places : places.filter((place) => place < cutAt);
  const isTooMuch = cutAt !== undefined && carriedBytes > MAX_CARRIED_BYTES;
  const rebuilt = rebuild(cutAt === undefined ? [] : behind, expected, kept.length);
  return {
    places: kept,
    cutAt: isTooMuch ? undefined : cutAt,
    missing: [...rebuilt, ...carriedBefore.values()],
    unrestorable: isTooMuch ? cutAt : undefined,
    unexpected,
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/**
 * What takes the place of these pieces: the expected lines from `next` on in their order, and what
 * others wrote between them where it was. A peer that had read them before finds each line where
 * it was, or as near to it as can be.
 */
function rebuild(
  pieces: readonly Piece[],
  expected: readonly OwnLine[],
  next: number,
): readonly OwnLine[] {
  const lines: OwnLine[] = [];
  let at = next;
  for (const piece of pieces) {
    let upTo = at;
    if (piece.kind === "other") lines.push(carried(expected, piece.bytes));
    else if (piece.kind === "own") upTo = piece.index + 1;
    else upTo = at + fitting(expected.slice(at), piece.length);
    lines.push(...expected.slice(at, upTo));
    at = Math.max(at, upTo);
  }
  return [...lines, ...expected.slice(at)];
}

/** Damage was one of ours at least, and as many more as it has room for. */
function fitting(lines: readonly OwnLine[], length: number): number {
  let end = 0;
  const isBeyond = ({ line }: OwnLine, at: number) => (end += line.length + 1) > length && at > 0;
  const beyond = lines.findIndex(isBeyond);
  return beyond < 0 ? lines.length : beyond;
}

/** Owed until the last line of ours is durable, which it is beside. */
function carried(expected: readonly OwnLine[], bytes: Uint8Array): OwnLine {
  const { log, seq } = expected.at(-1) as OwnLine;
  // A copy: else the whole piece of the file that it was read with stays in memory.
  return { log, seq, id: "", line: Buffer.from(bytes), foreign: true };
}
