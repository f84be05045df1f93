import { compareTiers, isState, type Tier } from "../trust/tiers.ts";
import { saysClosed, saysContinued } from "../wire/roster/closing.ts";
import { isForUs } from "./addressing.ts";
import type { LineEvent } from "./events.ts";
import type { Env } from "./env.ts";

/**
 * Whether a line is a message to our agent: it goes to the inbox and is unread until it is marked.
 * A line that says only how an agent is goes nowhere, whatever its author's tier: `peers` and
 * `trust` show what it says. It depends on the line and its verdict alone, so replay routes what
 * was routed live. Spec 2.3, 2.4.
 */
export function isMail(event: LineEvent, env: Env): boolean {
  const { message, refused } = event;
  // What a daemon writes when it moves to its outbox says nothing to an agent. Spec 1.6.
  if (saysClosed(message) || saysContinued(message)) return false;
  return refused === undefined && !isState(message.type) && isForUs(event, env);
}

/**
 * Heartbeats go to the inbox if the operator wants them there, but no free text of a stranger does.
 * Spec 2.3.
 */
export function isWantedBeat(event: LineEvent, env: Env): boolean {
  if (event.message.type !== "heartbeat" || event.refused !== undefined) return false;
  return isForUs(event, env) && isVerified(authorTier(env, event.message.from));
}

/** How far the author of a text is believed; null: of no tier, or blocked. */
export function authorTier(env: Env, author: string): Tier | null {
  return author === env.self ? "TRUSTED" : (env.tierOf(author).tier ?? null);
}

export function isVerified(tier: Tier | null): boolean {
  return tier !== null && compareTiers(tier, "VERIFIED") >= 0;
}

/** A subject as a list shows it: below VERIFIED, a text of ours in place of the author's. */
export function listedSubject(env: Env, author: string, subject: string): string {
  const tier = authorTier(env, author);
  return isVerified(tier) ? subject : `(not shown: ${author} is ${tier ?? "of no tier"})`;
}
