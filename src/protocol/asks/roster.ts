import { isSamePlace, type ChainPlace } from "../../wire/places.ts";
import { isMembersChange, readAsk } from "./ask-line.ts";
import type { History } from "./history.ts";
import { isSameRoster, readMembersChange, rosterThread, type Roster } from "./members-change.ts";
import { outcomeOf } from "./outcome.ts";

/** The first members of an epoch, as the operator has pinned them. */
export interface PinnedRoster {
  readonly roster: Roster;
  readonly epoch: number;
}

export interface RosterInForce {
  readonly roster: Roster;
  /** What the next change follows: the epoch, or the close of the last change that is applied. */
  readonly after: number | ChainPlace;
  /** Two changes follow the same one: nothing behind it is applied before an operator begins a new epoch. */
  readonly isForked: boolean;
}

/** Who is a member, by the lines that are held. Spec of the next wire, 3.11. */
export function rosterInForce(history: History, { roster, epoch }: PinnedRoster): RosterInForce {
  let reached: Roster = roster;
  let after: number | ChainPlace = epoch;
  const counted: ChainPlace[] = [];
  for (;;) {
    const [next, other] = approvedAfter(history, after, reached);
    if (next === undefined || other !== undefined) {
      const members = new Map(
        [...reached].filter(([handle]) => !hasLeft(history, handle, counted)),
      );
      return { roster: members, after, isForked: other !== undefined };
    }
    counted.push(...next.leaves);
    reached = next.makes;
    after = next.close;
  }
}

interface Applied {
  readonly makes: Roster;
  readonly leaves: readonly ChainPlace[];
  readonly close: ChainPlace;
}

function approvedAfter(
  history: History,
  after: number | ChainPlace,
  reached: Roster,
): readonly Applied[] {
  return history.proposals(rosterThread(history.wireId, after)).flatMap((line) => {
    const ask = readAsk(line);
    const change = isMembersChange(line.body) ? readMembersChange(line.body) : undefined;
    if (ask === undefined || change === undefined || !isSameAfter(change.after, after)) return [];
    const leaving = new Set(change.leaves.map(({ author }) => author));
    const left = new Map([...reached].filter(([handle]) => !leaving.has(handle)));
    const isLeavingOnce = left.size === reached.size - change.leaves.length;
    const doesStart = isLeavingOnce && isSameRoster(change.starts, left);
    if (typeof after === "number" && !doesStart) return [];
    const outcome = outcomeOf(history, ask);
    if (outcome.is !== "approved") return [];
    return [{ makes: change.makes, leaves: change.leaves, close: outcome.close }];
  });
}

function isSameAfter(one: number | ChainPlace, other: number | ChainPlace): boolean {
  if (typeof one === "number" || typeof other === "number") return one === other;
  return isSamePlace(one, other);
}

function hasLeft(history: History, handle: string, counted: readonly ChainPlace[]): boolean {
  return history
    .leaves(handle)
    .some(({ place }) => !counted.some((each) => isSamePlace(each, place)));
}
