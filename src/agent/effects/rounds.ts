import { decide } from "../../protocol/core.ts";
import { newBeatTimers, nextBeatDueMs, planBeats } from "../../protocol/heartbeats/beat-timers.ts";
import { decideClosing } from "../../protocol/logs/closing.ts";
import { lastBeats } from "../../protocol/heartbeats/beats.ts";
import type { Session } from "../session/session.ts";
import { recoverLogs } from "./append-own.ts";
import { beginNotices } from "./notify-agent.ts";
import { doable, isOpen, perform } from "./run-effects.ts";
import { makeStopLog } from "./stop-log.ts";
import { guardWire, newWireGuard } from "./shared-file-watch.ts";
import { nowOf } from "../session/clock.ts";
import { takeInAll, takeInOwn } from "../intake/take-in.ts";

/** Decide and act again until nothing is left to do, at most so often in one round. */
const MAX_PASSES = 16;
/** One round takes in for so long: then sends of our own, beats and deadlines have their turn. */
const TAKE_IN_MS = 50;

/** An agent's rounds, and what it remembers from one to the next: nothing of it is on disk. */
export interface Rounds {
  /** Take in, decide, act. True when more waits to be read. */
  round(session: Session): Promise<boolean>;
  /** Takes in what is there and writes a last beat, `paused`. */
  last(session: Session): Promise<void>;
  /** When the next beat of ours, or a log that may be read again, is due. Monotonic ms. */
  nextDueMs(session: Session): number;
  /** The shared files are compared with what is pinned again: it has changed. */
  repinned(): void;
}

export function makeRounds(): Rounds {
  let timers = newBeatTimers();
  let guard = newWireGuard();
  const stops = makeStopLog();
  return {
    async round(session) {
      recoverLogs(session);
      beginNotices(session);
      const more = await takeInAll(session, TAKE_IN_MS);
      for (const incident of guardWire(session, guard)) session.recorder.tell(incident);
      for (let pass = 0; pass < MAX_PASSES; pass += 1) {
        const now = nowOf(session.world.clock);
        timers = planBeats(timers, session.memory.state.receipts, session.env, now);
        const effects = doable(session, decide(session.memory.state, session.env, now, timers));
        if (effects.length === 0) break;
        timers = await perform(session, effects, timers);
      }
      stops.look(session);
      return more;
    },
    async last(session) {
      await takeInAll(session);
      const { state } = session.memory;
      // No beat comes before the first line of an outbox.
      if (decideClosing(state.logs, session.env).length > 0) return;
      timers = await perform(
        session,
        lastBeats(state, session.env, nowOf(session.world.clock)),
        timers,
      );
    },
    nextDueMs(session) {
      const { state, intakes } = session.memory;
      const { monoMs } = nowOf(session.world.clock);
      const dueMs = [...intakes.values()].map(({ status }) => status.dueMs);
      const waits = [...dueMs, session.files.shared.notBeforeMs].filter((atMs) => atMs > monoMs);
      const isOurs = (log: string): boolean => isOpen(session, log);
      const beats = nextBeatDueMs(timers, state.heartbeats, session.env, isOurs);
      return Math.min(beats, ...waits);
    },
    repinned() {
      guard = newWireGuard();
    },
  };
}

/** Folds what we have written, before a view or a decision looks at the state. */
export async function readBack(session: Session): Promise<void> {
  if (session.files.own.written.size > 0) await takeInOwn(session);
}
