import { join } from "node:path";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockFolder } from "../../storage/disk/kernel-lock.ts";
import { withFields } from "../documents/sorted-json.ts";
import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import { stateOf } from "../rules/round.ts";
import { isOneBehind } from "../rules/validate.ts";
import { readHead, PROTOCOL_FILE } from "./read-round.ts";

/** Longer than any append takes, also on a slow disk. */
const FOLDER_LOCK_WAIT_MS = 10_000;

/** Does something while no other command of ours writes into that folder. */
export function whileLocked<T>(folder: string, work: () => T): T {
  const lock = takeFolderLock(folder);
  if (lock === undefined) {
    throw new RoundRefused([
      `${folder}: another command is writing there, or it was replaced: try again`,
    ]);
  }
  try {
    return work();
  } finally {
    lock.release();
  }
}

function takeFolderLock(folder: string): ReturnType<typeof lockFolder> {
  try {
    return lockFolder(folder, FOLDER_LOCK_WAIT_MS);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const problem = error.code === "missing" ? `${folder}: no such folder` : error.message;
    throw new RoundRefused([problem], { cause: error });
  }
}

/**
 * Gives the last event its `protocol.json`, which a crash has left behind. Answers that event's seq;
 * undefined when there is nothing to do. Under the lock. Spec 6.3.
 */
export function completeProtocol(
  disk: Disk,
  folder: string,
  schema: Schema | undefined,
): number | undefined {
  const { round, protocolText } = readHead(disk, folder, schema);
  const state = stateOf(round);
  const last = round.events.events.at(-1);
  if (state === undefined || last === undefined || !isOneBehind(round)) return undefined;
  if (JSON.stringify(state) === JSON.stringify(round.protocol.recorded)) return undefined;
  writeProtocol(disk, folder, protocolText, { ...state, updatedAt: last.at });
  return last.seq;
}

/** Replaces fields of `protocol.json`, by a rename; all others stay as they are. */
export function writeProtocol(
  disk: Disk,
  folder: string,
  text: string,
  fields: Readonly<Record<string, unknown>>,
): void {
  const path = join(folder, PROTOCOL_FILE);
  const mode = disk.stat(path)?.mode ?? 0o644;
  disk.replace(path, Buffer.from(withFields(text, fields), "utf8"), mode & 0o777);
}

/** ISO-8601 in UTC, seconds. */
export function formatSeconds(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z");
}
