import { unreadNotices } from "../agent-notices/agent-notices-state.ts";
import type { Env } from "../env.ts";
import type { State } from "../state.ts";
import { pendingView } from "../threads/threads-view.ts";
import { unreadCount } from "./receipts.ts";

/** What an agent can wait for: anything unread, something urgent that is unread, an answer it owes. */
export const WAITED_FOR = ["any", "urgent", "owed"] as const;
export type WaitedFor = (typeof WAITED_FOR)[number];

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
  const owed = pendingView(state, env, nowMs).filter((each) => each.owed_by === env.self).length;
  const unread = unreadCount(state.receipts, env);
  let urgent = 0;
  const from = new Set<string>();
  for (const [name, taken] of state.receipts.taken) {
    const owner = env.layout.logs.get(name)?.owner;
    if (owner !== undefined && taken.unread.length > 0) from.add(owner);
    urgent += taken.unread.filter((line) => line.urgent === true).length;
  }
  const notices = unreadNotices(state.agentNotices);
  const ready = { any: unread + notices > 0, urgent: urgent > 0, owed: owed > 0 }[awaited];
  return { ready, unread, notices, urgent, owed, from: [...from].sort() };
}
