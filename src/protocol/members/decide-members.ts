import type { Effect } from "../effects.ts";
import type { Env } from "../env.ts";
import type { State } from "../state.ts";
import { dueChanges, type KnownChange } from "./due-changes.ts";

/** What our operator is told once: a change of members that can be applied. Spec 3.11. */
export function decideMembers(state: State, env: Env): Effect[] {
  const due = dueChanges(state, env).filter(({ handle }) => handle !== env.self);
  return due.map((change): Effect => ({
    do: "tell",
    incident: {
      key: `members_due:${change.by}`,
      cause: "members_due",
      peer: change.from === env.self ? change.handle : change.from,
      subject: `${change.handle} ${WORDS[change.becomes]}`,
      detail: `${whoSaysSo(change)}; it holds here once you apply it: deaddrop member accept`,
      concernsWire: false,
    },
  }));
}

const WORDS: Readonly<Record<KnownChange["becomes"], string>> = {
  new: "joins this wire",
  back: "comes back to this wire",
  left: "leaves this wire",
};

function whoSaysSo({ status, from }: KnownChange): string {
  return status === "announced"
    ? `${from} has written its last line`
    : `${from} proposed it, and every member has agreed`;
}
