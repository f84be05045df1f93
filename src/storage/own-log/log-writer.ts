import type { ChainHead } from "../../wire/chain.ts";
import { StorageError, stillNamed, type Disk, type DiskFile } from "../disk/disk.ts";
import type { HeadsStore, OwnHead } from "./heads.ts";
import { appendOwnLines } from "./own-log-append.ts";
import { adoptOwnLog, notStanding } from "./own-log-adopt.ts";
import {
  durableHead,
  headOf,
  recoverOwnLog,
  type OwnLog,
  type OwnLogRepair,
} from "./recover-own-log.ts";
import { assertFollows, byLog, openPending, type OwnLine, type Pending } from "./pending.ts";
import type { Quarantine } from "../files/quarantine.ts";
import { blockedBy, NOTHING_OWED, reportOf, type RecoveryReport } from "./recovery-report.ts";
import { notSent, sentOrQueued, type AppendResult } from "./append-result.ts";

export type { OwnLine, OwnLog, RecoveryReport, AppendResult };

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly logs: readonly OwnLog[];
  readonly pendingPath: string;
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
   * Drains pending and repairs the logs: at start, and again after trouble or while a log is blocked
   * (else it does nothing).
   * Throws `StorageError`; damage and foreign use are in the report and block only their log.
   */
  recover(): RecoveryReport;
  /** The last line of our chain in a log, promised ones included. */
  head(log: string): ChainHead | undefined;
  /**
   * Whether a chained line with our signature is one that we wrote (spec 1.6). At or below the
   * durable head the chain itself has to tell: this says true. Throws while the repair fails.
   */
  knows(log: string, seq: number, id: string): boolean;
  /** Why nothing can be appended to a log: "log_damaged", "identity_in_use", what obstructs it. */
  blocked(log: string): StorageError | undefined;
  /** The promised lines of a log that are not in it. */
  unplaced(log: string): readonly OwnLine[];
  /**
   * The operator's word that what carries our signature in a log, up to `head`, is ours. What is
   * `unplaced` there is promised no more: it has to be written again.
   */
  adopt(log: string, head: ChainHead): void;
  /**
   * One group, one sync: all of it is promised or none. The lines follow their logs' heads. After
   * trouble nothing is sent until `recover`, so each send is: recover, head, compose, append.
   */
  append(lines: readonly OwnLine[]): readonly AppendResult[];
  /** Bytes that wait for `flush`. */
  readonly pendingBytes: number;
  /** Makes the logs themselves durable and empties pending: when idle. Throws `StorageError`. */
  flush(): void;
  close(): void;
}

/** Reads and writes nothing before `recover`. */
export function openLogWriter(options: LogWriterOptions): LogWriter {
  return new OwnLogsWriter(options);
}

interface LogState {
  readonly log: OwnLog;
  /** Undefined while blocked. */
  readonly file: DiskFile | undefined;
  readonly blocked: StorageError | undefined;
  head: ChainHead | undefined;
  /** The size that our last write left; undefined once another program was seen to write there. */
  alone: number | undefined;
}

const FLUSH_BYTES = 1024 * 1024;

