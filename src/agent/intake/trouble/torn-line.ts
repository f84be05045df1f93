import type { Cursor } from "../../../storage/files/tail.ts";
import type { Judging, PreparedLine } from "../judge-lines.ts";
import { isLeft } from "./log-waits.ts";
import type { LogIntake } from "../../state/agent-state.ts";

/** What a power cut left in a log, and what the file looked like when we last read it (`lookOf`). */
export interface Hole {
  /** Its offset. */
  readonly at: number;
  /** Since when we wait for the log's author; times are in ms on the monotonic clock. */
  readonly sinceMs: number;
  readonly look?: string;
  readonly lookedMs?: number;
  /** Up to here the log has been searched for what goes on behind the hole. */
  readonly searched?: Cursor;
}

/** Where the author's chain goes on after a line: holes before that are not the author's. */
export interface Continuation {
  /** The id of that line; undefined when the log has shown no chained one. */
  readonly after: string | undefined;
  /** The offset of the line that goes on. */
  readonly at: number;
}

/** How long a log is left alone whose author has to mend it. */
export const MENDING_MS = 1_000;
/** To look at a large hole again takes time: so many bytes of it are worth `MENDING_MS`. */
const MENDING_BYTES = 8 * 1_048_576;
/** An unchanged file is read again after so long: its times are only as exact as its host's clock. */
const READ_AGAIN_MS = 60_000;

/**
 * Whether a line is what a power cut left of one: zero bytes, which no JSON has. Its author puts
 * back the same bytes as soon as it runs again (spec 4.1, "a power cut can leave holes"), so until
 * then it is not whole, however long that takes: who counted it as a line would count all lines
 * after it wrong. Not so when its chain goes on after it: then somebody else has left this. That is
 * looked for in what was read with it, and by `searchBehindHole` further on. `valid`: the verdicts
 * on the signatures of all these lines.
 */
export function isBeingMended(
  lines: readonly PreparedLine[],
  at: number,
  valid: readonly boolean[],
  { intake, monoMs }: Judging,
): boolean {
  const line = lines[at];
  if (line === undefined || !isHoleLine(line)) return false;
  const { start } = line.tail;
  const head = intake.admission.chain.head?.id;
  if (intake.goesOn !== undefined && intake.goesOn.after === head && start < intake.goesOn.at) {
    return false;
  }
  const next = findContinuation(lines, at + 1, valid, intake);
  if (next === undefined) {
    if (intake.hole?.at !== start) intake.hole = { at: start, sinceMs: monoMs };
    return true;
  }
  intake.goesOn = next;
  return false;
}

/** The first line from that one on that is authentic and goes on where the log's chain ends. */
export function findContinuation(
  lines: readonly PreparedLine[],
  from: number,
  valid: readonly boolean[],
  intake: LogIntake,
): Continuation | undefined {
  let signature = 0;
  for (const [at, line] of lines.entries()) {
    const { preparation, tail } = line;
    const isSigned = preparation?.step === "signature";
    const isAuthentic = isSigned ? valid[signature++] === true : preparation?.step === "done";
    if (at < from || !isAuthentic || !goesOn(line, intake)) continue;
    return { after: intake.admission.chain.head?.id, at: tail.start };
  }
  return undefined;
}

/** Whether bytes that are no message hold zeros, as a power cut leaves them. */
export function isHole(bytes: Uint8Array): boolean {
  return bytes.includes(0);
}

function isHoleLine({ tail, preparation }: PreparedLine): boolean {
  if (tail.kind === "oversized") return tail.isHole;
  if (tail.kind !== "line" || preparation?.step !== "refused") return false;
  return preparation.refusal.reason === "malformed" && isHole(tail.bytes);
}

/** How long a hole of so many bytes is left alone before it is read again; the search goes on. */
export function mendingMs(bytes: number): number {
  return MENDING_MS * Math.max(1, Math.ceil(bytes / MENDING_BYTES));
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
