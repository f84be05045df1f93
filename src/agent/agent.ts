import type { ArchiveAnswer, ReclaimAnswer, RequestKey, SendAnswer } from "../api/client.ts";
import { DeaddropError } from "../api/errors.ts";
import type { HoldsView, ViewArgs, ViewName, Views } from "../api/views.ts";
import { archiveYear } from "../carriers/archive-year.ts";
import type { Carriers } from "../carriers/open-carriers.ts";
import type { HeldLock } from "../storage/disk/lock.ts";
import { StorageError, type Disk } from "../storage/disk/disk.ts";
import type { OperatorIncident } from "../store/told.ts";
import type { LinePlace } from "../trust/store.ts";
import type { Draft } from "../wire/compose.ts";
import { SECOND_MS } from "../wire/durations.ts";
import type { Asked, DiskTrouble } from "./answers/asked.ts";
import type { MemberChange } from "./answers/members.ts";
import { viewOf } from "./answers/views.ts";
import { loadPlace, type AgentConfig, type PlaceRequest } from "./config/agent-config.ts";
import type { OwnMatter } from "./duties/agent-notices.ts";
import type { StateChange } from "./own-state.ts";
import { answered, leaveWire, notSent, proposeMembers, sendGroups, sendOnce } from "./sending.ts";
import { lockIdentity } from "./session/identity-lock.ts";
import { Session } from "./session/session.ts";
import type { World } from "./session/world.ts";

/** Short, since it blocks the process: the client tries again, and looks for a daemon meanwhile. */
const COMMAND_LOCK_WAIT_MS = 250;
const FIRST_RETRY_MS = SECOND_MS;
const LAST_RETRY_MS = 30 * SECOND_MS;

/** Disk trouble of a daemon, and when it tries again: monotonic ms. */
interface Stuck extends DiskTrouble {
  readonly waitMs: number;
  readonly retryMs: number;
}

/**
 * One identity on one wire, without a process around it: the daemon, the command line, the library and the simulator
 * all work through this. Calls do not overlap; the caller queues them. Nothing is locked before a call needs it.
 *
 * A **daemon** takes the lock on the identity for life and calls `tick` when a carrier has changed or something is
 * due; a **command** opens the agent for one call, and takes everything in first. Either way a round (`core.ts`)
 * takes lines in, decides what follows, signs, publishes, and writes the files that repeat the store. After a crash
 * the next process opens the store and goes on. Spec 4.1.
 */
export class Agent {
  readonly #world: World;
  readonly #request: PlaceRequest;
  #config: AgentConfig;
  /** Of a daemon. */
  #lock: HeldLock | undefined;
  #session: Session | undefined;
  #stuck: Stuck | undefined;
  /** Since when the disk does not take files of ours: wall ms. */
  #filesSinceMs: number | undefined;
  /** Why the folder takes none of our lines; undefined if they are published. */
  #publishError: string | undefined;

  /** Loads and checks the agent's configuration. @throws DeaddropError */
  constructor(world: World, request: PlaceRequest) {
    this.#world = world;
    this.#request = request;
    this.#config = loadPlace(world.disk, world.places, request);
  }

