import { copyFileSync, renameSync, statSync, truncateSync } from "node:fs";
import { errnoOf } from "../../storage/disk/errno.ts";

/** What the daemon's log may take: the live file and five closed ones. Spec 8.6. */
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const LOGS_KEPT = 5;

/**
 * The log that we keep small ourselves: under launchd and with `daemon --detach` our output is appended
 * to a file that nothing else rotates. systemd has a journal and a terminal has no file.
 */
export function ownLogFile(env: NodeJS.ProcessEnv): string | undefined {
  return env["DEADDROP_LOG_FILE"];
}

/**
 * Moves a log that has grown past `maxBytes` to `<path>.1`, the older ones up by one, and forgets
 * the oldest. The live file stays open for appending, so that file is copied and emptied in
 * place; what is written between the two is lost, which is acceptable for a log. True when it
 * rotated.
 */
export function rotateLog(path: string, maxBytes = LOG_MAX_BYTES, kept = LOGS_KEPT): boolean {
  if ((unlessAbsent(() => statSync(path).size) ?? 0) <= maxBytes) return false;
  for (let age = kept - 1; age >= 1; age -= 1) {
    unlessAbsent(() => {
      renameSync(`${path}.${age}`, `${path}.${age + 1}`);
    });
  }
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
  return true;
}

function unlessAbsent<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
