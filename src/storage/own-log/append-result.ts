import type { StorageError } from "../disk/disk.ts";
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