class OwnLogsWriter implements LogWriter {
  readonly #options: LogWriterOptions;
  readonly #states = new Map<string, LogState>();
  #pending: Pending | undefined;
  /** Set: nothing is written before `recover` has put things right. */
  #trouble: StorageError | undefined;

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  recover(): RecoveryReport {
    // What blocks a log may have been put right meanwhile.
    const isBlocked = [...this.#states.values()].some(({ blocked }) => blocked !== undefined);
    if (this.#pending !== undefined && this.#trouble === undefined && !isBlocked) {
      return NOTHING_OWED;
    }
    this.close();
    try {
      return this.#repair();
    } catch (error) {
      this.close();
      this.#trouble = asStorageError(error);
      throw error;
    }
  }

  append(lines: readonly OwnLine[]): readonly AppendResult[] {
    const refused = this.#promise(lines);
    if (refused !== undefined) return notSent(lines, refused);
    const failed = new Map<string, StorageError>();
    for (const [name, group] of byLog(lines)) {
      const state = this.#state(name);
      state.head = headOf(group.at(-1)) ?? state.head;
      try {
        state.alone = appendOwnLines(this.#options.disk, openFileOf(state), group, state.alone);
      } catch (error) {
        this.#trouble = asStorageError(error);
        failed.set(name, this.#trouble);
      }
    }
    return sentOrQueued(lines, failed);
  }

  flush(): void {
    if (this.#pending === undefined || this.#trouble !== undefined) {
      this.recover();
      return;
    }
    if (this.#pending.bytes === 0) return;
    try {
      // Spec 4.1: the logs are synced, and only then the promise is forgotten.
      this.#makeDurable();
      this.#pending.keep(this.#stillOwed(this.#pending.lines));
    } catch (error) {
      this.#trouble = asStorageError(error);
      throw error;
    }
  }

  unplaced(name: string): readonly OwnLine[] {
    const promised = this.#pending?.lines.filter((own) => own.log === name) ?? [];
    return notStanding(this.#options.disk, this.#state(name).log.path, promised);
  }

  adopt(name: string, head: ChainHead): void {
    const { disk, heads } = this.#options;
    adoptOwnLog(disk, heads, this.#state(name).log, head);
    // They are there, or continue a chain that the adopted lines have taken the place of.
    this.#pending?.keep(this.#pending.lines.filter((own) => own.log !== name));
    this.close();
    this.recover();
  }

  head(log: string): ChainHead | undefined {
    return this.#state(log).head;
  }

  blocked(log: string): StorageError | undefined {
    return this.#states.get(log)?.blocked;
  }

  knows(log: string, seq: number, id: string): boolean {
    // While the repair fails nothing is known: to say "no" would accuse somebody of using our key.
    if (this.#pending === undefined && this.#trouble !== undefined) throw this.#trouble;
    const promised = this.#pending?.lines.find(
      (own) => own.log === log && own.seq === seq && own.foreign !== true,
    );
    if (promised !== undefined) return promised.id === id;
    return seq <= (this.#options.heads.own(log)?.seq ?? 0);
  }

  get pendingBytes(): number {
    return this.#pending?.bytes ?? 0;
  }

  close(): void {
    this.#pending?.close();
    this.#pending = undefined;
    for (const state of this.#states.values()) state.file?.close();
    this.#states.clear();
  }

  #repair(): RecoveryReport {
    const pending = openPending(this.#options.disk, this.#options.pendingPath);
    this.#pending = pending;
    const repairs = new Map<string, OwnLogRepair>();
    for (const log of this.#options.logs) {
      const repair = this.#recoverLog(log, pending);
      const { file, head } = repair;
      repairs.set(log.name, repair);
      const at = { blocked: blockedBy(log, repair), alone: file?.stat().size };
      this.#states.set(log.name, { log, file, head, ...at });
    }
    this.#makeDurable();
    pending.keep(this.#stillOwed(pending.lines));
    this.#trouble = undefined;
    return reportOf(repairs);
  }

  #state(log: string): LogState {
    const state = this.#states.get(log);
    if (state === undefined) throw new Error(`${log} is no recovered log of ours`);
    return state;
  }

  #recoverLog(log: OwnLog, pending: Pending): OwnLogRepair {
    const { disk, heads, quarantine, ownLine, at } = this.#options;
    const record = heads.own(log.name);
    // At or below the record: synced already; a crash came before pending was emptied.
    const owed = pending.lines.filter(
      (own) => own.log === log.name && own.seq > (record?.seq ?? 0),
    );
    const check = (line: Uint8Array): ChainHead | undefined => ownLine(log.name, line);
    const carry = (lines: readonly OwnLine[]): void => pending.add(lines);
    return recoverOwnLog(log, record, owed, { disk, quarantine, check, carry, at: at() });
  }

  /** Makes the lines durable in pending; otherwise says why none of them is sent. */
  #promise(lines: readonly OwnLine[]): StorageError | undefined {
    if (this.#trouble !== undefined) return this.#trouble;
    if (this.#pending === undefined) throw new Error("append before recover");
    try {
      if (this.pendingBytes >= FLUSH_BYTES) this.flush();
      for (const [name, group] of byLog(lines)) {
        const state = this.#state(name);
        if (state.blocked !== undefined) return state.blocked;
        assertFollows(state.head, group);
        this.#refuseReplaced(state);
      }
      this.#pending.add(lines);
      return undefined;
    } catch (error) {
      this.#trouble = asStorageError(error);
      return this.#trouble;
    }
  }

  #refuseReplaced(state: LogState): void {
    if (stillNamed(this.#options.disk, openFileOf(state))) return;
    throw new StorageError("replaced", state.log.path, "was moved or replaced", {
      hint: "only its own agent may touch a log; it is checked again with the next message",
    });
  }

  /** Syncs the logs that have grown and notes up to where they are durable. */
  #makeDurable(): void {
    const { heads } = this.#options;
    const own = new Map<string, OwnHead>();
    for (const { log, file, head } of this.#states.values()) {
      if (file === undefined || head === undefined) continue;
      own.set(log.name, durableHead(file, head, heads.own(log.name)));
    }
    heads.save({ own });
  }

  /** Lines of a blocked log, or of one that the layout has no more: a promise is not thrown away. */
  #stillOwed(lines: readonly OwnLine[]): readonly OwnLine[] {
    return lines.filter((own) => {
      if (own.seq <= (this.#options.heads.own(own.log)?.seq ?? 0)) return false;
      return this.#states.get(own.log)?.file === undefined;
    });
  }
}

function openFileOf(state: LogState): DiskFile {
  if (state.file === undefined) throw new Error(`${state.log.name} is blocked`);
  return state.file;
}

/** Anything but disk trouble is our own bug and goes through. */
function asStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  throw error;
}
