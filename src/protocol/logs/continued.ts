import type { Layout } from "../../wire/layout.ts";
import type { LineEvent } from "../events.ts";
import type { LogsState } from "./logs-state.ts";

// A closed log of a pair goes on with its author's outbox: for what was begun in it the two are one
// log. Its lines keep their numbers, and those of the outbox are counted from `OUTBOX_FROM`. Spec 1.6.

/** More lines than a log ever has. */
const OUTBOX_FROM = 2 ** 40;

/** The number of an outbox's line as a line of the closed log that goes on with it. */
export function lineAfter(line: number): number {
  return OUTBOX_FROM + line;
}

/** Whether that line of a closed log is in its author's outbox. */
export function isAfter(line: number): boolean {
  return line > OUTBOX_FROM;
}

/** In which file a line of a log is, and which of its lines it is there. */
export function placeOf(
  state: LogsState,
  log: string,
  line: number,
): { readonly log: string; readonly line: number } {
  if (!isAfter(line)) return { log, line };
  return { log: state.get(log)?.into ?? log, line: line - OUTBOX_FROM };
}

/** A line of an outbox as a line of each closed log that goes on with it; none of any other log. */
export function asContinued(event: LineEvent, { logs }: Layout): LineEvent[] {
  const { continues = [] } = logs.get(event.log) ?? {};
  return continues.map((log) => ({ ...event, log, line: lineAfter(event.line) }));
}
