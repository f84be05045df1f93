import type { StorageError } from "../../storage/disk/disk.ts";
import type { Session } from "../session/session.ts";

/** What disk trouble is shown of, and since when: wall ms. */
export interface DiskTrouble {
  readonly area: "own files" | "private files" | "wire files";
  readonly error: StorageError;
  readonly sinceMs: number;
}

/** An agent that is asked, and what runs it. */
export interface Asked {
  readonly session: Session;
  /** Our own process is the daemon. */
  readonly isDaemon: boolean;
  readonly diskTroubles: readonly DiskTrouble[];
}
