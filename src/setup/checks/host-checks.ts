import { closeSync, lstatSync, openSync, readdirSync, statfsSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesystemKind, type FilesystemKind } from "../../storage/disk/fs-kind.ts";
import { LOCK_HINT, lockDescriptor, wayOfLocking } from "../../storage/disk/kernel-lock.ts";
import { signatureEngine } from "../../wire/signature.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";

/** One precondition: whether it holds, and what to do when it does not. */
export interface Finding {
  readonly check: string;
  readonly result: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do; present unless the result is ok. */
  readonly fix?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, result: "ok", detail });

export const warning = (check: string, detail: string, fix: string): Finding => ({
  check,
  result: "warning",
  detail,
  fix,
});

export const failed = (check: string, detail: string, fix: string): Finding => ({
  check,
  result: "failed",
  detail,
  fix,
});

const NODE_AT_LEAST = [20, 19] as const;

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const [needMajor, needMinor] = NODE_AT_LEAST;
  return major > needMajor || (major === needMajor && minor >= needMinor)
    ? ok("node", version)
    : failed(
        "node",
        `${version}; ${NODE_AT_LEAST.join(".")} or newer is needed`,
        "install a current Node.js: https://nodejs.org",
      );
}

/** Without kernel locks neither sending nor a daemon is possible: one is taken, on a file of its own. */
export function checkLocks(folder = tmpdir()): Finding {
  const path = join(folder, `deaddrop-doctor-${process.pid}-${Date.now()}`);
  let fd: number;
  try {
    fd = openSync(path, "wx", PRIVATE_FILE);
  } catch (error) {
    return failed(
      "kernel locks",
      `no file can be made in ${folder}: ${(error as Error).message}`,
      `make ${folder} writable for you, or set TMPDIR to a folder that is`,
    );
  }
  try {
    lockDescriptor(fd, 0);
    return ok("kernel locks", `they can be taken, by ${wayOfLocking()}`);
  } catch (error) {
    return failed("kernel locks", `${(error as Error).message}; ${wayOfLocking()}`, LOCK_HINT);
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}

/** Both engines give the same verdicts; one costs twice the time of the other. */
export function checkSignatures(engine: string = signatureEngine().name): Finding {
  return engine === "libsodium"
    ? ok("signatures", "they are checked by libsodium")
    : warning(
        "signatures",
        `they are checked by ${engine}, which takes twice as long as libsodium`,
        "install deaddrop again with its optional package sodium-native; nothing else depends on it",
      );
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
  const check = `disk space, ${what}`;
  const detail = `${freeMib} MiB free in ${folder}`;
  const fix = "free some space: a full disk stops sending and receiving";
  if (freeMib < NEED_FREE_MIB) return failed(check, detail, fix);
  return freeMib < WANT_FREE_MIB ? warning(check, detail, fix) : ok(check, detail);
}

/** Changes made on another machine cause no events here, and its locks are a matter of luck. */
export function checkFilesystem(folder: string): Finding {
  return judgeFilesystem(folder, filesystemKind(folder));
}

/** @internal */
export function judgeFilesystem(folder: string, { name, events }: FilesystemKind): Finding {
  if (name === "tmpfs") {
    return warning(
      "filesystem",
      `${folder} is on tmpfs, in memory: all of it is lost when this machine starts again`,
      "keep the wire on a disk, for example below your home folder",
    );
  }
  return events
    ? ok("filesystem", `${folder} is on ${name}`)
    : warning(
        "filesystem",
        `${folder} is on ${name}: changes made on other machines cause no events here, so the daemon looks every 5 seconds`,
        "expect messages a few seconds later; only one machine may write each log",
      );
}

const CLOCK_NOT_BEFORE_MS = Date.UTC(2026, 0, 1);

/** A clock that is behind what others have already written, or behind this program, is wrong. */
export function checkClock(
  nowMs: number,
  wireDir: string | undefined,
  skewSeconds: number,
): Finding {
  const now = new Date(nowMs).toISOString();
  const fix = "set the clock (timedatectl set-ntp true): peers refuse lines from the future";
  if (nowMs < CLOCK_NOT_BEFORE_MS) return failed("clock", `it says ${now}`, fix);
  const newest = wireDir === undefined ? 0 : newestChangeMs(wireDir);
  if (newest > nowMs + skewSeconds * 1000) {
    return failed(
      "clock",
      `it says ${now}, but the wire was changed at ${new Date(newest).toISOString()}`,
      fix,
    );
  }
  return ok("clock", now);
}

function newestChangeMs(folder: string): number {
  return Math.max(0, ...readdirSync(folder).map((name) => lstatSync(join(folder, name)).mtimeMs));
}
