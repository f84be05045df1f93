import type { ChainHead } from "../../wire/chain.ts";
import { StorageError } from "../disk/disk.ts";
import type { OwnHead } from "./heads.ts";
import { OpenOwnLog } from "./open-own-log.ts";
import { adoptOwnLog, notInLog } from "./own-log-adopt.ts";
import type { OwnLog } from "./own-log-repair.ts";
import { leftAlone, recoverOwnLog, type OwnLogRepair } from "./recover-own-log.ts";
import { OwnCopies } from "./own-copy.ts";
import { assertFollows, byLog, openPending, type OwnLine, type Pending } from "./pending.ts";
import { NOTHING_OWED, reportOf, type RecoveryReport } from "./recovery-report.ts";
import type { LogWriter, LogWriterOptions } from "./log-writer-port.ts";
import { notSent, sentOrQueued, tooMuchWaits, type AppendResult } from "./append-result.ts";

export type { LogWriter, OwnLine, RecoveryReport };

/** Reads and writes nothing before `recover`. */
export function openLogWriter(options: LogWriterOptions): LogWriter {
  return new OwnLogsWriter(options);
}

const FLUSH_BYTES = 1024 * 1024;

class OwnLogsWriter implements LogWriter {
  readonly #options: LogWriterOptions;
  readonly #open = new Map<string, OpenOwnLog>();
  readonly #copies: OwnCopies;
  #pending: Pending | undefined;
  /** Set: nothing can be promised before `recover` has put things right. */
  #trouble: StorageError | undefined;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#copies = new OwnCopies(options);
  }

  recover(when: "if needed" | "anyway" = "if needed"): RecoveryReport {
    if (when === "if needed" && !this.#needsRepair()) return NOTHING_OWED;
    return this.#opening((pending) => {
      const repairs = this.#options.logs.map(
        (log) => [log, this.#recoverLog(log, pending, when === "anyway")] as const,
      );
      for (const [log, repair] of repairs) this.#note(log, repair);
      this.#makeDurable();
      pending.keep(this.#stillOwed(pending.lines));
      const report = reportOf(new Map(repairs.map(([log, repair]) => [log.name, repair])));
      return { ...report, stuck: [...this.#open.values()].flatMap(({ stuck }) => stuck ?? []) };
    });
  }

  recoverPromises(problem: StorageError): RecoveryReport {
    return this.#opening((pending) => {
      for (const log of this.#options.logs) {
        const { record, owed } = this.#owedTo(log, pending);
        const copy = this.#copies.of(log, pending.lines);
        this.#note(log, leftAlone(record, owed, copy, problem));
      }
      return { ...NOTHING_OWED, stuck: [problem] };
    });
  }

  append(lines: readonly OwnLine[]): readonly AppendResult[] {
    const refused = this.#promise(lines);
    if (refused !== undefined) return notSent(lines, refused);
    const failed = new Map<string, StorageError>();
    for (const [name, group] of byLog(lines)) {
      const log = this.#log(name);
      log.place(group);
      if (log.stuck !== undefined) failed.set(name, log.stuck);
    }
    return sentOrQueued(lines, failed);
  }

  flush(): void {
    if (this.#pending === undefined || this.#trouble !== undefined) this.recover();
    else if (this.#pending.bytes > 0) this.#empty(this.#pending);
    const problem = this.stuck();
    if (problem !== undefined) throw problem;
  }

  unplaced(name: string): readonly OwnLine[] {
    const promised = this.#pending?.lines.filter((own) => own.log === name) ?? [];
    return notInLog(this.#options.disk, this.#log(name).log.path, promised);
  }

  *lines(name: string): Generator<OwnLine> {
    const { log } = this.#log(name);
    yield* this.#copies.of(log, this.#pending?.lines ?? []).lines();
    yield* this.#copies.inLog(log);
  }

  mayBegin(name: string, seq: number): boolean {
    const { log } = this.#log(name);
    if (seq === 1) return true;
    for (const own of this.#copies.inLog(log)) if (own.seq === seq) return true;
    return false;
  }

  putBack(name: string, lines: readonly OwnLine[]): RecoveryReport {
    this.#copies.of(this.#log(name).log, this.#pending?.lines ?? []).replace(lines);
    this.#copies.forget();
    return this.recover("anyway");
  }

  adopt(name: string, head: ChainHead): void {
    const { disk, heads } = this.#options;
    adoptOwnLog(disk, heads, this.#log(name).log, head);
    // They are there, or continue a chain that the adopted lines have taken the place of.
    this.#pending?.keep(this.#pending.lines.filter((own) => own.log !== name));
    this.close();
    this.recover();
  }

  head(log: string): ChainHead | undefined {
    return this.#log(log).head;
  }

  blocked(log: string): StorageError | undefined {
    return this.#open.get(log)?.blocked;
  }

  stuck(log?: string): StorageError | undefined {
    if (log !== undefined) return this.#open.get(log)?.stuck;
    return [...this.#open.values()].find(({ stuck }) => stuck !== undefined)?.stuck;
  }

  get broken(): StorageError | undefined {
    return this.#trouble;
  }

  get waiting(): { readonly lines: number; readonly bytes: number } {
    const lines = (this.#pending?.lines ?? []).filter(
      ({ log, foreign }) => foreign !== true && this.#open.get(log)?.isOpen === false,
    );
    return { lines: lines.length, bytes: lines.reduce((sum, { line }) => sum + line.length, 0) };
  }

  get promised(): readonly OwnLine[] {
    return this.#pending?.lines.filter(({ foreign }) => foreign !== true) ?? [];
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
    this.#copies.forget();
    this.#closeLogs();
  }

  #closeLogs(): void {
    for (const log of this.#open.values()) log.close();
    this.#open.clear();
  }

  /** What blocks a log may have been put right meanwhile, and what was right may no longer be. */
  #needsRepair(): boolean {
    if (this.#pending === undefined || this.#trouble !== undefined) return true;
    const logs = [...this.#open.values()];
    return logs.some((log) => !log.isOpen || log.changed() !== undefined);
  }

  /** Opens pending, unless this life has it open and durable, and then does this with it. */
  #opening(work: (pending: Pending) => RecoveryReport): RecoveryReport {
    if (this.#trouble !== undefined) this.close();
    this.#closeLogs();
    try {
      this.#pending ??= openPending(this.#options.disk, this.#options.pendingPath);
      const report = work(this.#pending);
      this.#trouble = undefined;
      return report;
    } catch (error) {
      this.close();
      this.#trouble = asStorageError(error);
      throw error;
    }
  }

  #note(log: OwnLog, repair: OwnLogRepair): void {
    this.#open.set(log.name, new OpenOwnLog(this.#options.disk, log, repair));
  }

  #log(log: string): OpenOwnLog {
    const state = this.#open.get(log);
    if (state === undefined) throw new Error(`${log} is no recovered log of ours`);
    return state;
  }

  #recoverLog(log: OwnLog, pending: Pending, isDoubted: boolean): OwnLogRepair {
    const { disk, quarantine, ownLine, at } = this.#options;
    const { record, owed } = this.#owedTo(log, pending);
    const check = (line: Uint8Array): ChainHead | undefined => ownLine(log.name, line);
    const carry = (lines: readonly OwnLine[]): void => pending.add(lines);
    const copy = this.#copies.of(log, pending.lines);
    const tools = { disk, quarantine, check, copy, isDoubted, carry, at: at() };
    return recoverOwnLog(log, record, owed, tools);
  }

  /** At or below the record: synced already; a crash came before pending was emptied. */
  #owedTo({ name }: OwnLog, pending: Pending) {
    const record = this.#options.heads.own(name);
    const owed = pending.lines.filter((own) => own.log === name && own.seq > (record?.seq ?? 0));
    return { record, owed };
  }

  /** Makes the lines durable in pending; otherwise says why none of them is sent. */
  #promise(lines: readonly OwnLine[]): StorageError | undefined {
    if (this.#trouble !== undefined) return this.#trouble;
    if (this.#pending === undefined) throw new Error("append before recover");
    try {
      if (this.pendingBytes >= FLUSH_BYTES) this.#empty(this.#pending);
      const tooMuch = tooMuchWaits(this.stuck(), this.pendingBytes);
      if (tooMuch !== undefined) return tooMuch;
      for (const [name, group] of byLog(lines)) {
        const state = this.#log(name);
        if (state.blocked !== undefined) return state.blocked;
        assertFollows(state.head, group);
        const changed = state.changed();
        if (changed !== undefined) return changed;
      }
      this.#pending.add(lines);
      return undefined;
    } catch (error) {
      this.#trouble = asStorageError(error);
      return this.#trouble;
    }
  }

  /** Spec 4.1: the logs are synced, and only then the promise is forgotten. */
  #empty(pending: Pending): void {
    try {
      this.#makeDurable();
      pending.keep(this.#stillOwed(pending.lines));
    } catch (error) {
      this.#trouble = asStorageError(error);
      throw error;
    }
  }

  /** Syncs the logs that have grown and notes up to where they are durable. */
  #makeDurable(): void {
    const { heads } = this.#options;
    const own = new Map<string, OwnHead>();
    for (const [name, log] of this.#open) {
      const head = log.sync(heads.own(name));
      if (head === undefined) continue;
      this.#copies.keep(log.log, this.#pending?.lines ?? []);
      own.set(name, head);
    }
    heads.save({ own });
  }

  /** Lines that no log has durably, and of one that the layout no longer has: a promise is kept. */
  #stillOwed(lines: readonly OwnLine[]): readonly OwnLine[] {
    return lines.filter((own) => {
      if (own.seq <= (this.#options.heads.own(own.log)?.seq ?? 0)) return false;
      return this.#open.get(own.log)?.isOpen !== true;
    });
  }
}

/** Anything but disk trouble is our own bug and goes through. */
function asStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  throw error;
}
