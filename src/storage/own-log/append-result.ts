import { StorageError } from "../disk/disk.ts";
import type { OwnLine } from "./pending.ts";

/** What became of a line. Spec 4.1: a queued one is durable and goes out by itself. */
export type AppendResult = {
  readonly log: string;
  readonly seq: number;
  readonly id: string;
} & (
  | { readonly answer: "sent" }
  | { readonly answer: "queued"; readonly error: StorageError }
  | { readonly answer: "not sent"; readonly error: StorageError }
);

/** None of a group was promised. */
export function notSent(lines: readonly OwnLine[], error: StorageError): AppendResult[] {
  return lines.map(({ log, seq, id }) => ({ log, seq, id, answer: "not sent", error }));
}

/** A promised group; `failed`: the logs that could not be written yet, and why. */
export function sentOrQueued(
  lines: readonly OwnLine[],
  failed: ReadonlyMap<string, StorageError>,
): AppendResult[] {
  return lines.map(({ log, seq, id }) => {
    const error = failed.get(log);
    if (error === undefined) return { log, seq, id, answer: "sent" };
    return { log, seq, id, answer: "queued", error };
  });
}

/** Of lines that wait while a log takes none, in pending. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Why a group is not sent although it could be promised: a bound on what a stuck log collects. */
export function tooMuchWaits(
  stuck: StorageError | undefined,
  pendingBytes: number,
): StorageError | undefined {
  if (stuck === undefined || pendingBytes < MAX_WAITING_BYTES) return undefined;
  const problem = `${stuck.message}; ${MAX_WAITING_BYTES} bytes of messages wait for it already`;
  return new StorageError(stuck.code, stuck.path, problem, { hint: stuck.hint, cause: stuck });
}
