import type { Membership } from "../../carriers/folder.ts";
import { Members } from "../../protocol/asks/members.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { Store } from "../../store/store.ts";
import type { AgentConfig } from "./agent-config.ts";

type Known = Pick<AgentConfig, "handle" | "paths" | "config" | "pinned">;

/**
 * Who is and was on the wire, as far as the agent's store knows: without one, by the pinned roster. A daemon knows it
 * without this. Spec 3.11.
 *
 * @throws StorageError
 */
export function knownMembership(disk: Disk, place: Known): Membership {
  const { handle, paths, config, pinned } = place;
  if (disk.stat(paths.store) === undefined)
    return { handle, handles: [...pinned.roster.keys()], members: pinned.roster };
  const store = Store.openToRead(paths.store);
  try {
    const history = store.history(config.wireId ?? paths.wireKey);
    const { handles, roster: members } = new Members(history, pinned).inForce;
    return { handle, handles, members };
  } finally {
    store.close();
  }
}

/** Every handle of any roster. @throws StorageError */
export function knownHandles(disk: Disk, place: Known): readonly string[] {
  return knownMembership(disk, place).handles;
}
