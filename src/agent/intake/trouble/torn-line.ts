import { nothingIsMissingBefore } from "../../../admission/log-admission.ts";
import type { PreparedLine } from "../prepare-lines.ts";
import type { LogIntake, Continuation } from "../../state/agent-state.ts";

/** How long a log is not read when its author has to restore it. */
export const RESTORE_CHECK_MS = 1_000;
/** A large tear takes time to read again: so many bytes of it cost one `RESTORE_CHECK_MS`. */
const RESTORE_CHECK_BYTES = 8 * 1_048_576;
/**
 * Whether a line is torn: it holds zero bytes, which a power cut leaves and no JSON has. Its author
 * restores the same bytes as soon as it runs again (spec 4.1, "a power cut can leave holes"). Until
 * then it is no whole line, however long that takes: a reader that counted it would count all lines
 * after it wrong. If the author's chain goes on after it, another program has left it, and it is
 * not torn. The line that goes on is looked for in the lines that were read with it, and by
 * `searchBehindTear` further on.
 *
 * @param valid the verdicts on the signatures of all these lines
 * @returns "torn", or where the chain goes on behind it when that is found now; undefined: not torn
 */
export function tornLine(
  lines: readonly PreparedLine[],
  at: number,
  valid: readonly boolean[],
  intake: Pick<LogIntake, "admission" | "order">,
): "torn" | Continuation | undefined {
  const line = lines[at];
  if (line === undefined || !isTornLine(line)) return undefined;
  const { goesOn } = intake.order;
  const head = intake.admission.chain.head?.id;
  if (goesOn !== undefined && goesOn.after === head && line.tail.start < goesOn.at) {
    return undefined;
  }
  return findContinuation(lines, at + 1, valid, intake) ?? "torn";
}

/** The first line from that one on that is authentic and goes on where the log's chain ends. */
export function findContinuation(
  lines: readonly PreparedLine[],
  from: number,
  valid: readonly boolean[],
  intake: Pick<LogIntake, "admission">,
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
export function hasZeros(bytes: Uint8Array): boolean {
  return bytes.includes(0);
}

function isTornLine({ tail, preparation }: PreparedLine): boolean {
  if (tail.kind === "oversized") return tail.isTorn;
  if (tail.kind !== "line" || preparation?.step !== "refused") return false;
  return preparation.refusal.reason === "malformed" && hasZeros(tail.bytes);
}

/** How long a tear of so many bytes waits before it is read again; the search goes on. */
export function restoreCheckMs(bytes: number): number {
  return RESTORE_CHECK_MS * Math.max(1, Math.ceil(bytes / RESTORE_CHECK_BYTES));
}

/** A line that nothing is missing before; an author that does not chain restores nothing. */
function goesOn(
  { preparation }: PreparedLine,
  { admission }: Pick<LogIntake, "admission">,
): boolean {
  if (preparation === undefined || preparation.step === "refused") return false;
  return nothingIsMissingBefore(preparation.message, admission);
}
