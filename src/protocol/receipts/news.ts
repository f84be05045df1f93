import type { Env } from "../env.ts";
import type { State } from "../state.ts";
import type { WaitedFor } from "./awaited.ts";
import { waitingNow } from "./mail.ts";

/** What there is for our agent to do. It holds no text of a peer. Spec 4.4, `wait`. */
export interface NewsView {
  /** Whether what was asked for is there. */
  ready: boolean;
  unread: number;
  /** Unread notices. Spec 3.12. */
  notices: number;
  /** Unread messages of high priority, and unread incidents. */
  urgent: number;
  /** Answers that our agent owes, read or not. */
  owed: number;
  /** Handles of those whose messages are unread. */
  from: string[];
}

export function newsView(state: State, env: Env, nowMs: number, awaited: WaitedFor): NewsView {
  const { unread, notices, urgent, owed, from } = waitingNow(state, env, nowMs);
  const is = { any: unread + notices > 0, urgent: urgent > 0, owed: owed.length > 0 };
  const authors = [...from.keys()].sort();
  return { ready: is[awaited], unread, notices, urgent, owed: owed.length, from: authors };
}
