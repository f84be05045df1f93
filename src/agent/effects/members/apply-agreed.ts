import { dueChanges } from "../../../protocol/members/due-changes.ts";
import { StorageError } from "../../../storage/disk/disk.ts";
import { applyMembership } from "../../config/change-members.ts";
import type { Session } from "../../session/session.ts";

/**
 * Applies a change of members that our own agent has acked, where the operator allows that
 * (`members.by_ack`). True: the configuration has to be read again. Spec 3.11.
 */
export function applyAgreed(session: Pick<Session, "world" | "place" | "memory" | "env">): boolean {
  const { world, place, memory, env } = session;
  if (!place.settings.membersByAck) return false;
  const change = dueChanges(memory.state, env).find(
    ({ supported, handle }) => supported && handle !== place.handle,
  );
  if (change?.membership === undefined) return false;
  try {
    const file = applyMembership(world.disk, place, change.membership);
    const { handle, becomes } = change.membership;
    world.log.info({ by: change.by, handle, becomes, file }, "members have changed");
    return true;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    world.log.warn({ code: error.code }, `members are not changed: ${error.message}`);
    return false;
  }
}
