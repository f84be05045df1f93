import type { ChainHead } from "../../wire/chain.ts";
import {
  isObstruction,
  StorageError,
  type Disk,
  type DiskFile,
  type FileStat,
} from "../disk/disk.ts";
import type { OwnHead } from "./heads.ts";
import { appendOwnLines } from "./own-log-append.ts";
import type { OwnLog } from "./own-log-repair.ts";
import type { OwnLine } from "./pending.ts";
import { durableHead, headOf, type OwnLogRepair } from "./recover-own-log.ts";
import { blockedBy } from "./recovery-report.ts";

/** One of our logs after its recovery, as long as it is open. */
export class OpenOwnLog {
  readonly log: OwnLog;
  /** Why nothing may follow what is in it. */
  readonly blocked: StorageError | undefined;
  /** The disk's trouble with it: lines are promised, and wait for the next recovery. */
  stuck: StorageError | undefined;
  /** The last line of our chain, promised ones included. */
  head: ChainHead | undefined;
  readonly #disk: Disk;
  readonly #file: DiskFile | undefined;
  /** What the file was when it was opened: which file that is never changes. */
  readonly #opened: FileStat | undefined;
  /** The size that our last write left; undefined once another program was seen to write there. */
  #alone: number | undefined;
  /** A size that it had when we last wrote or looked: it only grows. */
  #least = 0;

  constructor(disk: Disk, log: OwnLog, repair: OwnLogRepair) {
    const { file, head, problem } = repair;
    const stuck = isObstruction(problem) ? undefined : problem;
    this.log = log;
    this.#disk = disk;
    this.#file = file;
    this.#opened = file?.stat();
    this.head = head;
    this.stuck = stuck;
    this.#alone = this.#opened?.size;
    this.#least = this.#alone ?? 0;
    // Whatever its last line is, ours has to follow that one.
    const isUnknown = stuck !== undefined && head === undefined && mayHaveLines(disk, log);
    this.blocked = blockedBy(log, repair) ?? (isUnknown ? stuck : undefined);
  }

  /** Whether all that is promised to it gets there with the next append or sync. */
  get isOpen(): boolean {
    return this.#file !== undefined && this.stuck === undefined;
  }

  /** Why it is not the file that we left, if so: nothing may be appended to it. */
  changed(): StorageError | undefined {
    if (this.#opened === undefined) return undefined;
    const { dev, ino } = this.#opened;
    const named = this.#disk.stat(this.log.path);
    const isNamed = named?.dev === dev && named.ino === ino;
    if (isNamed && named.size >= this.#least) return undefined;
    const what = isNamed ? "was cut by another program" : "was moved or replaced";
    return new StorageError("replaced", this.log.path, what, {
      hint: "only its own agent may touch a log; it is checked again with the next message",
    });
  }

  /** Appends lines that are promised, unless it waits for its recovery. */
  place(group: readonly OwnLine[]): void {
    this.head = headOf(group.at(-1)) ?? this.head;
    this.#trying((file) => {
      this.#alone = appendOwnLines(this.#disk, file, group, this.#alone);
      this.#least = this.#alone ?? file.stat().size;
    });
  }

  /** Syncs what it has; up to where it is durable then, if it is. */
  sync(record: OwnHead | undefined): OwnHead | undefined {
    const { head } = this;
    if (head === undefined) return undefined;
    return this.#trying((file) => {
      const changed = this.changed();
      if (changed !== undefined) throw changed;
      return durableHead(file, head, record);
    });
  }

  close(): void {
    this.#file?.close();
  }

  #trying<T>(work: (file: DiskFile) => T): T | undefined {
    if (this.#file === undefined || this.stuck !== undefined) return undefined;
    try {
      return work(this.#file);
    } catch (error) {
      // Anything but disk trouble is our own bug and goes through.
      if (!(error instanceof StorageError)) throw error;
      this.stuck = error;
      return undefined;
    }
  }
}

function mayHaveLines(disk: Disk, { path }: OwnLog): boolean {
  return (disk.stat(path)?.size ?? 0) > 0;
}
