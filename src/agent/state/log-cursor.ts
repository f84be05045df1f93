import type { Cursor } from "../../storage/files/tail.ts";
import type { LogIntake } from "./agent-state.ts";

/**
 * Where a log's cursor may move. It says how far the log has been taken in. Everything before it is
 * durable, so a crash repeats lines and loses none. Spec 4.1.
 *
 * - "persisted": behind lines that `persist` has made durable, in order.
 * - "nothing there": the file was read on and held no whole line; what of a line over the limit has
 *   been searched for its end is noted as well.
 * - "compared": the whole log was compared with the journal, and all that we know is there, in
 *   order; behind the last line that is folded.
 * - "replayed": behind the last line of the journal whose bytes are still in the log.
 * - "restored": where a checkpoint had it.
 * - "begun again": to the beginning of a rewritten log that the operator has accepted.
 */
export type CursorMove =
  "persisted" | "nothing there" | "compared" | "replayed" | "restored" | "begun again";

/** Moves a log's cursor; the only place that does. A step forward never goes back. */
export function moveCursor(
  intake: Pick<LogIntake, "cursor" | "log">,
  to: Cursor | undefined,
  why: CursorMove,
): void {
  const isStep = why === "persisted" || why === "nothing there";
  const from = intake.cursor;
  if (isStep && from !== undefined && to !== undefined && to.offset < from.offset) {
    throw new Error(`${intake.log.name}: read to ${from.offset}, and then to ${to.offset}`);
  }
  intake.cursor = to;
}
