import { DeaddropError } from "../api/errors.ts";
import { StorageError } from "../storage/disk/disk.ts";
import { lockHolder } from "../storage/disk/lock.ts";
import { nodeDisk } from "../storage/disk/node-disk.ts";

/** A request that got no answer in time. */
export interface Unanswered {
  readonly op: string;
  /** The daemon has said that it begins with it. */
  readonly begun: boolean;
}

/**
 * Operations that change nothing that a person would have to look for. A test holds them against the
 * table of operations, which a command does not load.
 */
export const READING: ReadonlySet<string> = new Set([
  "answered",
  "await_wake",
  "changed",
  "rounds",
  "sessions",
  "tick",
  "view",
  "wait",
]);

/**
 * What to tell a person whose daemon is silent: who it is, what was done, what to do. `what` it did,
 * as a verb. Spec 4.2.
 */
export function noAnswer(
  { op, begun }: Unanswered,
  { lock }: { readonly lock: string },
  what: string,
): DeaddropError {
  const pid = holderOf(lock);
  const daemon = pid === undefined ? "the daemon" : `the daemon (process ${pid})`;
  const kill = pid === undefined ? "" : `, or kill -9 ${pid} and start it again`;
  const repeat = begun && !READING.has(op) ? "look at `deaddrop sent` before you repeat it; " : "";
  return new DeaddropError("timeout", `${daemon} ${what}; ${outcome(op, begun)}`, {
    hint: `${repeat}if the daemon stays silent: deaddrop service restart${kill}; nothing is lost`,
  });
}

function outcome(op: string, begun: boolean): string {
  if (READING.has(op)) return "nothing was sent or changed";
  if (begun) return "it had begun with what was asked, which may or may not be done";
  if (op === "send") return "the message was not sent, and will not be sent later";
  return "what was asked was not done, and will not be done later";
}

/** The process that has the identity's lock, if it says so. */
export function holderOf(lock: string): number | undefined {
  try {
    return lockHolder(nodeDisk(), lock)?.pid;
  } catch (error) {
    // Who it is only helps; that it is silent is what has to be said.
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
