import { basename, dirname } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { sha256Hex } from "../../wire/canonical.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { lockFolder } from "../../storage/disk/kernel-lock.ts";
import type { Change } from "../plan/changes.ts";
import { parsePlan, type PlanDocument, type PlanRead } from "../plan/parse-plan.ts";
import { problemText, type Problem } from "../plan/problem.ts";
import { MAX_PLAN_BYTES } from "../plan/source.ts";

/** Longer than any change of a plan takes, also on a slow disk. */
const PLAN_LOCK_WAIT_MS = 10_000;
/** A file that a person saves again and again while we change it. */
const MAX_CHANGED_MEANWHILE = 5;

/** A plan file as it was read. */
export interface ReadPlan {
  readonly read: PlanRead;
  /** Of the bytes, in hex: another one means another text. */
  readonly hash: string;
}

/** A plan with the hash of its file. */
export type HashedPlan = PlanDocument & { readonly hash: string };

/** Reads a plan file; what is wrong with its content is a value. Throws when there is none. */
export function readPlanFile(disk: Disk, file: string): ReadPlan {
  const { bytes } = bytesOf(disk, file);
  return { read: parsePlan(bytes, basename(file)), hash: sha256Hex(bytes) };
}

/** What its text is now, without judging it. Throws when there is none. */
export function hashOfPlan(disk: Disk, file: string): string {
  return sha256Hex(bytesOf(disk, file).bytes);
}

/** The same, for those who can do nothing with a broken plan. Throws DeaddropError with the lines. */
export function validPlan(disk: Disk, file: string): HashedPlan {
  const { read, hash } = readPlanFile(disk, file);
  if (!read.ok) throw broken(file, read.problems);
  return { ...read, hash };
}

/**
 * Changes a plan file: read, change, judge, write by rename, all under the lock of its folder. A person's
 * save in between is read first. What would make the plan invalid is refused, and nothing is written.
 * Throws DeaddropError.
 */
export function changePlanFile(
  disk: Disk,
  file: string,
  change: (document: PlanDocument) => Change,
): HashedPlan {
  const lock = lockFolder(dirname(file), PLAN_LOCK_WAIT_MS);
  if (lock === undefined) {
    throw new DeaddropError("storage", `${file}: another command is changing it`, {
      hint: "try again; nothing was changed",
    });
  }
  try {
    for (let tries = 0; tries < MAX_CHANGED_MEANWHILE; tries += 1) {
      const changed = changeOnce(disk, file, change);
      if (changed !== undefined) return changed;
    }
    throw new DeaddropError("storage", `${file} is changed by another program all the time`, {
      hint: "close it there, and try again; nothing was changed",
    });
  } finally {
    lock.release();
  }
}

/** Undefined when the file was changed meanwhile. */
function changeOnce(
  disk: Disk,
  file: string,
  change: (document: PlanDocument) => Change,
): HashedPlan | undefined {
  const before = validPlan(disk, file);
  const changed = change(before);
  if (!changed.ok) throw new DeaddropError("refused", `${changed.reason}; nothing was changed`);
  if (changed.edits.length === 0) return before;
  const bytes = Buffer.from(before.source.withEdits(changed.edits), "utf8");
  const read = parsePlan(bytes, basename(file));
  if (!read.ok) throw broken(file, read.problems, "the change would break the plan");
  const now = bytesOf(disk, file);
  if (sha256Hex(now.bytes) !== before.hash) return undefined;
  disk.replace(file, bytes, now.mode);
  return { ...read, hash: sha256Hex(bytes) };
}

/** `what`: before the problems. */
export function broken(
  file: string,
  problems: readonly Problem[],
  what = "the plan cannot be used",
): DeaddropError {
  const lines = problems.map((problem) => problemText(basename(file), problem));
  return new DeaddropError("refused", [`${what}:`, ...lines].join("\n"), {
    hint: "correct these lines; `deaddrop plan validate` looks again",
  });
}

function bytesOf(disk: Disk, file: string): { bytes: Uint8Array; mode: number } {
  try {
    const stat = disk.stat(file);
    const bytes = readWhole(disk, file, MAX_PLAN_BYTES);
    if (stat !== undefined && bytes !== undefined) return { bytes, mode: stat.mode };
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== "corrupt") throw error;
    throw new DeaddropError("refused", `${error.message}`, {
      hint: "this is no plan",
      cause: error,
    });
  }
  throw new DeaddropError("config", `${file}: no such plan`, {
    hint: "name the file of a plan; `deaddrop plan init` makes one",
  });
}
