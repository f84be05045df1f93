import { closingBody, continuingBody } from "../../wire/roster/closing.ts";
import { logsBefore, ownLogs, type Log } from "../../wire/layout.ts";
import type { Effect } from "../effects.ts";
import type { Env } from "../env.ts";
import type { LogsState } from "./logs-state.ts";

type SendEffect = Extract<Effect, { do: "send" }>;

/**
 * What our agent has to write before anything else on a wire that has moved to outboxes: the line that
 * closes each of its logs, and then the first line of its outbox, which names them. Empty when it has
 * moved, and where nothing moves. The same comes again until it is read back. Spec 1.6.
 */
export function decideClosing(
  logs: LogsState,
  env: Pick<Env, "layout" | "self">,
): readonly SendEffect[] {
  const own = ownLogs(env.layout, env.self);
  const open = own.filter(({ name, into }) => into !== undefined && !isClosed(logs, name));
  if (open.length > 0) return open.map((log) => close(log));
  return own.flatMap((log) => {
    const isBegun = (logs.get(log.name)?.marks.lines.length ?? 0) > 0;
    return log.continues === undefined || isBegun ? [] : [goOn(log, logs, env)];
  });
}

function isClosed(logs: LogsState, name: string): boolean {
  return logs.get(name)?.closing !== undefined;
}

function close({ name, owner, addressee }: Log): SendEffect {
  return {
    do: "send",
    log: name,
    draft: {
      to: [addressee ?? "*"],
      type: "correction",
      subject: `this log is closed: ${owner} goes on in its outbox`,
      body: closingBody(name, owner),
      priority: "low",
    },
  };
}

function goOn(outbox: Log, logs: LogsState, { layout }: Pick<Env, "layout">): SendEffect {
  const closed = logsBefore(layout, outbox).flatMap(({ name }) => {
    const { closing } = logs.get(name) ?? {};
    return closing === undefined ? [] : [{ log: name, seq: closing.seq, id: closing.id }];
  });
  return {
    do: "send",
    log: outbox.name,
    draft: {
      to: ["*"],
      type: "correction",
      subject: `this outbox goes on with what ${outbox.owner} wrote before`,
      body: continuingBody(closed),
      priority: "low",
    },
  };
}
