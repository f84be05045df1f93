import { markUpTo } from "../logs/chain-marks.ts";
import { knownChanges, lastLinesHeld, type KnownChange } from "./due-changes.ts";
import { answerLog, ownLogs } from "../../wire/layout.ts";
import { isAway, type LogPlace } from "../../wire/roster/members.ts";
import { placesJson, type PlaceJson } from "../../trust/policy/left-members.ts";
import type { Env } from "../env.ts";
import type { State } from "../state.ts";

/** One handle of the roster. */
export interface MemberRow {
  handle: string;
  is: "member" | "left";
  /** Since when it is that, by the configuration; null: from the beginning. */
  since: string | null;
  /** Its last lines that we hold, by log. */
  held: Record<string, PlaceJson>;
  /** Its last lines that our own heartbeats cover, by log. */
  covered: Record<string, PlaceJson>;
}

/** A change of members that is not applied here. */
export interface MemberChangeView {
  /** Event id of the proposal, or of the line in which an agent says that it leaves. */
  event_id: string;
  from: string;
  handle: string;
  becomes: KnownChange["becomes"];
  status: KnownChange["status"];
  /** Whether `deaddrop member accept` applies it now. */
  due: boolean;
  /** Why it cannot be applied; null: it can, once all have agreed. */
  problem: string | null;
  /** When it was agreed; null: not yet. */
  at: string | null;
  /** Of one that leaves its last lines, of one that comes back its first ones, by log. */
  logs: Record<string, PlaceJson>;
}

/** Who is a member of this wire, and what is to change. Spec 3.11. */
export interface MembersView {
  roster: MemberRow[];
  /** The proposal by which members changed last; null: by none. */
  changed_by: string | null;
  changes: MemberChangeView[];
}

export function membersView(state: State, env: Env): MembersView {
  const { layout } = env;
  return {
    roster: layout.roster.map((handle) => ({
      handle,
      is: layout.members.includes(handle) ? "member" : "left",
      since: sinceOf(handle),
      held: placesJson(lastLinesHeld(state.logs, env, handle)),
      covered: placesJson(covered(handle)),
    })),
    changed_by: env.membersChangedBy ?? null,
    changes: knownChanges(state, env)
      .filter(({ status }) => status !== "ended")
      .map((change) => ({
        event_id: change.by,
        from: change.from,
        handle: change.handle,
        becomes: change.becomes,
        status: change.status,
        due: change.membership !== undefined && change.problem === undefined,
        problem: change.problem ?? null,
        at: isoTime(change.membership?.atMs),
        logs: placesJson(change.membership?.logs ?? new Map<string, LogPlace>()),
      })),
  };

  function sinceOf(handle: string): string | null {
    const last = layout.left.get(handle)?.at(-1);
    return isoTime(isAway(layout.left, handle) ? last?.atMs : last?.back?.atMs);
  }

  function covered(handle: string): Map<string, LogPlace> {
    return new Map(
      ownLogs(layout, handle).flatMap((log): [string, LogPlace][] => {
        const ours = answerLog(layout, log, env.self);
        const held = state.logs.get(log.name);
        const steps = ours && state.logs.get(ours.name)?.covers.get(log.name)?.steps;
        const lines = steps?.at(-1)?.lines;
        if (held === undefined || lines === undefined) return [];
        const mark = markUpTo(held.marks, lines);
        return [[log.name, { lines, seq: mark?.seq, eventId: mark?.id }]];
      }),
    );
  }
}

function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
