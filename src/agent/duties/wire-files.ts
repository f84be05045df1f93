import { join } from "node:path";
import { incidentOf } from "../../api/troubles.ts";
import { safeModeSignText } from "../../protocol/escalations/safe-mode-end.ts";
import { lookOf, openUnlessObstructed, StorageError, type Disk } from "../../storage/disk/disk.ts";
import type { Duty, Ground, Known } from "./duty.ts";

// Files in the wire's folder that repeat for people what follows from signed lines. They prove nothing. Spec 1.1.

const STATE_MODE = 0o640;
const SAFE_MODE = "SAFE_MODE";
const SAFE_MODE_MODE = 0o660;
/** In `meta`: the file is there since safe mode holds for us, and we remove it when that is over. */
const IS_UP = "safe_mode_file";

/** How much mail is unread, in `<h>_state.json`: for people and for peers without receipts. */
export function stateFile({ store, place, world: { disk } }: Known, path: string): Duty {
  return {
    write() {
      const state = { agent: place.self, inbox_unread_count: store.mail.count({ unread: true }) };
      const bytes = Buffer.from(`${JSON.stringify(state)}\n`, "utf8");
      if (!holds(disk, path, bytes)) disk.replace(path, bytes, STATE_MODE);
    },
  };
}

/** Another program may have put something else there, of any size. */
function holds(disk: Disk, path: string, bytes: Buffer): boolean {
  const file = openUnlessObstructed(disk, path);
  if (file === undefined || file === "obstructed") return false;
  try {
    return file.stat().size === bytes.length && bytes.equals(file.read(bytes.length, 0));
  } finally {
    file.close();
  }
}

/**
 * `SAFE_MODE` says why most messages are not sent. One that another program has put there starts no safe mode; our
 * operator is told of it. Spec 3.5.
 */
export function safeModeFile(ground: Ground, wireDir: string): Duty {
  const { store, world } = ground;
  const { disk } = world;
  const path = join(wireDir, SAFE_MODE);
  /** The look of a file that our lines do not explain. */
  let unexplained = "";

  function noteUp(isUp: "yes" | "no"): void {
    store.write((into) => {
      into.setMeta(IS_UP, isUp);
    });
  }

  return {
    decide(into) {
      if (unexplained !== "") ground.tell(into, incidentOf("safe_mode_sign", {}, unexplained));
      unexplained = "";
      return false;
    },

    write() {
      const { safeMode } = ground;
      const isThere = disk.stat(path) !== undefined;
      const isUp = store.meta(IS_UP) === "yes";
      if (safeMode !== undefined) {
        if (!isThere) disk.replace(path, Buffer.from(safeModeSignText(safeMode)), SAFE_MODE_MODE);
        if (!isUp) noteUp("yes");
      } else if (isUp) {
        noteUp("no");
        if (isThere) removeIfAllowed(disk, path);
      } else if (isThere) unexplained = lookOf(disk, path);
    },
  };
}

/** Another user's file can be removed only by them, or by the owner of the folder. */
function removeIfAllowed(disk: Disk, path: string): void {
  try {
    disk.remove(path);
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "denied") throw error;
  }
}
