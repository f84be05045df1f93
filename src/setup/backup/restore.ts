import { DeaddropError } from "../../api/errors.ts";
import type { Backup } from "../../storage/private/backup-file.ts";
import { readWhole, StorageError, type Disk, LOCK_WAIT_MS } from "../../storage/disk/disk.ts";
import { lockHolder, takeLock, type LockNote } from "../../storage/disk/lock.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { preparePrivateFolders, rememberWire } from "../../storage/private/private-folders.ts";
import type { SetupHost } from "../host.ts";
import { planRestore, type RestorePlan } from "./restore-plan.ts";
import { DAY_MS } from "../../wire/durations.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** What the operator has agreed to. */
export interface Agreed {
  readonly acceptOlder: boolean;
  readonly replaceKey: boolean;
}

const MAX_SHOWN = 8;
/** After that it has to be agreed to once more: meanwhile the agent may have gone on. */
const INTERRUPTED_LIMIT_MS = DAY_MS;

/**
 * Plans a restore and says whether it may be done as it is: throws "already_running" while a daemon
 * has the identity, and "refused" for what was not agreed to. Writes nothing.
 */
export function checkRestore(
  host: SetupHost,
  backup: Backup,
  wireDir: string,
  agreed: Agreed,
): RestorePlan {
  const plan = planRestore(host, backup, wireDir);
  const holder = lockHolder(host.disk, plan.paths.lock);
  if (holder !== undefined) throw inUse(plan.paths, holder);
  requireAgreed(host, plan, agreed);
  return plan;
}

/**
 * Restores, under the identity's lock. Each file is the old or the new one at every instant; the
 * agent's own key comes last, so that nothing signs on a machine that is half restored. An
 * interrupted restore goes on when it is repeated: a note in the state folder says which one that is,
 * since by then what it has written itself is newer here than in the backup.
 */
export function restore(
  host: SetupHost,
  backup: Backup,
  wireDir: string,
  agreed: Agreed,
): RestorePlan {
  const { disk } = host;
  const { paths } = checkRestore(host, backup, wireDir, agreed);
  preparePrivateFolders(disk, paths);
  const note = { pid: process.pid, role: "command", since: new Date(host.nowMs).toISOString() };
  const attempt = takeLock(disk, paths.lock, note as LockNote, LOCK_WAIT_MS);
  if (!attempt.ok) throw inUse(paths, attempt.holder);
  try {
    const plan = alone(disk, paths.trustLock, () =>
      alone(disk, paths.pairingLock, () => {
        // Planned again: until now others could change what is here.
        const current = planRestore(host, backup, wireDir);
        requireAgreed(host, current, agreed);
        carryOut(host, current, backup);
        return current;
      }),
    );
    // Last of all: who dies before it has only to repeat the command.
    disk.remove(paths.restoring);
    return plan;
  } finally {
    attempt.lock.release();
  }
}

function carryOut({ disk, nowMs }: SetupHost, plan: RestorePlan, backup: Backup): void {
  const { paths, steps, digest } = plan;
  if (steps.length > 0) {
    const begun = `${JSON.stringify({ sha256: digest, at_ms: nowMs })}\n`;
    disk.replace(paths.restoring, Buffer.from(begun, "utf8"), PRIVATE_FILE);
  }
  rememberWire(disk, paths, backup.wireId);
  for (const { path, bytes } of steps) {
    if (bytes === undefined) disk.remove(path);
    else disk.replace(path, bytes, PRIVATE_FILE);
  }
}

function requireAgreed(host: SetupHost, plan: RestorePlan, agreed: Agreed): void {
  if (isGoingOn(host, plan)) return;
  const [key] = plan.replaced;
  if (key !== undefined && !agreed.replaceKey) {
    throw new DeaddropError(
      "refused",
      `${key.path}: another key is here (${key.here}) than in the backup (${key.backup})`,
      {
        hint: `check which of the two your peers have pinned (deaddrop trust list on their side). To put the backup's in its place: --replace-key; the one here is kept as ${key.keptAs}`,
      },
    );
  }
  if (plan.older.length > 0 && !agreed.acceptOlder) {
    const lines = ["this backup is older than what is here", ...shownReasons(plan)];
    throw new DeaddropError("refused", lines.join("\n"), {
      hint: "restore the newest backup. If this is the newest: --accept-older; what is newer here and was kept stays in force (docs/backup.md)",
    });
  }
}

/** At most so many that they can be read. */
export function shownReasons({ older }: RestorePlan): readonly string[] {
  if (older.length <= MAX_SHOWN) return older;
  return [...older.slice(0, MAX_SHOWN), `and ${older.length - MAX_SHOWN} more`];
}

/** This very restore was agreed to a short while ago, and interrupted. */
export function isGoingOn({ disk, nowMs }: SetupHost, { paths, digest }: RestorePlan): boolean {
  const text = Buffer.from(readWhole(disk, paths.restoring) ?? []).toString("utf8");
  const begun = /^\{"sha256":"([0-9a-f]{64})","at_ms":(\d+)\}\n$/.exec(text);
  return begun?.[1] === digest && Math.abs(nowMs - Number(begun[2])) < INTERRUPTED_LIMIT_MS;
}

function alone<T>(disk: Disk, lockPath: string, act: () => T): T {
  const lock = disk.open(lockPath, "append", PRIVATE_FILE);
  try {
    if (lock.lock(LOCK_WAIT_MS)) return act();
    throw new StorageError("locked", lockPath, "another program is changing what it guards", {
      hint: "wait for that command to end, then repeat this one",
    });
  } finally {
    lock.close();
  }
}

function inUse(paths: AgentPaths, holder: LockNote | undefined): DeaddropError {
  const who =
    holder === undefined ? "another program" : `the ${holder.role} with pid ${holder.pid}`;
  return new DeaddropError("already_running", `${who} has the identity of ${paths.handle}`, {
    hint: "stop it first (deaddrop service stop, or end the daemon), then restore; nothing was written",
  });
}
