import { answerLog } from "../../wire/layout.ts";
import type { HeadBody } from "../effects.ts";
import type { Env } from "../env.ts";
import { markUpTo } from "../logs/chain-marks.ts";
import { readUpTo } from "../logs/covering-beats.ts";
import type { LogsState } from "../logs/logs-state.ts";
import { answeredIn, type ReceiptsState, type TakenLog } from "./receipts-state.ts";
import { isFull, MAX_NAMED_REFUSALS } from "./refused-lines.ts";

/**
 * Spec 3.2: when the list of refusals is full, reading of that log stops until our next beat.
 * @internal
 */
export function mustPause(state: ReceiptsState, logName: string): boolean {
  const taken = state.taken.get(logName);
  return taken !== undefined && isFull(taken.refused);
}

/** Whether news, or a log that had to pause, calls for a beat in that log of ours before its time. */
export function owesBeat(state: ReceiptsState, ownLog: string, env: Env): boolean {
  for (const [name, taken] of state.taken) {
    if (taken.news === undefined && !mustPause(state, name)) continue;
    if (answeredIn(name, env) === ownLog) return true;
  }
  return false;
}

/** Our heads for a beat in that log: all logs that we answer there, as far as we hold them. */
export function headsFor(
  state: ReceiptsState,
  logs: LogsState,
  ownLog: string,
  env: Env,
): Record<string, HeadBody> {
  const heads: Record<string, HeadBody> = {};
  for (const name of env.layout.logs.keys()) {
    const log = logs.get(name);
    if (log === undefined || answeredIn(name, env) !== ownLog) continue;
    if (isCoveredWhole(name, logs, env)) continue;
    const taken = state.taken.get(name);
    const refused = taken?.refused.ranges ?? [];
    // Spec 3.2: heads never pass a refusal that is not named.
    const unnamed = refused[MAX_NAMED_REFUSALS];
    const last = Math.min(log.closing?.line ?? Infinity, log.lines);
    const lines = unnamed === undefined ? last : Math.min(last, unnamed.first - 1);
    const mark = markUpTo(log.marks, lines);
    const read = taken === undefined ? lines : Math.min(readLines(taken, log.lines), lines);
    // The author counts the lines that are in the log now.
    const { earlier = 0, recounted = earlier } = log;
    const named = refused.slice(0, MAX_NAMED_REFUSALS).filter(({ last }) => last > recounted);
    heads[name] = {
      lines: Math.max(lines - earlier, 0),
      ...(mark === undefined || mark.line <= earlier ? {} : { seq: mark.seq, event_id: mark.id }),
      read_lines: Math.max(read - earlier, 0),
      refused: named.map(
        ({ first, last, reason }) =>
          [Math.max(first, recounted + 1) - earlier, last - earlier, reason] as const,
      ),
    };
  }
  return heads;
}

/** Whether our beats have covered a closed log, as read, to the line that closed it. Spec 1.6. */
function isCoveredWhole(name: string, logs: LogsState, env: Env): boolean {
  const log = env.layout.logs.get(name);
  const end = logs.get(name)?.closing?.line;
  const answers = log === undefined ? undefined : answerLog(env.layout, log, env.self);
  if (end === undefined || answers === undefined) return false;
  return readUpTo(logs, answers.name, name) >= end;
}

function readLines(taken: TakenLog, lines: number): number {
  const first = taken.unread.lines[0] ?? taken.more?.from;
  return first === undefined ? lines : first - 1;
}
