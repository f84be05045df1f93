import type { ChainHead } from "../../wire/chain.ts";
import type { Quarantine } from "../files/quarantine.ts";
import type { Disk, StorageError } from "../disk/disk.ts";
import type { AppendResult } from "./append-result.ts";
import type { HeadsStore } from "./heads.ts";
import type { OwnLog } from "./own-log-repair.ts";
import type { OwnLine } from "./pending.ts";
import type { RecoveryReport } from "./recovery-report.ts";

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly logs: readonly OwnLog[];
  readonly pendingPath: string;
  /** Where our private copy of each log is. */
  copyPath(log: string): string;
  readonly heads: HeadsStore;
  readonly quarantine: Quarantine;
  /** Of a line that is chained in `log` and carries our valid signature: its place in the chain. */
  readonly ownLine: (log: string, line: Uint8Array) => ChainHead | undefined;
  /** ISO-8601 time for quarantine entries. */
  readonly at: () => string;
}

/** Appends to the logs of one identity, whose lock the caller holds. Spec 4.1, Append. */
export interface LogWriter {
  /**
   * Drains pending and repairs the logs: at start, and again after trouble, while a log is blocked,
   * or when it is not as we left it (else it does nothing). "anyway": a log is known to lack lines, so
   * each is compared with its copy from the beginning. Throws `StorageError` when nothing can
   * be promised; what is the matter with one log is in the report.
   */
  recover(when?: "if needed" | "anyway"): RecoveryReport;
  /**
   * The same without touching the logs: what is promised waits because of `problem`. For a look at
   * what is there, and while the next attempt is not due.
   */
  recoverPromises(problem: StorageError): RecoveryReport;
  /** The last line of our chain in a log, promised ones included. */
  head(log: string): ChainHead | undefined;
  /**
   * Whether a chained line with our signature is one that we wrote (spec 1.6). At or below the
   * durable head the chain itself has to tell: this says true. Throws while the repair fails.
   */
  knows(log: string, seq: number, id: string): boolean;
  /** Why nothing can be appended to a log: "log_damaged", "identity_in_use", what obstructs it. */
  blocked(log: string): StorageError | undefined;
  /** The disk's trouble with that log, or with any: lines are promised, and wait until `recover`. */
  stuck(log?: string): StorageError | undefined;
  /** Why nothing can be promised before `recover`, for any log. */
  readonly broken: StorageError | undefined;
  /** How much is promised that no log holds yet. */
  readonly waiting: { readonly lines: number; readonly bytes: number };
  /** Lines of ours that no log is known to hold durably, oldest first. */
  readonly promised: readonly OwnLine[];
  /** The promised lines of a log that are not in it. */
  unplaced(log: string): readonly OwnLine[];
  /** What our private copy of a log and the log itself hold of our lines, the copy first. */
  lines(log: string): Generator<OwnLine>;
  /**
   * Whether no line of ours before that one is missing: it is the first, or the log has it.
   */
  mayBegin(log: string, seq: number): boolean;
  /** Lines that the operator has found: the whole of our private copy of a log from now on. */
  putBack(log: string, lines: readonly OwnLine[]): RecoveryReport;
  /**
   * The operator's decision that what carries our signature in a log, up to `head`, is ours. What is
   * `unplaced` there is no longer promised: it has to be written again.
   */
  adopt(log: string, head: ChainHead): void;
  /**
   * One group, one sync: all of it is promised or none. The lines follow their logs' heads, so each
   * send is: recover, head, compose, append. What a log does not take is queued until `recover`.
   */
  append(lines: readonly OwnLine[]): readonly AppendResult[];
  /** Bytes that wait for `flush`. */
  readonly pendingBytes: number;
  /**
   * Makes the logs themselves durable and empties pending: when idle. Throws `StorageError`, also
   * when it is one log's trouble: the others are durable then.
   */
  flush(): void;
  close(): void;
}
