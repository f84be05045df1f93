import { answerLog, writtenTo, type Log } from "../wire/layout.ts";
import { memberSinceMs, wasMember } from "../wire/roster/members.ts";
import type { Message } from "../wire/message.ts";
import type { LineEvent } from "./events.ts";
import type { Env } from "./env.ts";
import type { LogsState } from "./logs/logs-state.ts";

/** Whether a line is to all, and names nobody. Spec 1.2: `to`. */
export function isToAll({ to }: Message): boolean {
  return to === undefined || to.includes("*");
}

/**
 * The agents that a line of that log is addressed to, without its author: who is named, or all who
 * were members at its time. Spec 1.2: `to`.
 */
export function addresseesOf(message: Message, log: Log, env: Env): readonly string[] {
  const readers = readersAddressed(message, log, env);
  if (env.layout.left.size === 0 || !isToAll(message)) return readers;
  return readers.filter((handle) => wasMember(env.layout.left, handle, message.timestampMs));
}

/**
 * The same of the whole roster: what all readers must agree about, whatever each knows of who left
 * when. Spec 1.1.
 */
export function readersAddressed(message: Message, log: Log, env: Env): readonly string[] {
  const readers = log.addressee === undefined ? env.layout.roster : [log.addressee];
  return readers.filter((handle) => isAddressed(message, log, handle));
}

/** Whether one of the roster is addressed by a line of that log. */
function isAddressed(message: Message, { owner, addressee }: Log, handle: string): boolean {
  if (handle === owner || (addressee !== undefined && addressee !== handle)) return false;
  return isToAll(message) || message.to?.includes(handle) === true;
}

/** Whether our agent is addressed. */
export function isForUs({ log: name, message }: LineEvent, { layout, self }: Env): boolean {
  const log = layout.logs.get(name);
  return log !== undefined && layout.roster.includes(self) && isAddressed(message, log, self);
}

/** Whether a handle is away, and we hold all of that log of it that it wrote before it left. */
export function holdsAllOf(handle: string, log: string, logs: LogsState, env: Env): boolean {
  const of = env.layout.logs.get(log);
  // What belongs to a closed log goes on in an outbox. Spec 1.6.
  const all = of === undefined ? [log] : [...new Set([log, writtenTo(of)])];
  return all.every((name) => {
    const last = lastLineOf(handle, name, env);
    return last !== undefined && (logs.get(name)?.lines ?? 0) >= last;
  });
}

/** The last line of that log of a handle that is away; undefined of a member. */
export function lastLineOf(handle: string, log: string, { layout }: Env): number | undefined {
  if (layout.members.includes(handle)) return undefined;
  return layout.left.get(handle)?.at(-1)?.logs.get(log)?.lines ?? 0;
}

/** A message, as far as it matters whether its addressees owe an answer. */
export interface Asking {
  readonly log: string;
  readonly line: number;
  readonly from: string;
  readonly timestampMs: number;
  readonly toAll: boolean;
}

/**
 * Whether an addressee may owe an answer to that: it and the author are members, and it was one when
 * the message was written. Of what went to all, a newcomer owes nothing that its first beat covers.
 * Spec 1.1, 3.11.
 */
export function mayOwe(logs: LogsState, env: Env, handle: string, asked: Asking): boolean {
  const { members, left } = env.layout;
  if (left.size === 0) return true;
  const { log, line, from, timestampMs, toAll } = asked;
  if (!members.includes(handle) || !members.includes(from)) return false;
  const sinceMs = memberSinceMs(left, handle);
  if (timestampMs < Math.max(sinceMs, memberSinceMs(left, from))) return false;
  if (sinceMs === -Infinity || !toAll) return true;
  const asking = env.layout.logs.get(log);
  const answers = asking === undefined ? undefined : answerLog(env.layout, asking, handle);
  const held = answers === undefined ? undefined : logs.get(answers.name);
  return held?.backBeat !== undefined && (held.covers.get(log)?.fromBack ?? 0) < line;
}
