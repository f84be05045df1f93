import { DAY_MS } from "../../wire/durations.ts";
import type { CoreEvent, SentLine } from "../events.ts";

/** What was sent, or was about to be, under a key. */
export interface KeyedSend {
  at: number;
  readonly digest: string;
  readonly messages: readonly SentLine[];
}

export type SendKeysState = Map<string, KeyedSend>;

/** So long a key means what was sent first. Spec 8.1. */
const KEY_LIFETIME_MS = DAY_MS;
/** The oldest are forgotten first. @internal */
export const MAX_SEND_KEYS = 4_096;

export function emptySendKeys(): SendKeysState {
  return new Map();
}

export function applySendKeys(state: SendKeysState, event: CoreEvent): void {
  if (event.kind !== "keyed") return;
  const { at, key, messages } = event;
  // At the end of the map: it is the newest now.
  state.delete(key.name);
  state.set(key.name, { at, digest: key.digest, messages });
  for (const [name, keyed] of state) {
    if (state.size <= MAX_SEND_KEYS && !isOver(keyed, at)) break;
    state.delete(name);
  }
}

/** What was noted of that key; undefined when it is not known, or no longer. */
export function keyedSend(
  state: SendKeysState,
  name: string,
  nowMs: number,
): KeyedSend | undefined {
  const keyed = state.get(name);
  return keyed === undefined || isOver(keyed, nowMs) ? undefined : keyed;
}

function isOver({ at }: KeyedSend, nowMs: number): boolean {
  return nowMs >= at + KEY_LIFETIME_MS;
}
