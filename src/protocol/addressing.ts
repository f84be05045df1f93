import type { Log } from "../wire/layout.ts";
import type { Message } from "../wire/message.ts";
import type { LineEvent } from "./events.ts";
import type { Env } from "./env.ts";

/** The agents that a line of that log is addressed to, without its author. Spec 1.2: `to`. */
export function addresseesOf(message: Message, log: Log, env: Env): readonly string[] {
  const readers = log.addressee === undefined ? env.layout.roster : [log.addressee];
  const { to } = message;
  const everyone = to === undefined || to.includes("*");
  return readers.filter((handle) => handle !== log.owner && (everyone || to.includes(handle)));
}

export function isForUs(event: LineEvent, env: Env): boolean {
  const log = env.layout.logs.get(event.log);
  if (log === undefined || log.owner === env.self) return false;
  const { addressee = env.self } = log;
  if (addressee !== env.self || !env.layout.roster.includes(env.self)) return false;
  const { to } = event.message;
  return to === undefined || to.includes("*") || to.includes(env.self);
}