  /** Its configuration as it is now. */
  get place(): AgentConfig {
    if (this.#session === undefined) return this.#config;
    // A session changes pins and keys by itself.
    const { store, identity, nextIdentity, nextIsUrgent } = this.#session.trust;
    return { ...this.#config, store, identity, nextIdentity, nextIsUrgent };
  }

  get disk(): Disk {
    return this.#world.disk;
  }

  /** Why nothing is taken in or sent. It is retried automatically. */
  get stuck(): StorageError | undefined {
    return this.#stuck?.error;
  }

  /** The places of the wire. A daemon starts them. @throws StorageError */
  get carriers(): Carriers {
    return this.#locked().carriers;
  }

  monoMs(): number {
    return this.#world.clock.monoMs();
  }

  /**
   * Takes the identity's lock for good (a daemon). `waitMs`: how long a command's lock is waited for.
   *
   * @throws DeaddropError "already_running" with the holder's process id, StorageError
   */
  lockIdentity(waitMs: number): void {
    this.#lock = lockIdentity("daemon", this.#world, this.place, waitMs);
    this.#locked();
  }

  /** One round of a daemon. True when more waits to be read. */
  async tick(): Promise<boolean> {
    if (this.#stuck !== undefined && this.monoMs() < this.#stuck.retryMs) return false;
    try {
      const { core } = this.#locked();
      const hasMore = await core.round();
      this.#stuck = undefined;
      this.#noteFiles(core.troubles);
      this.#notePublishing(this.#locked());
      this.#world.checkpointer?.look(core.store.path, !hasMore);
      return hasMore;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.#noteStuck(error);
      return false;
    }
  }

  /** When the next round is due: monotonic ms. */
  nextDueMs(): number {
    if (this.#stuck !== undefined) return this.#stuck.retryMs;
    const dueMs = this.#session?.core.nextDueMs ?? Infinity;
    return this.#filesSinceMs === undefined
      ? dueMs
      : Math.min(dueMs, this.monoMs() + LAST_RETRY_MS);
  }

  /** A matter for the operator that no line gives by itself. Spec 3.5. */
  tell(incident: OperatorIncident): Promise<void> {
    return this.#using(({ core }) => {
      core.store.write((into) => {
        core.tell(into, incident);
      });
    });
  }

  /** How often we beat now, ms. */
  cadenceMs(): number {
    return this.#session?.core.ownCadenceMs ?? this.place.tiers.cadencesMs.T1_active;
  }

  /** One last beat, `paused`. */
  async farewell(): Promise<void> {
    try {
      const { core } = this.#locked();
      await core.round();
      core.farewell();
      core.writeFiles();
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
  }

  view<N extends ViewName>(name: N, args: ViewArgs[N]): Promise<Views[N]> {
    return this.#reading((asked) => viewOf(asked, name, args));
  }

  markRead(ids: readonly string[] | "all"): Promise<{ read: number }> {
    return this.#using(({ core }) => ({ read: core.markRead(ids) }));
  }

  /** `notWoken` is the daemon's own to say. */
  setStatus(change: StateChange): Promise<void> {
    return this.#using(({ core }) => {
      core.heart.setState(change);
    });
  }

  /** A notice of the operator's own program, once for each kind and `about`. Spec 3.12. */
  notify(matter: OwnMatter): Promise<{ told: boolean }> {
    return this.#using(({ notices }) => ({ told: notices.notify(matter) }));
  }

  /** Each group is what one caller sends; all go out as one write, and each has its answer. */
  async send(groups: readonly (readonly Draft[])[]): Promise<SendAnswer[]> {
    const answers = await this.#sending((session) => sendGroups(session, groups));
    return answers.map((answer) => ({ ...answer, ...this.#unpublished() }));
  }

  /** A call that repeats a key is answered as the first one was, and sends nothing. Spec 8.1. */
  async sendOnce(drafts: readonly Draft[], key: RequestKey): Promise<SendAnswer> {
    const answer = await this.#sending((session) => sendOnce(session, drafts, key));
    return { ...answer, ...this.#unpublished() };
  }

  #unpublished(): Pick<SendAnswer, "unpublished"> {
    return this.#publishError === undefined ? {} : { unpublished: this.#publishError };
  }

  /** What was sent under a key; null: nothing. */
  answered(key: RequestKey): Promise<SendAnswer | null> {
    return this.#reading(({ session }) => answered(session, key));
  }

  /** Proposes a change of members. Spec 3.11. */
  changeMembers(change: MemberChange): Promise<SendAnswer> {
    return this.#sending((session) => proposeMembers(session, change));
  }

  /** Our agent leaves the wire; its open changes of members end first. Spec 3.11. */
  leave(): Promise<SendAnswer> {
    return this.#sending(leaveWire);
  }

  /** A parked agent goes on; false when it is not parked. Spec 3.8. */
  wake(): Promise<{ woken: boolean }> {
    return this.#using(({ core }) => ({ woken: core.wake() }));
  }

  /** The operator releases a held peer; of a fork the branch of `follow` is followed. Returns what was held. Spec 1.6. */
  resetPeer(peer: string, follow?: LinePlace): Promise<HoldsView> {
    return this.#using(({ decisions }) => decisions.resetPeer(peer, follow));
  }

  /** A key of a peer is stopped at once; what it has signed behind `last` is struck. Spec 2.5. */
  revokeKey(keyId: string, last?: LinePlace): Promise<void> {
    return this.#using(({ decisions }) => {
      decisions.revokeKey(keyId, last);
    });
  }

  /**
   * The operator has stopped the other copy of our key, and we write again. `from`: absolute paths of files that hold
   * lines of ours. Spec 1.6.
   */
  reclaim(from?: readonly string[]): Promise<ReclaimAnswer> {
    return this.#using(({ decisions }) => decisions.reclaim(from));
  }

  /** Moves our logs and the shared files up to that year, by default the last full one, into the archive. Spec 1.10. */
  archive(year?: number): Promise<ArchiveAnswer> {
    const now = new Date(this.#world.clock.wallMs()).getUTCFullYear();
    const closed = year ?? now - 1;
    if (closed > now) {
      throw new DeaddropError("usage", `the year ${closed} has not begun`, {
        hint: `give ${now} or an earlier year`,
      });
    }
    return this.#using(({ config, carriers }) => {
      const place = {
        wireDir: config.wire.folder,
        handle: config.handle,
        layout: carriers.layout(),
      };
      return { year: closed, files: archiveYear(this.disk, place, closed) };
    });
  }

  /** Takes in what is new in the carriers of peers now; true when more waits. */
  look(): Promise<boolean> {
    // A command takes everything in before anything else.
    return this.#lock === undefined ? this.#using(() => false) : this.tick();
  }

  /** Reads configuration, pins and tiers again after the operator has changed them. */
  async reload(): Promise<void> {
    this.#config = loadPlace(this.#world.disk, this.#world.places, this.#request);
    if (this.#session === undefined) return;
    this.#session.reload(this.#config);
    // Operator decisions take effect before the reload returns.
    await this.tick();
  }

  close(): void {
    this.#session?.core.close();
    this.#session = undefined;
    this.#lock?.release();
    this.#lock = undefined;
  }

  /** A daemon's session: it is opened again where it could not be. */
  #locked(): Session {
    this.#session ??= new Session(this.#world, this.#config, "daemon");
    return this.#session;
  }

  /** What a command or a client of a daemon does; a command takes everything in before and publishes behind it. */
  async #using<T>(work: (session: Session) => T | Promise<T>): Promise<T> {
    if (this.#world.daemonElsewhere !== undefined) throw heldElsewhere(this.place);
    if (this.#lock !== undefined) return this.#act(this.#locked(), work);
    const lock = lockIdentity("command", this.#world, this.place, COMMAND_LOCK_WAIT_MS);
    let session: Session | undefined;
    try {
      session = new Session(this.#world, this.#config, "command");
      while (await session.core.round());
      const result = await this.#act(session, work);
      session.core.notePublished();
      return result;
    } finally {
      session?.core.close();
      lock.release();
    }
  }

  async #act<T>(session: Session, work: (session: Session) => T | Promise<T>): Promise<T> {
    const result = await work(session);
    session.core.publish();
    this.#notePublishing(session);
    session.core.writeFiles();
    return result;
  }

  async #sending<T>(work: (session: Session) => T): Promise<T> {
    try {
      return await this.#using(work);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      throw notSent(error);
    }
  }

  /** What only reads is answered from the store where nothing can be written, as of the last commit. */
  async #reading<T>(work: (asked: Asked) => T): Promise<T> {
    if (this.#lock !== undefined) return work(this.#asked(this.#locked(), true));
    if (this.#world.daemonElsewhere !== undefined) return this.#readStore(work, []);
    try {
      return await this.#using((session) => work(this.#asked(session, false)));
    } catch (error) {
      const isOurs = error instanceof StorageError && this.disk.stat(this.place.paths.store);
      if (!(error instanceof StorageError) || isOurs === undefined) throw error;
      const sinceMs = this.#world.clock.wallMs();
      return this.#readStore(work, [{ area: "private files", error, sinceMs }]);
    }
  }

  #readStore<T>(work: (asked: Asked) => T, diskTroubles: readonly DiskTrouble[]): T {
    const session = new Session(this.#world, this.#config, "reader");
    try {
      return work({ session, isDaemon: false, diskTroubles });
    } finally {
      session.core.close();
    }
  }

  #asked(session: Session, isDaemon: boolean): Asked {
    const { troubles } = session.core;
    const { trouble } = session.carriers.folder;
    const sinceMs = this.#filesSinceMs ?? this.#world.clock.wallMs();
    const files = troubles.map((error): DiskTrouble => {
      const isShared = error.path.startsWith(this.place.wire.folder);
      return { area: isShared ? "wire files" : "private files", error, sinceMs };
    });
    return {
      session,
      isDaemon,
      diskTroubles: [
        ...(this.#stuck === undefined ? [] : [this.#stuck]),
        ...(trouble === undefined ? [] : [{ area: "own files" as const, ...trouble }]),
        ...files,
      ],
    };
  }

  #noteStuck(error: StorageError): void {
    const { clock, log } = this.#world;
    const before = this.#stuck;
    if (before === undefined)
      log.error({ code: error.code }, `nothing is taken in: ${error.message}`);
    const waitMs = Math.min((before?.waitMs ?? FIRST_RETRY_MS / 2) * 2, LAST_RETRY_MS);
    this.#stuck = {
      ...{ area: "private files", error, waitMs },
      sinceMs: before?.sinceMs ?? clock.wallMs(),
      retryMs: clock.monoMs() + waitMs,
    };
  }

  #notePublishing({ carriers: { folder } }: Session): void {
    const { error } = folder.trouble ?? {};
    if (error !== undefined && error.message !== this.#publishError)
      this.#world.log.warn({ code: error.code }, `cannot publish, will retry: ${error.message}`);
    this.#publishError = error?.message;
  }

  #noteFiles([first]: readonly StorageError[]): void {
    const { clock, log } = this.#world;
    if (first !== undefined && this.#filesSinceMs === undefined)
      log.warn({ code: first.code }, `a file cannot be written: ${first.message}`);
    this.#filesSinceMs = first && (this.#filesSinceMs ?? clock.wallMs());
  }
}

function heldElsewhere({ handle }: AgentConfig): DeaddropError {
  return new DeaddropError("already_running", `the daemon of ${handle} has its files`, {
    hint: "ask it: deaddrop status",
  });
}
