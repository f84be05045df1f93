import { stateToSay } from "../../protocol/heartbeats/beats.ts";
import { peersView } from "../../protocol/heartbeats/liveness.ts";
import { pendingView } from "../../protocol/threads/threads-view.ts";
import type { ObligationView, TeamMemberView } from "../../api/views.ts";
import type { Session } from "../session/session.ts";

/** Of what somebody waits for or owes so many are listed, the oldest; the others are counted. */
const MAX_OWED = 8;

/** Who is what, doing what, waiting for what: all agents of the wire, ourselves first. Spec 3.8. */
export function teamView(
  { memory, env, world }: Pick<Session, "memory" | "env" | "world">,
  isDaemon: boolean,
): TeamMemberView[] {
  const { state } = memory;
  const nowMs = world.clock.wallMs();
  const pending = pendingView(state, env, nowMs);
  const { heartbeats } = state;
  const { agentLastSeen, lastAction } = heartbeats;
  const says = stateToSay(state, env);
  const self = {
    handle: env.self,
    is_self: true,
    presence: says === "paused" ? says : isDaemon ? "online" : "unknown",
    state: says,
    last_action: lastAction ?? null,
    agent_last_seen: agentLastSeen === undefined ? null : new Date(agentLastSeen).toISOString(),
  } as const;
  const peers = peersView(state, env, nowMs).map((peer) => {
    const { handle, presence, state: says, last_action, agent_last_seen } = peer;
    return { handle, is_self: false, presence, state: says, last_action, agent_last_seen };
  });
  return [self, ...peers].map((member) => ({
    ...member,
    ...listed(pending, ({ from }) => from === member.handle, "waits_for"),
    ...listed(pending, ({ owed_by }) => owed_by === member.handle, "owes"),
  }));
}

function listed<Name extends "waits_for" | "owes">(
  pending: readonly ObligationView[],
  isMeant: (each: ObligationView) => boolean,
  name: Name,
) {
  const all = pending.filter(isMeant);
  const counted = { [name]: all.slice(0, MAX_OWED), [`${name}_in_all`]: all.length };
  return counted as Record<Name, ObligationView[]> & Record<`${Name}_in_all`, number>;
}
