import type { Env } from "../../../src/protocol/env.ts";
import type { State } from "../../../src/protocol/state.ts";
import { threadViewsOf, type ThreadOutline } from "../../../src/protocol/threads/threads-view.ts";

/** The views of all threads, the most recently touched last. */
export function threadsView(state: State, env: Env, nowMs: number): ThreadOutline[] {
  return [...state.threads.threads.values()].flatMap((thread) =>
    threadViewsOf(state, env, nowMs, thread),
  );
}

/** The views of the threads of one correlation id. */
export function threadView(state: State, env: Env, nowMs: number, id: string): ThreadOutline[] {
  return threadsView(state, env, nowMs).filter(({ correlation_id: named }) => named === id);
}
