import { isObstruction, StorageError } from "../disk/disk.ts";
import type { OwnLog } from "./own-log-repair.ts";
import type { OwnLogRepair } from "./recover-own-log.ts";

/** What an operator does when our key is used elsewhere. Spec 1.6. */
export const IDENTITY_HINT =
  "our key is used elsewhere: stop the other copy, then: deaddrop reclaim. If it was stolen, have each peer revoke it (deaddrop trust revoke)";

/** What an operator does when our log has lost lines that nothing of ours has. Spec 1.6. */
export const DAMAGED_HINT =
  "deaddrop reclaim --from FILE, a copy of this log that has the lines: from a peer's copy of the wire, or a backup";

/** What recovery found and did, over all logs of an identity. */
export interface RecoveryReport {
  /** Torn ends of ours that were cut (a copy is in the quarantine). */
  readonly cut: readonly { log: string; offset: number; bytes: number }[];
  /** Promised lines that a log lacked and has now. */
  readonly restored: readonly { log: string; seq: number; id: string; line: Uint8Array }[];
  /** Logs that had lost lines which are in them again, and how many. */
  readonly again: readonly { log: string; lines: number }[];
  /** Damage that cannot be restored: nothing is written to that log. */
  readonly damaged: readonly { log: string; offset: number; detail: string }[];
  /** In whose place there is something else: nothing is written to that log. */
  readonly obstructed: readonly { log: string; problem: StorageError }[];
  /** Lines with our signature that we did not write: nothing is written to that log. */
  readonly unknown: readonly { log: string; seq: number; id: string }[];
  /** Logs that the disk does not take: their lines stay promised. */
  readonly stuck: readonly StorageError[];
}

export const NOTHING_OWED: RecoveryReport = {
  cut: [],
  restored: [],
  again: [],
  damaged: [],
  obstructed: [],
  unknown: [],
  stuck: [],
};

export function reportOf(repairs: ReadonlyMap<string, OwnLogRepair>): RecoveryReport {
  const all = [...repairs];
  return {
    cut: all.flatMap(([log, { cut }]) => (cut === undefined ? [] : [{ log, ...cut }])),
    restored: all.flatMap(([log, { restored }]) =>
      restored.map(({ seq, id, line }) => ({ log, seq, id, line })),
    ),
    again: all.flatMap(([log, { again }]) => (again === 0 ? [] : [{ log, lines: again }])),
    damaged: all.flatMap(([log, { damaged }]) =>
      damaged === undefined ? [] : [{ log, ...damaged }],
    ),
    obstructed: all.flatMap(([log, { problem }]) =>
      isObstruction(problem) ? [{ log, problem }] : [],
    ),
    unknown: all.flatMap(([log, { unknown }]) => unknown.map(({ seq, id }) => ({ log, seq, id }))),
    stuck: all.flatMap(([, { problem = [] }]) => (isObstruction(problem) ? [] : problem)),
  };
}

/** Why nothing may be appended to a log after its recovery; undefined when all is well. */
export function blockedBy(
  log: OwnLog,
  { damaged, problem, unknown }: OwnLogRepair,
): StorageError | undefined {
  if (isObstruction(problem)) return problem;
  if (damaged !== undefined) {
    return new StorageError(
      "log_damaged",
      log.path,
      `${damaged.detail}; nothing is written to it`,
      {
        hint: DAMAGED_HINT,
      },
    );
  }
  const [first] = unknown;
  if (first === undefined) return undefined;
  const detail = `line ${first.seq} carries our signature, but we did not write it`;
  return new StorageError("identity_in_use", log.path, detail, {
    hint: IDENTITY_HINT,
  });
}
