import type { Judging, PreparedLine } from "./judging.ts";
import { isLeft } from "./log-waits.ts";
import type { LogIntake } from "./memory.ts";

/** What a power cut left in a log, and what the file looked like when we last read it (`lookOf`). */
export interface Hole {
  /** Its offset. */
  readonly at: number;
  /** Since when we wait for the log's author; times are in ms on the monotonic clock. */
  readonly sinceMs: number;
  readonly look?: string;
  readonly lookedMs?: number;
}

/** How long a log is left alone whose author has to mend it. */
export const MENDING_MS = 1_000;
/** An unchanged file is read again after so long: its times are only as exact as its host's clock. */
const READ_AGAIN_MS = 60_000;

/**
 * Whether a line is what a power cut left of one: zero bytes, which no JSON has. Its author puts
 * back the same bytes as soon as it runs again (spec 4.1, "a power cut can leave holes"), so until
 * then it is not whole, however long that takes: who counted it as a line would count all lines
 * after it wrong. Not so when its chain goes on after it: then somebody else has left this.
 */
export function isBeingMended(
  lines: readonly PreparedLine[],
  at: number,
  { intake, monoMs }: Judging,
): boolean {
  const { tail, preparation } = lines[at] ?? {};
  if (tail?.kind !== "line" || preparation?.step !== "refused") return false;
  if (preparation.refusal.reason !== "malformed" || !isHole(tail.bytes)) return false;
  if (lines.slice(at + 1).some((line) => goesOn(line, intake))) return false;
  if (intake.hole?.at !== tail.start) intake.hole = { at: tail.start, sinceMs: monoMs };
  return true;
}

/** Whether bytes that are no message hold zeros, as a power cut leaves them. */
export function isHole(bytes: Uint8Array): boolean {
  return bytes.includes(0);
}

/** Whether a file looks as it did when the hole was found in it: to read it again shows nothing new. */
export function isStillOpen({ hole }: LogIntake, look: string, monoMs: number): boolean {
  return hole?.look === look && monoMs - (hole.lookedMs ?? 0) < READ_AGAIN_MS;
}

/** Until a file looks different from `look`, it need not be read again for the hole in it. */
export function leaveAlone(intake: LogIntake, look: string, monoMs: number): void {
  if (intake.hole !== undefined) intake.hole = { ...intake.hole, look, lookedMs: monoMs };
}

/** Whether the author has left a hole open for so long that no deadline waits for its log. */
export function isLeftOpen({ hole }: LogIntake, monoMs: number): boolean {
  return hole !== undefined && isLeft(hole.sinceMs, monoMs);
}

/** A line that nothing is missing before; who does not chain does not mend either. */
function goesOn({ preparation }: PreparedLine, { admission }: LogIntake): boolean {
  if (preparation === undefined || preparation.step === "refused") return false;
  const { seq, prev } = preparation.message;
  const { head } = admission.chain;
  if (head === undefined) return seq === undefined || seq === 1;
  return seq === head.seq + 1 && prev === head.id;
}
