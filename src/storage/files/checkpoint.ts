import { createHash } from "node:crypto";
import { openIfThere, removeTemporary, type Disk, type DiskFile } from "../disk/disk.ts";
import { chunksOf, wholeLines, NEWLINE } from "../disk/line-splitter.ts";
import { PRIVATE_FILE } from "../disk/file-modes.ts";

// Lines of JSON, which are not looked at here, and one more: the checksum over the bytes before it.
const END = /^\{"sha256":"([0-9a-f]{64})"\}\n$/;
const END_LENGTH = '{"sha256":"'.length + 64 + '"}\n'.length;
/** What is written, and read, at once: a checkpoint may be many times larger. */
const PIECE_BYTES = 256 * 1024;

/**
 * Atomically replaces the checkpoint by these lines. No more than a piece of it is in memory, and other
 * work goes on between two pieces: nothing that the lines tell of may change meanwhile.
 */
export async function saveCheckpoint(
  disk: Disk,
  path: string,
  lines: Iterable<string>,
  nextTurn: () => Promise<void>,
): Promise<void> {
  removeTemporary(disk, path);
  const pieces = withChecksum(inPieces(lines));
  await disk.replaceSlowly(path, inTurns(pieces, nextTurn), PRIVATE_FILE);
}

async function* inTurns(
  pieces: Iterable<Uint8Array>,
  nextTurn: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

function* inPieces(lines: Iterable<string>): Generator<Uint8Array> {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let filled = 0;
  for (const line of lines) {
    const length = Buffer.byteLength(line) + 1;
    if (filled + length > piece.length) {
      yield piece.subarray(0, filled);
      filled = 0;
    }
    if (length > piece.length) {
      yield Buffer.from(`${line}\n`);
      continue;
    }
    filled += piece.write(line, filled);
    piece[filled] = NEWLINE;
    filled += 1;
  }
  yield piece.subarray(0, filled);
}

function* withChecksum(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  const hash = createHash("sha256");
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  yield Buffer.from(`{"sha256":"${hash.digest("hex")}"}\n`);
}

/**
 * What `read` makes of the lines that were saved; undefined when there is no checkpoint or it cannot
 * be trusted. Losing one costs a replay and changes nothing else (spec 4.1), so damage is no error.
 */
export function loadCheckpoint<T>(
  disk: Disk,
  path: string,
  read: (lines: Iterable<string>) => T | undefined,
): T | undefined {
  const file = openIfThere(disk, path);
  if (file === undefined) return undefined;
  try {
    const end = file.stat().size - END_LENGTH;
    return end >= 0 && isIntact(file, end) ? read(linesOf(file, end)) : undefined;
  } finally {
    file.close();
  }
}

function isIntact(file: DiskFile, end: number): boolean {
  const last = Buffer.from(file.read(END_LENGTH, end)).toString("utf8");
  const hash = createHash("sha256");
  const into = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (const chunk of chunksOf(file, 0, end, PIECE_BYTES, into)) hash.update(chunk);
  return END.exec(last)?.[1] === hash.digest("hex");
}

function* linesOf(file: DiskFile, end: number): Generator<string> {
  for (const { bytes } of wholeLines(file, 0, end, Number.MAX_SAFE_INTEGER)) {
    yield Buffer.from(bytes ?? []).toString("utf8");
  }
}
