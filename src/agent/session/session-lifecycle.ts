import { takeLock, type HeldLock } from "../../storage/disk/lock.ts";
import { foldedUnder, isWorthSaving, loadMemory, saveMemory } from "../state/checkpoint.ts";
import { silentLogger, type World } from "./world.ts";
import { isPassing, StorageTroubles } from "../state/storage-troubles.ts";
import { StorageError, type Disk } from "../../storage/disk/disk.ts";
import { wholeLogs } from "../../storage/archive/whole-logs.ts";
import { scratchDisk } from "../../storage/disk/scratch-disk.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { Memory } from "../state/agent-state.ts";
import { withTrustReread, type AgentConfig } from "../config/agent-config.ts";
import { takeInAll, takeInDecisions, takeInOwn } from "../intake/take-in.ts";
import { closeSession, openSession } from "./open-session.ts";
import { syncOwnLogs } from "./own-logs.ts";
import type { Session } from "./session.ts";
import { beginNotices, tellAgent } from "../effects/notify-agent.ts";
import { keepTrust } from "../effects/key-changes.ts";

/** The note of a killed holder stays in the lock file until the next holder has written its own. */
const NOTE_SETTLES_MS = 1_000;
/** Short, since it blocks the process: the client tries again, and looks for a daemon meanwhile. */
const COMMAND_LOCK_WAIT_MS = 250;
/**
 * Journal bytes that a start may have to replay; otherwise a checkpoint is written when nothing
 * happens.
 */
const CHECKPOINT_AFTER_BYTES = 16 * 1_048_576;

/** A daemon's session, which is closed and opened again after trouble, and the lock that stays. */
interface Locked {
  session: Session | undefined;
  readonly lock: HeldLock;
  /** What reads are answered from while nothing can be written. */
  copy: Session | undefined;
}

/**
 * Opens an identity's session when there is work for it, and again after trouble: for a daemon, which
 * keeps the lock for life, once; for a command for the time of its call. Spec 4.1.
 */
export class SessionKeeper {
  /** The disk where a segment of a log is a file of its own; that of a session has whole logs. */
  readonly files: Disk;
  readonly #world: World;
  readonly #troubles: StorageTroubles;
  #place: AgentConfig;
  #memory: Memory | undefined;
  #locked: Locked | undefined;
  #checkpointAt = 0;
  #isTrustStale = false;

  constructor(world: World, place: AgentConfig) {
    const { clock, log } = world;
    const disk = wholeLogs(world.disk, place.wire.folder);
    this.#world = { ...world, disk };
    this.files = world.disk;
    this.#place = place;
    this.#troubles = new StorageTroubles({ clock, log, room: (path) => disk.room(path) });
  }

  get troubles(): StorageTroubles {
    return this.#troubles;
  }

  get place(): AgentConfig {
    return this.#place;
  }

  /** A daemon's session, while it is open. */
  get current(): Session | undefined {
    return this.#locked?.session;
  }

  /** Whether the lock is ours for good. */
  get isLocked(): boolean {
    return this.#locked !== undefined;
  }

  /** Takes the lock for good. Throws "already_running" when another daemon has it. */
  lockIdentity(waitMs: number): void {
    const lock = lockFor("daemon", this.#world, this.#place, waitMs);
    this.#locked = { session: undefined, lock, copy: undefined };
  }

  /** Work that may write. Throws `StorageError` while our private files take nothing. */
  using<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#locked === undefined
      ? this.#usingOnce(work)
      : this.#usingLocked(this.#locked, work);
  }

