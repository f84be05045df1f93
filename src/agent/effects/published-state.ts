import { Buffer } from "node:buffer";
import { unreadCount } from "../../protocol/receipts/receipts-state.ts";
import { openUnlessObstructed, StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { Session } from "../session/session.ts";
import { statePath } from "../../storage/paths.ts";

const STATE_MODE = 0o640;
/** Sessions that have logged that it cannot be written: another user may occupy its name. */
const told = new WeakSet<Session>();

/**
 * Publishes how far we have read in `<handle>_state.json`. A convenience for people and for peers
 * without receipts: it proves nothing; our signed beats do. Spec 1.1.
 */
export function publishState(session: Session): void {
  const { world, place, memory, env } = session;
  const positions = [...memory.intakes.values()].flatMap(({ log, cursor }) =>
    log.owner === place.handle
      ? []
      : [[log.name, { lines: cursor?.lines ?? 0, offset: cursor?.offset ?? 0 }] as const],
  );
  const state = {
    agent: place.handle,
    inbox_unread_count: unreadCount(memory.state.receipts, env),
    read: Object.fromEntries(positions),
  };
  const bytes = Buffer.from(`${JSON.stringify(state)}\n`, "utf8");
  const path = statePath(place.wire, place.handle);
  try {
    if (isPublished(world.disk, path, bytes)) return;
    world.disk.replace(path, bytes, STATE_MODE);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (told.has(session)) return;
    told.add(session);
    world.log.warn({ code: error.code }, `${path}: ${error.message}`);
  }
}

/** Another program may have put something else there, of any size. */
function isPublished(disk: Disk, path: string, bytes: Buffer): boolean {
  const file = openUnlessObstructed(disk, path);
  if (file === undefined || file === "obstructed") return false;
  try {
    return file.stat().size === bytes.length && bytes.equals(file.read(bytes.length, 0));
  } finally {
    file.close();
  }
}
