import { membersOf, NOBODY_LEFT, type Absences } from "./roster/members.ts";

/** One agent's append-only file. `path` is relative to the wire's folder. */
export interface Log {
  readonly name: string;
  readonly owner: string;
  /** The one reader, in layout `pairwise`. */
  readonly addressee: string | undefined;
  readonly path: string;
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
 * Spec 1.1. The roster must have passed `rosterProblems`.
 */
export function makeLayout(
  kind: Layout["kind"],
  roster: readonly string[],
  left: Absences = NOBODY_LEFT,
): Layout {
  const logs = new Map<string, Log>();
  for (const owner of roster) {
    if (kind === "outbox") {
      const path = `outbox/${owner}.jsonl`;
      logs.set(owner, { name: owner, owner, addressee: undefined, path });
      continue;
    }
    for (const addressee of roster) {
      if (addressee === owner) continue;
      const name = pairName(owner, addressee);
      logs.set(name, { name, owner, addressee, path: `${name}.jsonl` });
    }
  }
  return { kind, roster, members: membersOf(roster, left), left, logs };
}

function pairName(from: string, to: string): string {
  return `${from}_to_${to}`;
}

/** The logs that `handle` writes. */
export function ownLogs(layout: Layout, handle: string): readonly Log[] {
  return [...layout.logs.values()].filter((log) => log.owner === handle);
}

/**
 * Where `handle` answers what is in `log`: undefined when it is the log's own author, is not
 * its addressee, or is not in the roster.
 */
export function answerLog(layout: Layout, log: Log, handle: string): Log | undefined {
  if (handle === log.owner) return undefined;
  if (layout.kind === "outbox") return layout.logs.get(handle);
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
  return ownLogs(layout, from).filter((log) =>
    log.addressee === undefined
      ? everyone || to.some((handle) => layout.roster.includes(handle))
      : (everyone && layout.members.includes(log.addressee)) || to.includes(log.addressee),
  );
}
