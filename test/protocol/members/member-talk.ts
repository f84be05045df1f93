import { apply } from "../../../src/protocol/core.ts";
import type { Env } from "../../../src/protocol/env.ts";
import type { CoreEvent, LineEvent } from "../../../src/protocol/events.ts";
import type { MemberAction } from "../../../src/protocol/members/member-changes.ts";
import { emptyState, type State } from "../../../src/protocol/state.ts";
import { makeLayout, type Layout } from "../../../src/wire/layout.ts";
import type { Absence, Absences, LogPlace } from "../../../src/wire/roster/members.ts";
import {
  lineEvent,
  NOON,
  scriptEnv,
  seconds,
  WireScript,
  type Saying,
  type ScriptHeads,
  type ScriptLine,
} from "../../support/scripts/wire-script.ts";

/** What an agent has pinned: who left, and by which proposal members changed last. */
export interface Pinned {
  readonly left?: Absences;
  readonly changedBy?: string | undefined;
}

export interface Seen {
  readonly state: State;
  readonly env: Env;
}

/** Lines about members, a second after each other, in the order in which all receive them. */
export class MemberTalk {
  readonly script: WireScript;
  readonly events: ((self: string) => CoreEvent)[] = [];
  readonly #kind: Layout["kind"] | "moving";
  readonly #roster: readonly string[];
  #at = NOON;

  constructor(kind: Layout["kind"] | "moving" = "outbox", roster = ["a", "b", "c"]) {
    this.#kind = kind;
    this.#roster = roster;
    this.script = new WireScript(kind, roster);
  }

  say(log: string, saying: Saying, change: Partial<LineEvent> = {}): ScriptLine {
    return this.#keep(this.script.say(log, (this.#at += seconds(1)), saying), change);
  }

  beat(log: string, heads: ScriptHeads = {}): ScriptLine {
    return this.#keep(this.script.beat(log, (this.#at += seconds(1)), heads));
  }

  /** Asks all others of the roster, where `body` does not say otherwise. */
  propose(
    log: string,
    action: MemberAction,
    member: string,
    body: { required?: string[] } & Record<string, unknown> = {},
  ): ScriptLine {
    const owner = this.script.layout.logs.get(log)?.owner;
    const others = this.#roster.filter((handle) => handle !== owner && handle !== member);
    const { required = others } = body;
    const asked = { action, member, after: null, ...body, required };
    return this.say(log, { type: "proposal", to: required, body: asked });
  }

  ack(log: string, of: ScriptLine, body: object = { approve: true }): ScriptLine {
    const { id, correlationId: thread } = of.message;
    return this.say(log, { type: "ack", thread, body: { acks: id, ...body } });
  }

  /** These ack it in their outboxes, and the next beat of its author covers that. */
  agree(of: ScriptLine, by: readonly string[]): ScriptLine {
    for (const log of by) this.ack(log, of);
    return this.beat(of.log, this.allOf(by));
  }

  /** An agent writes its last line into a log. */
  leave(log: string): ScriptLine {
    return this.say(log, { type: "shutdown", body: { leaves: true } });
  }

  /** Heads over all that these logs have. */
  allOf(logs: readonly string[]): ScriptHeads {
    const length = (log: string): number => this.script.lines.get(log)?.length ?? 0;
    return Object.fromEntries(logs.map((log) => [log, { lines: length(log) }]));
  }

  seenBy(self: string, { left, changedBy }: Pinned = {}): Seen {
    const isMoving = this.#kind === "moving";
    const closed = isMoving ? [...this.script.layout.logs.keys()] : [];
    const layout = makeLayout(isMoving ? "outbox" : this.#kind, this.#roster, left, closed);
    const env = scriptEnv(layout, self, {}, { membersChangedBy: changedBy });
    const state = emptyState();
    for (const event of this.events) apply(state, event(self), env);
    return { state, env };
  }

  #keep(line: ScriptLine, change: Partial<LineEvent> = {}): ScriptLine {
    this.events.push((self) => lineEvent(line, self, change));
    return line;
  }
}

/** The place of a line, as `last` and `left` name it. */
export function placeOf({ line, message }: ScriptLine): LogPlace {
  return { lines: line, seq: message.seq, eventId: message.id };
}

/** An agent is away since then. */
export function away(handle: string, atMs = NOON): Absences {
  return new Map([[handle, [{ atMs, logs: new Map(), back: undefined } satisfies Absence]]]);
}

/** An agent left before, and is back since then; its first lines after that are these. */
export function back(handle: string, atMs = NOON, first: Record<string, number> = {}): Absences {
  const places = Object.entries(first).map(([log, lines]): [string, LogPlace] => [
    log,
    { lines, seq: lines, eventId: undefined },
  ]);
  const returned = { atMs, logs: new Map(places) };
  return new Map([
    [handle, [{ atMs: NOON - 1, logs: new Map(), back: returned } satisfies Absence]],
  ]);
}
