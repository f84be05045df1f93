import type { Judging, PreparedLine } from "./judging.ts";
import type { LogIntake } from "./memory.ts";

/** How long an author has to come back and mend its log, before what waits for it goes on. */
const WAIT_FOR_AUTHOR_MS = 60 * 60_000;

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
  if (preparation.refusal.reason !== "malformed" || !tail.bytes.includes(0)) return false;
  if (lines.slice(at + 1).some((line) => goesOn(line, intake))) return false;
  if (intake.hole?.at !== tail.start) intake.hole = { at: tail.start, sinceMs: monoMs };
  return true;
}

/** Whether the author has left a hole open for so long that no deadline waits for its log. */
export function isLeftOpen({ hole }: LogIntake, monoMs: number): boolean {
  return hole !== undefined && monoMs - hole.sinceMs >= WAIT_FOR_AUTHOR_MS;
}

/** A line that nothing is missing before; who does not chain does not mend either. */
function goesOn({ preparation }: PreparedLine, { admission }: LogIntake): boolean {
  if (preparation === undefined || preparation.step === "refused") return false;
  const { seq, prev } = preparation.message;
  const { head } = admission.chain;
  if (head === undefined) return seq === undefined || seq === 1;
  return seq === head.seq + 1 && prev === head.id;
}
