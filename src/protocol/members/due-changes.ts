import { openLogs, ownLogs } from "../../wire/layout.ts";
import { firstLineNow, type LogPlace } from "../../wire/roster/members.ts";
import { parseTimestamp } from "../../wire/timestamp.ts";
import { proposalsById } from "../decisions/proposals-state.ts";
import type { Env } from "../env.ts";
import { markAt } from "../logs/chain-marks.ts";
import type { LogsState } from "../logs/logs-state.ts";
import type { State } from "../state.ts";
import type { Farewell, MemberChange, MembersState } from "./member-changes.ts";

/** What a change makes of the configuration, once an operator applies it. Spec 1.1, 3.11. */
export interface Membership {
  readonly handle: string;
  readonly becomes: "new" | "back" | "left";
  readonly atMs: number;
  /** Of one that left its last lines, of one that is back its first ones, by log. */
  readonly logs: ReadonlyMap<string, LogPlace>;
  /** The proposal that is applied; undefined: an agent left by itself. */
  readonly changedBy: string | undefined;
}

/** A change of members that was asked for, and what has come of it. */
export interface KnownChange {
  /** The event id of the proposal, or of the last line of one that left. */
  readonly by: string;
  readonly from: string;
  readonly handle: string;
  readonly becomes: Membership["becomes"];
  /** Of the proposal; `announced` where an agent leaves by itself. */
  readonly status: "open" | "announced" | "ratified" | "ended";
  /** Why it cannot be applied; undefined: it can, once it is ratified. */
  readonly problem: string | undefined;
  /** Our agent has proposed or acked it. */
  readonly supported: boolean;
  /** Undefined until it is ratified. */
  readonly membership: Membership | undefined;
}

type MembersFacts = Pick<State, "members" | "proposals" | "logs">;

/** The changes that are not applied here, oldest first. Spec 3.11. */
export function knownChanges(
  { members, proposals, logs: held }: MembersFacts,
  env: Env,
): KnownChange[] {
  const asked = [...members.changes.values()].flatMap((change): KnownChange[] => {
    if (change.id === env.membersChangedBy) return [];
    const [proposal] = proposalsById(proposals, change.id, env);
    const outcome = proposal?.outcome;
    const isRatified = outcome?.status === "ratified";
    const problem = problemOf(change, env);
    // What was applied before the last change stays remembered; it is over.
    if (isRatified && problem !== undefined && !isNext(change, env)) return [];
    const becomes = becomesOf(change, env);
    const atMs = parseTimestamp(outcome?.at ?? "");
    const { id, from, member: handle, logs, supported } = change;
    const membership =
      isRatified && atMs !== undefined ? { handle, becomes, atMs, logs, changedBy: id } : undefined;
    const status = outcome === undefined ? "open" : isRatified ? "ratified" : "ended";
    return [{ by: id, from, handle, becomes, status, problem, supported, membership }];
  });
  return [...asked, ...leavings(members, held, env)];
}

/** The ones of them that an operator can apply now. */
export function dueChanges(state: MembersFacts, env: Env): KnownChange[] {
  return knownChanges(state, env).filter(
    ({ membership, problem }) => membership !== undefined && problem === undefined,
  );
}

function isNext({ after }: MemberChange, { membersChangedBy }: Env): boolean {
  return after === membersChangedBy;
}

function becomesOf({ action, member }: MemberChange, { layout }: Env): Membership["becomes"] {
  if (action === "remove_member") return "left";
  return layout.roster.includes(member) ? "back" : "new";
}

/**
 * Why a change cannot be applied, by our configuration. Proposer, acker and operator ask this one
 * function. Spec 3.11.
 */
