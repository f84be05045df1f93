import { answerLog, writtenTo } from "../../wire/layout.ts";
import type { Env } from "../env.ts";
import { noRefusedLines, type RefusedLines } from "./refused-lines.ts";
import { noUnread, type UnreadLines } from "./unread-lines.ts";
import { emptySent, type SentState } from "./sent.ts";

/** Unread lines that are remembered one by one, per log; those after them only as a number. */
export const MAX_UNREAD = 8_192;

/** What we have taken in of the peers' logs, and what became of what we sent. Spec 3.2. */
export interface ReceiptsState {
  /** By name of the peer's log. */
  readonly taken: Map<string, TakenLog>;
  readonly sent: SentState;
}

export interface TakenLog {
  /** Lines refused that no beat of ours has named yet. */
  readonly refused: RefusedLines;
  /** Lines routed to the agent and not marked read, in order. */
  unread: UnreadLines;
  /** Unread lines after those, when there are too many. */
  more: { readonly from: number; readonly count: number } | undefined;
  /** Our own beats say that everything routed up to this line was read. */
  readFloor: number;
  /** The newest message for us that no beat of ours covers yet. */
  news: number | undefined;
}

export function emptyReceipts(): ReceiptsState {
  return { taken: new Map(), sent: emptySent() };
}

/** What is taken in of that log; nothing yet when it is asked for the first time. */
export function takenOf(state: ReceiptsState, name: string): TakenLog {
  let taken = state.taken.get(name);
  if (taken === undefined) {
    taken = {
      refused: noRefusedLines(),
      unread: noUnread(),
      more: undefined,
      readFloor: 0,
      news: undefined,
    };
    state.taken.set(name, taken);
  }
  return taken;
}

/** Messages that the agent has not marked read, of one peer or of all. */
export function unreadCount(state: ReceiptsState, env: Env, peer?: string): number {
  let count = 0;
  for (const [name, taken] of state.taken) {
    if (peer !== undefined && env.layout.logs.get(name)?.owner !== peer) continue;
    count += taken.unread.lines.length + (taken.more?.count ?? 0);
  }
  return count;
}

export function isUnread({ taken }: ReceiptsState, id: string): boolean {
  return [...taken.values()].some(({ unread }) => unread.ids.placesOf(id).length > 0);
}

/** The ids of unread messages, of those logs if some are named; at most MAX_UNREAD of each log. */
export function* unreadIds({ taken }: ReceiptsState, logs?: readonly string[]): Generator<string> {
  for (const [log, { unread }] of taken) {
    if (logs?.includes(log) === false) continue;
    yield* unread.ids;
  }
}

/** The log of ours in which a beat speaks of that log now. */
export function answeredIn(peerLog: string, env: Env): string | undefined {
  const log = env.layout.logs.get(peerLog);
  const answers = log === undefined ? undefined : answerLog(env.layout, log, env.self);
  return answers === undefined ? undefined : writtenTo(answers);
}
