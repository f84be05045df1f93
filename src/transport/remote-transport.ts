import type { StorageError } from "../storage/disk/disk.ts";
import { Replica, type ReplicaOptions } from "./copies/replica.ts";
import type { HostState } from "./host-state.ts";
import {
  TransportError,
  type Due,
  type Pulled,
  type PushTime,
  type Transport,
  type TransportHealth,
  type TransportKind,
  type TransportTrouble,
} from "./port.ts";
import type { Fetched, FetchedFiles, Remote } from "./remote.ts";
import { Schedule } from "./schedule.ts";
import type { TransportWorld } from "./world.ts";

/** What a transport is made of. */
export interface RemoteTransportOptions extends Omit<ReplicaOptions, "agreed" | "grown" | "today"> {
  readonly world: TransportWorld;
  readonly host: HostState;
}

/** The remote as it was last seen. */
interface Known extends FetchedFiles {
  version: string | undefined;
  /** Whether all of it is in the folder. */
  readonly isTaken: boolean;
}

/** Between two attempts to push when others push too; it doubles. */
const CONTENTION_MS = 40;
const MAX_PUSHES = 8;

/** A wire that several machines share through a place that holds its files. Spec 5. */
export class RemoteTransport implements Transport {
  readonly kind: TransportKind;
  readonly #options: RemoteTransportOptions;
  readonly #remote: Remote;
  readonly #replica: Replica;
  readonly #schedule: Schedule;
  readonly #heard: ((pulled: Pulled) => void)[] = [];
  #known: Known | undefined;
  /** What we pushed last. */
  #ours: string | undefined;
  #fetchedMs: number | undefined;
  #pushedMs: number | undefined;
  #waiting = 0;

  constructor(options: RemoteTransportOptions, remote: Remote) {
    this.kind = remote.kind;
    this.#options = options;
    this.#remote = remote;
    const { host, world } = options;
    const today = (): string => new Date(world.clock.wallMs()).toISOString().slice(0, 10);
    this.#replica = new Replica({ ...options, agreed: host.agreed, grown: host.grown, today });
    this.#schedule = new Schedule(options.world, options.host, (due) => this.#turn(due));
  }

  start(): void {
    this.#schedule.start();
  }

  async turn(due: Due): Promise<void> {
    await this.#schedule.turn(due);
  }

  async stop(): Promise<void> {
    this.#remote.stop();
    await this.#schedule.stop();
    this.#options.host.close();
  }

  push(when: PushTime): void {
    this.#schedule.push(when);
  }

  fetchSoon(): void {
    this.#schedule.fetchSoon();
  }

  acceptHistory(): void {
    this.#remote.acceptHistory();
    this.#known = undefined;
    this.#replica.acceptOurs();
    this.#schedule.tryNow();
  }

  onPulled(heard: (pulled: Pulled) => void): void {
    this.#heard.push(heard);
  }

  health(): TransportHealth {
    return {
      kind: this.kind,
      remote: this.#remote.url,
      isMover: this.#schedule.isMover,
      fetchedMs: this.#fetchedMs,
      pushedMs: this.#pushedMs,
      waiting: this.#waiting,
      heldLogs: this.#replica.held,
      problem: this.#schedule.problem,
    };
  }