function problemOf(
  change: Pick<MemberChange, "action" | "member" | "after" | "required" | "from">,
  env: Env,
): string | undefined {
  const { members } = env.layout;
  const { action, member, after, required, from } = change;
  if (after !== env.membersChangedBy) return "another change of members was applied before it";
  if (!members.includes(from)) return `${from} is no member`;
  const isMember = members.includes(member);
  if (action === "add_member" && isMember) return `${member} is a member already`;
  if (action === "remove_member" && !isMember) return `${member} is no member`;
  if (action === "remove_member" && members.length < 3) {
    return "a removal needs three members; one that is gone leaves with: deaddrop config accept --member-left";
  }
  if (env.layout.kind === "pairwise" && action === "add_member" && members.length >= 2) {
    return "more than two members need one outbox each: deaddrop layout outbox";
  }
  const missing = members.filter(
    (each) => each !== from && each !== member && !required.includes(each),
  );
  return missing.length === 0 ? undefined : `it does not ask ${missing.join(", ")}`;
}

/** Those who have written their last lines, into all of their logs that a member reads. */
function leavings({ farewells }: MembersState, held: LogsState, env: Env): KnownChange[] {
  const { layout } = env;
  return layout.members.flatMap((handle): KnownChange[] => {
    const logs = lastLinesHeld(held, env, handle);
    const last: Farewell[] = [];
    // A closed log has ended already; what is written to none any more ends where we hold it.
    for (const { name, addressee } of openLogs(layout, handle)) {
      const farewell = farewells.get(name);
      const isNow =
        farewell?.from === handle && farewell.line >= firstLineNow(layout.left, handle, name);
      if (isNow) {
        const { line: lines, seq, id: eventId } = farewell;
        logs.set(name, { lines, seq, eventId });
        last.push(farewell);
      } else if (addressee === undefined || layout.members.includes(addressee)) return [];
    }
    const [first] = last;
    if (first === undefined) return [];
    const atMs = Math.max(...last.map(({ timestampMs }) => timestampMs));
    const supported = last.some((each) => each.supported);
    const membership = { handle, becomes: "left", atMs, logs, changedBy: undefined } as const;
    const plain = { by: first.id, from: handle, handle, becomes: "left" } as const;
    return [{ ...plain, status: "announced", problem: undefined, supported, membership }];
  });
}

/** The last lines of an agent, as far as we hold its logs; of one that comes back those before it. */
export function lastLinesHeld(logs: LogsState, env: Env, handle: string): Map<string, LogPlace> {
  return new Map(
    ownLogs(env.layout, handle).flatMap(({ name }): [string, LogPlace][] => {
      const log = logs.get(name);
      if (log === undefined || log.lines === 0) return [];
      const mark = markAt(log.marks, -1);
      return [[name, { lines: log.lines, seq: mark?.seq, eventId: mark?.id }]];
    }),
  );
}

/**
 * What speaks against a change that an agent of ours is about to propose or to ack: one change for each
 * `after`, until that has ended without ratification; and no member may have covered words of one that is
 * removed behind its last line. Spec 3.11.
 */
export function supportProblem(
  state: MembersFacts,
  change: Pick<MemberChange, "action" | "member" | "after" | "required" | "from" | "logs">,
  id: string | undefined,
  env: Env,
): string | undefined {
  const problem = problemOf(change, env);
  if (problem !== undefined) return problem;
  const rival = knownChanges(state, env).find(
    ({ by, supported, status }) =>
      by !== id &&
      supported &&
      (status === "open" || status === "ratified") &&
      state.members.changes.get(by)?.after === change.after,
  );
  if (rival !== undefined) {
    return `you have agreed to another change of members, which is ${rival.status}: ${rival.by.slice(0, 12)}`;
  }
  if (change.action !== "remove_member") return undefined;
  const passed = ownLogs(env.layout, change.member).find(({ name }) =>
    isPassed(state.logs, name, change.logs.get(name)?.lines ?? 0),
  );
  return passed === undefined
    ? undefined
    : `${change.member} has written more since, which members have received; propose the removal again`;
}

/** Whether a member has covered a line of that log behind the given one that is no heartbeat. */
function isPassed(logs: LogsState, name: string, last: number): boolean {
  const said = logs.get(name)?.said ?? 0;
  if (said <= last) return false;
  return [...logs.values()].some(
    ({ covers }) => (covers.get(name)?.steps.at(-1)?.lines ?? 0) > last,
  );
}
