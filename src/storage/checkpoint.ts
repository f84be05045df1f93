import { createHash } from "node:crypto";
import { readWhole, type Disk } from "./disk.ts";

// Two lines: `{"sha256":"<64 hex>","state":<state>}`, taken apart by position, and a text that has no
// line end. The checksum is over the bytes of both as they stand.
const HEAD = /^\{"sha256":"([0-9a-f]{64})","state":/;
const HEAD_LENGTH = '{"sha256":"'.length + 64 + '","state":'.length;
const BETWEEN = "}\n";
const NEWLINE = "\n";

export interface Checkpoint {
  /** Plain JSON. */
  readonly state: unknown;
  /** JSON text, which may be many megabytes: it is neither quoted nor parsed here. */
  readonly text: string;
}

function checksum(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Atomically replaces the checkpoint. */
export function saveCheckpoint(disk: Disk, path: string, { state, text }: Checkpoint): void {
  const pieces = [JSON.stringify(state), BETWEEN, text, NEWLINE];
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), HEAD_LENGTH);
  // Put together in one place: each copy of it would cost megabytes.
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = HEAD_LENGTH;
  for (const piece of pieces) at += bytes.write(piece, at);
  bytes.write(`{"sha256":"${checksum(bytes.subarray(HEAD_LENGTH))}","state":`, 0);
  disk.replace(path, bytes, 0o600);
}

/**
 * What was saved; undefined when there is nothing or it cannot be trusted. Losing a checkpoint costs
 * a replay and changes nothing else (spec 4.1), so damage is no error.
 */
export function loadCheckpoint(disk: Disk, path: string): Checkpoint | undefined {
  const whole = readWhole(disk, path, Number.MAX_SAFE_INTEGER);
  if (whole === undefined) return undefined;
  const bytes = Buffer.from(whole.buffer, whole.byteOffset, whole.length);
  const expected = HEAD.exec(bytes.toString("utf8", 0, HEAD_LENGTH))?.[1];
  if (expected === undefined || checksum(bytes.subarray(HEAD_LENGTH)) !== expected)
    return undefined;
  const between = bytes.indexOf(BETWEEN, HEAD_LENGTH);
  return {
    state: JSON.parse(bytes.toString("utf8", HEAD_LENGTH, between)) as unknown,
    text: bytes.toString("utf8", between + BETWEEN.length, bytes.length - NEWLINE.length),
  };
}