  /**
   * Pushes what is due on what is known of the remote; fetches when that is due, or the push came late.
   * Answers whether something was pushed.
   */
  async #turn({ fetch, push }: Due): Promise<boolean> {
    try {
      const pushed = fetch ? "late" : await this.#push();
      if (pushed !== "late") return pushed === "pushed";
      for (let attempt = 0; attempt < MAX_PUSHES; attempt += 1) {
        const failed = await this.#fetch();
        const ended = push ? await this.#push() : "nothing";
        if (ended !== "late") {
          // What we have said goes out although a copy could not be written.
          if (failed !== undefined) throw failed;
          return ended === "pushed";
        }
        await this.#schedule.pause(this.#options.world.random() * CONTENTION_MS * 2 ** attempt);
      }
    } catch (error) {
      if (error instanceof TransportError) this.#noteError(error);
      throw error;
    }
    throw new TransportError("unreachable", "others push all the time", {
      hint: "it is tried again by itself",
    });
  }

  #noteError({ code, trouble }: TransportError): void {
    // What was fetched before is not here any more.
    if (code === "local") this.#known = undefined;
    if (trouble !== undefined) this.#tell({ changed: [], troubles: [trouble] });
  }

  /** Answers why a copy could not be written, if one could not. */
  async #fetch(): Promise<StorageError | undefined> {
    const { host, world } = this.#options;
    const beganMs = world.clock.wallMs();
    const fetched = await this.#remote.fetch();
    const isMover = host.mayMove();
    const isNewMover = this.#schedule.noteMover(isMover);
    const known = this.#known;
    if (known?.isTaken === true && known.version === fetched.version && !isNewMover) {
      this.#tell({ beganMs, changed: [], troubles: [] });
      await this.#save(undefined);
      return undefined;
    }
    return this.#take(fetched, { beganMs, isMover });
  }

  async #take(
    { version, files }: Fetched,
    { beganMs, isMover }: { readonly beganMs: number; readonly isMover: boolean },
  ): Promise<StorageError | undefined> {
    const { remote, troubles: found } = await files();
    const brought = await this.#replica.bring(remote, isMover);
    const troubles = [...found, ...brought.troubles];
    if (brought.isForeign) {
      this.#tell({ changed: [], troubles });
      throw stopped(brought.troubles);
    }
    const [failed] = brought.failed;
    const isTaken = failed === undefined && !brought.isUnjudged;
    this.#known = { version, remote, troubles: found, isTaken };
    const { changed } = brought;
    this.#tell(failed === undefined ? { beganMs, changed, troubles } : { changed, troubles });
    await this.#save(version);
    return failed;
  }

  /** Notes what was taken in, after those who wait for it have begun to read it. */
  async #save(version: string | undefined): Promise<void> {
    await this.#schedule.pause(0);
    if (version !== undefined) this.#remote.noteTaken(version);
    this.#options.host.save();
  }

  #tell(pulled: Pulled): void {
    if (pulled.beganMs !== undefined) {
      this.#fetchedMs = pulled.beganMs;
      this.#options.host.noteFetched(pulled.beganMs);
    }
    for (const heard of this.#heard) heard(pulled);
  }

  /** "late": the remote has moved on, or is not known yet. */
  async #push(): Promise<"pushed" | "nothing" | "late"> {
    const known = this.#known;
    if (known === undefined) return "late";
    const { host, world, folder } = this.#options;
    const { remote } = known;
    if (known.version !== this.#ours) this.#schedule.noteOthers();
    const changes = await this.#replica.changes(remote, this.#schedule.isMover);
    this.#waiting = changes.length;
    if (changes.length === 0) return "nothing";
    const version = await this.#remote.push(known.version, changes);
    if (version === undefined) return "late";
    known.version = version;
    this.#ours = version;
    for (const { path, bytes } of changes) {
      const id = remote.idOf(bytes);
      remote.files.set(path, { id, bytes: bytes.length });
      if (folder.wire.of(path)?.is === "document") host.agreed.set(path, id);
    }
    this.#replica.notePushed(remote, new Set(changes.map(({ path }) => path)));
    this.#remote.noteTaken(version);
    host.save();
    this.#pushedMs = world.clock.wallMs();
    this.#waiting = 0;
    return "pushed";
  }
}

function stopped([first]: readonly TransportTrouble[]): TransportError {
  return new TransportError("stopped", first?.detail ?? "the remote is another wire", {
    hint: "once the remote is the right one again, the daemon goes on within 5 minutes; a wire is moved with deaddrop transport switch",
  });
}
