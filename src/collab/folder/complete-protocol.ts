import type { Schema } from "../machine/event.ts";
import { RoundRefused } from "../refused.ts";
import { stateOf } from "../rules/round.ts";
import { isOneBehind } from "../rules/validate.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockFolder } from "../../storage/disk/kernel-lock.ts";
import { readHead } from "./read-round.ts";
import { writeProtocol } from "./write-protocol.ts";

/** Longer than any append takes, also on a slow disk. */
const FOLDER_LOCK_WAIT_MS = 10_000;

/** Does something while no other command of ours writes into that folder. */
export function whileLocked<T>(folder: string, work: () => T): T {
  const lock = locked(folder);
  try {
    return work();
  } finally {
    lock.release();
  }
}

function locked(folder: string): { release(): void } {
  try {
    const lock = lockFolder(folder, FOLDER_LOCK_WAIT_MS);
    if (lock !== undefined) return lock;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const problem = error.code === "missing" ? `${folder}: no such folder` : error.message;
    throw new RoundRefused([problem], { cause: error });
  }
  throw new RoundRefused([
    `${folder}: another command is writing there, or it was replaced: try again`,
  ]);
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
