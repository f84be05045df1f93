import type { ChainPlace } from "../../wire/places.ts";
import { readAsk } from "./ask-line.ts";
import type { History } from "./history.ts";
import {
  isSameAfter,
  isSameRoster,
  readMembersChange,
  rosterThread,
  type Roster,
} from "./members-change.ts";
import { outcomeOf } from "./outcome.ts";

/** The first members of an epoch, as the operator has pinned them. */
export interface PinnedRoster {
  readonly roster: Roster;
  readonly epoch: number;
}

export interface RosterInForce {
  readonly roster: Roster;
  /** What the applied changes have made, with those who have left since. */
  readonly reached: Roster;
  /** Every handle of the first members and of what the applied changes have made, the earliest first. */
  readonly handles: readonly string[];
  /** The lines by which they have left, the first of each. */
  readonly leaves: readonly ChainPlace[];
  /** What the next change follows: the epoch, or the close of the last change that is applied. */
  readonly after: number | ChainPlace;
  /** Two changes follow the same one: nothing behind it is applied before an operator begins a new epoch. */
  readonly isForked: boolean;
}

/** Who is a member, by the lines that are held. Spec 3.11. */
export function rosterInForce(history: History, { roster, epoch }: PinnedRoster): RosterInForce {
  let reached: Roster = roster;
  let after: readonly (number | ChainPlace)[] = [epoch];
  const passed: (number | ChainPlace)[] = [epoch];
  const counted: ChainPlace[] = [];
  const handles = new Set(roster.keys());
  for (;;) {
    const [next, other] = after.flatMap((each) => approvedAfter(history, each, reached));
    if (next === undefined || other !== undefined) {
      const leaves = [...reached.keys()]
        .map((handle) => history.findLeave(handle, passed, counted))
        .filter((place) => place !== undefined);
      const left = new Set(leaves.map(({ author }) => author));
      return {
        roster: new Map([...reached].filter(([handle]) => !left.has(handle))),
        ...{ reached, leaves, handles: [...handles] },
        after: after[0] ?? epoch,
        isForked: other !== undefined,
      };
    }
    counted.push(...next.leaves);
    passed.push(...next.closes);
    reached = next.makes;
    for (const handle of reached.keys()) handles.add(handle);
    after = next.closes;
  }
}

interface Applied {
  readonly makes: Roster;
  readonly leaves: readonly ChainPlace[];
  readonly closes: readonly ChainPlace[];
}

function approvedAfter(
  history: History,
  after: number | ChainPlace,
  reached: Roster,
): readonly Applied[] {
  return history.approvedChanges(rosterThread(history.wireId, after)).flatMap((line) => {
    const ask = readAsk(line);
    const change = readMembersChange(line.body);
    if (ask === undefined || change === undefined || !isSameAfter(change.after, after)) return [];
    const leaving = new Set(change.leaves.map(({ author }) => author));
    const left = new Map([...reached].filter(([handle]) => !leaving.has(handle)));
    const isLeavingOnce = left.size === reached.size - change.leaves.length;
    const doesStart = isLeavingOnce && isSameRoster(change.starts, left);
    if (typeof after === "number" && !doesStart) return [];
    const outcome = outcomeOf(history, ask);
    if (outcome.is !== "approved") return [];
    return [{ makes: change.makes, leaves: change.leaves, closes: outcome.closes }];
  });
}