  /**
   * Work that only reads. While our private files take nothing it gets a session on a copy in
   * memory, and not a byte is written. Spec 4.1, Storage trouble.
   */
  async reading<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      const result = await this.using(work);
      this.#dropCopy();
      return result;
    } catch (error) {
      // "denied": a sandbox lets this process write nothing there.
      const mayRead =
        error instanceof StorageError && (isPassing(error) || error.code === "denied");
      if (!mayRead) throw error;
      if (this.#troubles.problem("private files") === undefined) {
        this.#troubles.failed("private files", error);
      }
      return this.#usingCopy(error, work);
    }
  }

  /** Goes on with another configuration: settings, pins or peers have changed. */
  moveTo(next: AgentConfig): void {
    const isSameFold = foldedUnder(next) === foldedUnder(this.#place);
    this.#place = next;
    if (this.#locked?.session !== undefined) {
      this.#locked.session.recorder.flush();
      this.#locked.session.files.heads.save();
      closeSession(this.#locked.session);
      this.#locked.session = undefined;
    }
    if (!isSameFold) this.#memory = undefined;
    this.#dropCopy();
  }

  /**
   * `at the end`: of a daemon. A start then has next to nothing to replay. Other work of the process
   * goes on meanwhile, and none for this agent: the caller has its turn.
   */
  async checkpoint(
    session: Session,
    when: "if it has to" | "if it pays" | "at the end",
  ): Promise<void> {
    const { disk } = this.#world;
    const grown = session.memory.journalEnd - this.#checkpointAt;
    if (when === "if it has to") {
      if (grown <= CHECKPOINT_AFTER_BYTES) return;
      // What a power cut could take out of our logs is not in a checkpoint.
      syncOwnLogs(session);
    }
    session.recorder.flush();
    session.files.heads.save();
    const { checkpoint } = this.#place.paths;
    if (when === "if it pays" && !isWorthSaving(disk, checkpoint, grown)) return;
    if (when === "at the end" && grown === 0) return;
    session.memory.indexed = session.files.journal.saveIndex();
    await saveMemory(this.#world, this.#place, session.memory);
    this.#checkpointAt = session.memory.journalEnd;
  }

  close(): void {
    this.#dropCopy();
    if (this.#locked?.session !== undefined) closeSession(this.#locked.session);
    this.#locked?.lock.release();
    this.#locked = undefined;
  }

  /** A daemon's session is opened again after trouble; the lock stays ours all the while. */
  async #usingLocked<T>(locked: Locked, work: (session: Session) => Promise<T>): Promise<T> {
    const area = "private files";
    const problem = this.#troubles.mayTry(area) ? undefined : this.#troubles.problem(area);
    if (problem !== undefined) throw problem;
    try {
      if (locked.session === undefined) {
        locked.session = this.#begin();
        // What we sent last may be in no journal yet, and decisions never are.
        await takeInOwn(locked.session);
        // Others may have written much since; of that, the next round reads the logs first.
        await takeInDecisions(locked.session, { isBehind: true });
      }
      if (await this.#hasChangedTrust(locked.session)) {
        closeSession(locked.session);
        locked.session = undefined;
        locked.session = this.#begin();
      }
      const result = await work(locked.session);
      if (locked.session.files.own.writer.broken === undefined) this.#troubles.worked(area);
      return result;
    } catch (error) {
      if (error instanceof StorageError && !isOfOurLogs(error)) this.#troubles.failed(area, error);
      if (!(error instanceof DeaddropError)) {
        // Memory may be ahead of the disk: it is made again from journal and logs.
        this.#memory = undefined;
        if (locked.session !== undefined) closeSession(locked.session);
        locked.session = undefined;
      }
      throw error;
    }
  }

  /** For a command: the lock and the session are there for one call. */
  async #usingOnce<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const lock = lockFor("command", this.#world, this.#place, COMMAND_LOCK_WAIT_MS);
    let session: Session | undefined;
    try {
      session = this.#begin();
      beginNotices(session);
      await takeInOwn(session);
      if (await this.#hasChangedTrust(session)) {
        closeSession(session);
        session = undefined;
        session = this.#begin();
      }
      await takeInAll(session);
      tellAgent(session);
      const result = await work(session);
      session.recorder.flush();
      session.files.heads.save();
      return result;
    } catch (error) {
      if (!(error instanceof DeaddropError)) this.#memory = undefined;
      throw error;
    } finally {
      if (session !== undefined) closeSession(session);
      lock.release();
    }
  }

  async #usingCopy<T>(problem: StorageError, work: (session: Session) => Promise<T>): Promise<T> {
    const locked = this.#locked;
    const session = locked?.copy ?? this.#openCopy(problem);
    if (locked !== undefined) locked.copy = session;
    try {
      await takeInAll(session);
      return await work(session);
    } finally {
      if (locked === undefined) closeSession(session);
    }
  }

  #openCopy(problem: StorageError): Session {
    const disk = scratchDisk(this.#world.disk);
    const world = { ...this.#world, disk, log: silentLogger };
    const memory = loadMemory(disk, this.#place, world.clock.monoMs());
    const troubles = this.#troubles.onlyShown(problem);
    return openSession(world, { place: this.#place, memory, troubles });
  }

  #dropCopy(): void {
    const { copy } = this.#locked ?? {};
    if (this.#locked === undefined || copy === undefined) return;
    this.#locked.copy = undefined;
    closeSession(copy);
  }

  #begin(): Session {
    const { disk, clock } = this.#world;
    try {
      if (this.#isTrustStale) this.#place = withTrustReread(disk, this.#place);
      this.#isTrustStale = false;
      if (this.#memory === undefined) {
        this.#memory = loadMemory(disk, this.#place, clock.monoMs());
        this.#checkpointAt = this.#memory.journalEnd;
      }
      const base = { place: this.#place, memory: this.#memory, troubles: this.#troubles };
      const session = openSession(this.#world, base);
      this.#memory = session.memory;
      return session;
    } catch (error) {
      this.#memory = undefined;
      throw error;
    }
  }

  /** Makes the changes of keys and tiers that are due; true when the session has to be opened again. */
  async #hasChangedTrust(session: Session): Promise<boolean> {
    // What is made before something fails holds from the next session on.
    this.#isTrustStale = true;
    this.#isTrustStale = await keepTrust(session);
    if (this.#isTrustStale) session.recorder.flush();
    return this.#isTrustStale;
  }
}

/** What an operator has to decide is no trouble with the disk, and waits for nothing. */
function isOfOurLogs({ code }: StorageError): boolean {
  return code === "log_damaged" || code === "identity_in_use";
}

function lockFor(
  role: "daemon" | "command",
  world: World,
  place: AgentConfig,
  waitMs: number,
): HeldLock {
  const since = new Date(world.clock.wallMs()).toISOString();
  const note = { pid: process.pid, role, since };
  const take = (ms: number) => takeLock(world.disk, place.paths.lock, note, ms);
  // Spec 4.1: a daemon waits for a command's lock; another daemon keeps its own for life.
  const isDaemon = role === "daemon";
  let attempt = take(isDaemon ? NOTE_SETTLES_MS : waitMs);
  if (isDaemon && !attempt.ok && attempt.holder?.role !== "daemon") attempt = take(waitMs);
  if (attempt.ok) return attempt.lock;
  const { holder } = attempt;
  const who =
    holder === undefined ? "another process" : `the ${holder.role} with process id ${holder.pid}`;
  throw new DeaddropError("already_running", `"${place.handle}" is in use on this wire by ${who}`, {
    hint: "stop it first (deaddrop service stop, or kill that process); two writers would fork the log",
  });
}
