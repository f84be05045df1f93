import { apply } from "../../../src/protocol/core.ts";
import type { LineEvent } from "../../../src/protocol/events.ts";
import { readSnapshot, writeSnapshot } from "../../../src/protocol/snapshot.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import type { OutcomeScript } from "./outcome-script.ts";

/** Each event folded twice, with the state written and read again after the event with that number. */
export function foldedTwice(
  script: OutcomeScript,
  viewer: string,
  events: readonly LineEvent[],
  cut: number,
): State {
  let state = emptyState();
  for (const [at, event] of events.entries()) {
    apply(state, event, script.env(viewer));
    if (at === cut) state = readSnapshot(writeSnapshot(state)) ?? emptyState();
    apply(state, event, script.env(viewer));
  }
  return state;
}
