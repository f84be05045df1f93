import type { LocalEvent } from "./journal-entries.ts";
import type { AwaitedLine, LogIntake, Memory, SetBack } from "./agent-state.ts";
import { setDayBack } from "../../admission/rate-limits.ts";
import type { Session } from "../session/session.ts";

/** A clock that is adjusted slowly goes back by less. */
const TOLERANCE_MS = 1_000;
/** The oldest are forgotten: their entries are shown with the time that was noted. */
const MAX_SET_BACKS = 1_024;

/**
 * Receipt times are never in the future: after the clock was set back they are corrected, once, by an
 * entry of the journal, so that a replay comes to the same. Spec 4.1.
 */
export function correctTimes({
  world,
  memory,
  recorder,
}: Pick<Session, "world" | "memory" | "recorder">): void {
  const wallMs = world.clock.wallMs();
  if (memory.times.latestMs <= wallMs + TOLERANCE_MS) return;
  world.log.info({ by_ms: memory.times.latestMs - wallMs }, "our wall clock was set back");
  recorder.local({ kind: "set_back", at: wallMs });
}

/** Corrects later times that are kept outside the state, live and in a replay. */
export function takeSetBack(memory: Memory, event: LocalEvent & { kind: "set_back" }): void {
  const { at } = event;
  memory.times.latestMs = at;
  // Earlier corrections to a later time say no more than this one.
  const others = memory.times.setBacks.filter((each) => each.at < at);
  memory.times.setBacks = [...others, { before: memory.journalEnd, at }].slice(-MAX_SET_BACKS);
  for (const intake of memory.intakes.values()) setIntakeBack(intake, at);
  for (const allowance of memory.allowances.values()) {
    allowance.use = setDayBack(allowance.use, at);
  }
  if (memory.inUse !== undefined) {
    memory.inUse = { ...memory.inUse, sinceMs: Math.min(memory.inUse.sinceMs, at) };
  }
}

/** When an entry of the journal that begins at `start` was noted, as far as we know now. */
export function notedAt(setBacks: readonly SetBack[], start: number, at: number): number {
  // In order of both: the first that comes after the entry is the lowest.
  const next = setBacks.find(({ before }) => before > start);
  return next === undefined ? at : Math.min(at, next.at);
}

function setIntakeBack(intake: LogIntake, at: number): void {
  const { admission, awaited, past } = intake;
  past.lastAt = Math.min(past.lastAt, at);
  if (admission.ahead !== undefined) admission.ahead = earlier(admission.ahead, at);
  if (admission.held !== undefined) admission.held = earlier(admission.held, at);
  for (const [id, line] of awaited) {
    // Whether it was dated ahead was decided when it was received.
    const { judgedAt = line.at } = line;
    if (line.at > at) awaited.set(id, { ...line, at, judgedAt } satisfies AwaitedLine);
  }
}

function earlier<T extends { readonly sinceMs: number }>(of: T, at: number): T {
  return of.sinceMs <= at ? of : { ...of, sinceMs: at };
}
