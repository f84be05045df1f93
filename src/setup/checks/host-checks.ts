import { closeSync, lstatSync, openSync, readdirSync, statfsSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trouble, type TroubleView } from "../../api/troubles.ts";
import { filesystemKind, type FilesystemKind } from "../../storage/disk/fs-kind.ts";
import { LOCK_HINT, lockDescriptor, wayOfLocking } from "../../storage/disk/kernel-lock.ts";
import { signatureEngine } from "../../wire/signature.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** Something that was checked and is well. */
export interface Check {
  readonly check: string;
  readonly detail: string;
}

/** What a check has found. */
export type Finding = Check | TroubleView;

export function ok(check: string, detail: string): Check {
  return { check, detail };
}

const NODE_AT_LEAST = [20, 19] as const;

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const [needMajor, needMinor] = NODE_AT_LEAST;
  return major > needMajor || (major === needMajor && minor >= needMinor)
    ? ok("node", version)
    : trouble("node_too_old", { version, needed: NODE_AT_LEAST.join(".") });
}

/** Without kernel locks neither sending nor a daemon is possible: one is taken, on a file of its own. */
export function checkLocks(folder = tmpdir()): Finding {
  const path = join(folder, `deaddrop-doctor-${process.pid}-${Date.now()}`);
  let fd: number;
  try {
    fd = openSync(path, "wx", PRIVATE_FILE);
  } catch (error) {
    const problem = `no file can be made in ${folder}: ${(error as Error).message}`;
    const hint = `make ${folder} writable for you, or set TMPDIR to a folder that is`;
    return trouble("no_locks", { problem, hint });
  }
  try {
    lockDescriptor(fd, 0);
    return ok("kernel locks", `they can be taken, by ${wayOfLocking()}`);
  } catch (error) {
    const problem = `${(error as Error).message}; ${wayOfLocking()}`;
    return trouble("no_locks", { problem, hint: LOCK_HINT });
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}

/** Both engines give the same verdicts; one costs twice the time of the other. */
export function checkSignatures(engine: string = signatureEngine().name): Finding {
  return engine === "libsodium"
    ? ok("signatures", "they are checked by libsodium")
    : trouble("slow_signatures", { engine });
}

/** Below the first nothing can be promised; below the second it is time to do something. */
const NEED_FREE_MIB = 64;
const WANT_FREE_MIB = 1024;

export function checkSpace(folder: string, what: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  return judgeSpace(what, folder, Math.floor((bavail * bsize) / 1024 ** 2));
}

/** @internal */
export function judgeSpace(what: string, folder: string, freeMib: number): Finding {
  const facts = { mib: freeMib, folder };
  if (freeMib < NEED_FREE_MIB) return trouble("disk_full", facts);
  if (freeMib < WANT_FREE_MIB) return trouble("disk_low", facts);
  return ok(`disk space, ${what}`, `${freeMib} MiB free in ${folder}`);
}

/** Changes made on another machine cause no events here, and its locks are a matter of luck. */
export function checkFilesystem(folder: string): Finding {
  return judgeFilesystem(folder, filesystemKind(folder));
}

/** @internal */
export function judgeFilesystem(folder: string, { name, events }: FilesystemKind): Finding {
  if (name === "tmpfs") return trouble("wire_in_memory", { folder });
  return events
    ? ok("filesystem", `${folder} is on ${name}`)
    : trouble("no_file_events", { folder, filesystem: name });
}

const CLOCK_NOT_BEFORE_MS = Date.UTC(2026, 0, 1);

/** A clock that is behind what others have already written, or behind this program, is wrong. */
export function checkClock(
  nowMs: number,
  wireDir: string | undefined,
  skewSeconds: number,
): Finding {
  const now = new Date(nowMs).toISOString();
  const newestMs = wireDir === undefined ? 0 : newestChangeMs(wireDir);
  if (nowMs >= CLOCK_NOT_BEFORE_MS && newestMs <= nowMs + skewSeconds * 1000)
    return ok("clock", now);
  const [what, atMs] =
    nowMs < CLOCK_NOT_BEFORE_MS ? ["this program", CLOCK_NOT_BEFORE_MS] : ["the wire", newestMs];
  const evidence = `${what} was changed at ${new Date(atMs).toISOString()}`;
  return trouble("own_clock", { now, evidence });
}

function newestChangeMs(folder: string): number {
  return Math.max(0, ...readdirSync(folder).map((name) => lstatSync(join(folder, name)).mtimeMs));
}
