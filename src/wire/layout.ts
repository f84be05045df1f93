import { quote } from "./quote.ts";
import { membersOf, NOBODY_LEFT, type Absences } from "./roster/members.ts";

/** One agent's append-only file. `path` is relative to the wire's folder. */
export interface Log {
  readonly name: string;
  readonly owner: string;
  /** The one reader, in layout `pairwise`. */
  readonly addressee: string | undefined;
  readonly path: string;
  /** Of a closed log of a pair: the outbox in which its author goes on. Spec 1.6. */
  readonly into?: string;
  /** Of an outbox: the closed logs of its author that it continues, by handle. */
  readonly continues?: readonly string[];
}

export interface Layout {
  readonly kind: "pairwise" | "outbox";
  /** Everybody who was ever a member: what is past is read by it. */
  readonly roster: readonly string[];
  /** Those who are members now: of them alone something new is asked. Spec 1.1. */
  readonly members: readonly string[];
  readonly left: Absences;
  readonly logs: ReadonlyMap<string, Log>;
}

/**
 * The logs of a wire by name. Names are formed from the roster; a file name is never split.
 * Spec 1.1. The roster must have passed `rosterProblems`, the closed logs `closedProblems`.
 *
 * @param closed logs of pairs that are part of a wire that has moved to outboxes. Spec 1.6
 */
export function makeLayout(
  kind: Layout["kind"],
  roster: readonly string[],
  left: Absences = NOBODY_LEFT,
  closed: readonly string[] = [],
): Layout {
  const known = { kind, roster, members: membersOf(roster, left), left };
  if (kind === "pairwise") return { ...known, logs: byName(pairLogs(roster)) };
  const ended = pairLogs(roster)
    .filter(({ name }) => closed.includes(name))
    .map((log): Log => ({ ...log, into: log.owner }));
  const outboxes = roster.map((owner): Log => {
    const own = ended.filter((log) => log.owner === owner);
    const byReader = own.toSorted((a, b) => ((a.addressee ?? "") < (b.addressee ?? "") ? -1 : 1));
    const names = byReader.map(({ name }) => name);
    const outbox = { name: owner, owner, addressee: undefined, path: `outbox/${owner}.jsonl` };
    return names.length === 0 ? outbox : { ...outbox, continues: names };
  });
  // A closed log comes before the outbox that goes on with it, wherever logs are read in turn.
  return { ...known, logs: byName([...ended, ...outboxes]) };
}

function byName(logs: readonly Log[]): Map<string, Log> {
  return new Map(logs.map((log) => [log.name, log]));
}

/** The logs of a roster in layout `pairwise`. */
function pairLogs(roster: readonly string[]): Log[] {
  return roster.flatMap((owner) =>
    roster
      .filter((addressee) => addressee !== owner)
      .map((addressee) => {
        const name = pairName(owner, addressee);
        return { name, owner, addressee, path: `${name}.jsonl` };
      }),
  );
}

/** Names of all logs that a pairwise wire of that roster has: what it closes when it moves. */
export function pairNames(roster: readonly string[]): readonly string[] {
  return pairLogs(roster).map(({ name }) => name);
}

/** Why those logs cannot be the closed ones of a wire with that roster; empty when they can. */
export function closedProblems(roster: readonly string[], closed: readonly string[]): string[] {
  const names = new Set(pairNames(roster));
  const unknown = closed.filter((name) => !names.has(name));
  const taken = closed.filter((name) => roster.includes(name));
  return [
    ...unknown.map((name) => `has ${quote(name)}, which is the log of no pair of the roster`),
    ...taken.map((name) => `has ${quote(name)}, which is a handle too: both would be one log`),
  ];
}

/** The logs that `handle` has written, closed ones included. */
export function ownLogs(layout: Layout, handle: string): readonly Log[] {
  return [...layout.logs.values()].filter((log) => log.owner === handle);
}

/** The logs that `handle` writes now. */
export function openLogs(layout: Layout, handle: string): readonly Log[] {
  return ownLogs(layout, handle).filter(({ into }) => into === undefined);
}

/** The name of the log into which its author writes what belongs to that one: its outbox once it is closed. */
export function writtenTo({ name, into }: Log): string {
  return into ?? name;
}

/** The logs of the same author that come before that one: an outbox goes on with closed logs. Spec 1.6. */
export function logsBefore(layout: Layout, { continues = [] }: Log): readonly Log[] {
  return continues.flatMap((name) => layout.logs.get(name) ?? []);
}

/**
 * Where `handle` answers what is in `log`: undefined when it is the log's own author, is not
 * its addressee, or is not in the roster. What is in a closed log is answered in the closed log of
 * its reader, and in that one's outbox after it. Spec 1.6.
 */
export function answerLog(layout: Layout, log: Log, handle: string): Log | undefined {
  if (handle === log.owner) return undefined;
  if (log.addressee === undefined) return layout.logs.get(handle);
  if (log.addressee !== handle) return undefined;
  return layout.logs.get(pairName(handle, log.owner));
}

/**
 * The logs into which a message by `from` to these recipients is written, each once; `"*"` means
 * every other member. Recipients outside the roster have no log and are passed over: who sends
 * checks them first.
 */
export function logsTo(layout: Layout, from: string, to: readonly string[]): readonly Log[] {
  const everyone = to.includes("*");
  return openLogs(layout, from).filter((log) =>
    log.addressee === undefined
      ? everyone || to.some((handle) => layout.roster.includes(handle))
      : (everyone && layout.members.includes(log.addressee)) || to.includes(log.addressee),
  );
}

function pairName(from: string, to: string): string {
  return `${from}_to_${to}`;
}
