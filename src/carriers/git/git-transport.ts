import { watch, type FSWatcher } from "node:fs";
import { dirname, join } from "node:path";
import { openLocked, StorageError, type Disk, type DiskFile } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";
import { quote } from "../../wire/quote.ts";
import { claimedWireId } from "../../wire/claimed-wire-id.ts";
import { archiveFile } from "../archive.ts";
import {
  TransportError,
  type ListedCarrier,
  type OwnLines,
  type Transport,
  type TransportHealth,
  type TransportTrouble,
  type Urgency,
  type WireLayout,
} from "../carrier.ts";
import { listWire, publishTo, type PublishedCarriers } from "../folder.ts";
import { readCarrier, type CarrierRead, type ReadBudget } from "../reader.ts";
import { checkTree, type CheckedTree } from "./check-tree.ts";
import { exchange, type Looks, type WireFolder } from "./exchange.ts";
import { isFullDisk } from "./git-trouble.ts";
import { Mirror } from "./mirror.ts";
import type { RemoteUrl } from "./remote-url.ts";
import { Repository, type Change, type Tree } from "./repository.ts";
import { GitFailed } from "./run-git.ts";
import { Schedule, type Due, type TransportWorld } from "./schedule.ts";
import { MAX_BYTES, WirePaths } from "./wire-paths.ts";

export interface GitTransportOptions {
  readonly disk: Disk;
  readonly world: TransportWorld;
  /** Of our process; git gets a part of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** Where the wire is in the repository: "" or a folder with "/" at its end. */
  readonly prefix: string;
  /** Private, of all daemons of this user and wire on this machine. */
  readonly stateFolder: string;
  readonly wireFolder: string;
  /** The pinned id. */
  readonly wireId: string;
  readonly ours: OwnLines;
  /** The same object until it changes. */
  layout(): WireLayout;
  /** Whether that agent runs on this machine. */
  isLocal(handle: string): boolean;
}

/** A commit as we have looked at it. */
interface Seen extends CheckedTree {
  readonly head: string | undefined;
  readonly paths: WirePaths;
}

const MAX_PUSHES = 8;
/** Between two attempts while others push too; it doubles. */
const CONTENTION_MS = 40;
/** How often it is looked whether another daemon of this machine has ended its turn. */
const LOCK_POLL_MS = 25;
const TIDY_EVERY = 64;
/** A push costs the whole of each file that has grown: a longer one becomes an archived part. */
const PART_BYTES = 16 * 1_048_576;
/** How people's clones merge carriers. */
const RULES = Buffer.from("*.jsonl merge=union -text\n");
const ATTRIBUTES: Change = { path: ".gitattributes", bytes: RULES.length, pieces: [RULES] };
const CONFIG = "config.json";
const STATE = "mirror.json";
const EMPTY_TREE: Tree = { files: [], odd: new Map(), isWhole: true };

/**
 * A wire that machines share through a git repository. The repository is a second folder that git syncs: what was
 * fetched lies in a mirror, our lines are appended there and pushed; when the remote has moved on, the mirror is
 * reset to what it has now, and what is missing is appended again. Spec 5.2.
 */
export class GitTransport implements Transport {
  readonly kind = "git";
  readonly #options: GitTransportOptions;
  readonly #schedule: Schedule;
  readonly #mirror: Mirror;
  readonly #folder: WireFolder;
  readonly #stopped = new AbortController();
  readonly #listeners: (() => void)[] = [];
  readonly #looks: Looks = new Map();
  readonly #published: PublishedCarriers = new Map();
  #paths: WirePaths | undefined;
  #repository: Repository | undefined;
  /** Nothing was fetched into it yet. */
  #isFresh = true;
  /** How often it was made again since something could be fetched. */
  #discards = 0;
  #seen: Seen | undefined;
  /** The version of `config.json` that has our wire's id. */
  #configId: string | undefined;
  #turns = 0;
  #accepts = false;
  /** What we pushed last. */
  #pushed: string | undefined;
  #moverLock: DiskFile | undefined;
  #watcher: FSWatcher | undefined;
  #knownMs: number | undefined;
  /** A fetch in the future counts for nothing, also when that time has come: the clock was set back. */
  #voidMs: number | undefined;
  #pushedMs: number | undefined;
  /** The last line of our chain that our files of the mirror have, and that the remote has. */
  #appended = 0;
  #publishedThrough = 0;
  #waiting = 0;
  #troubles: readonly TransportTrouble[] = [];

  constructor(options: GitTransportOptions) {
    const { disk, stateFolder, wireFolder: path, ours, remote } = options;
    this.#options = options;
    this.#schedule = new Schedule(options.world, (due) => this.#turn(due));
    this.#mirror = new Mirror(disk, stateFolder, remote.url);
    const isLocal = (handle: string): boolean => options.isLocal(handle);
    this.#folder = { disk, path, handle: ours.handle, isLocal };
  }

  list(): readonly ListedCarrier[] {
    // Other daemons of this machine fetch for who never does.
    try {
      this.#mirror.load();
    } catch (error) {
      if (error instanceof StorageError || error instanceof TransportError) return [];
      throw error;
    }
    return this.#listMirror(this.#options.layout());
  }

  #listMirror(layout: WireLayout): readonly ListedCarrier[] {
    return listWire(this.#options.disk, this.#mirror.folder, layout).carriers;
  }

  read({ name }: ListedCarrier, cursor: string | undefined, budget: ReadBudget): CarrierRead {
    return readCarrier(this.#options.disk, this.#mirror.at(name), cursor, budget);
  }

  publish(urgency: Urgency): void {
    this.#schedule.push(urgency);
  }

  get publishedThrough(): number {
    return this.#publishedThrough;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  knownMs(owner: string, nowMs: number): number | undefined {
    if (this.#options.isLocal(owner)) return nowMs;
    const { head, fetchedMs } = this.#mirror;
    // Another daemon may have fetched what we have not looked at yet.
    if (head === this.#seen?.head && this.#mirror.lost === undefined) this.#knownMs = fetchedMs;
    if (this.#knownMs !== undefined && this.#knownMs > nowMs) this.#voidMs = this.#knownMs;
    const isUnknown = this.#knownMs === this.#voidMs || this.#seen?.incomplete.has(owner) === true;
    return isUnknown ? undefined : this.#knownMs;
  }

  refresh(): void {
    this.#schedule.fetchNow();
  }

  health(): TransportHealth {
    return {
      remote: this.#options.remote.url,
      isMover: this.#moverLock !== undefined,
      fetchedMs: this.#mirror.fetchedMs,
      pushedMs: this.#pushedMs,
      waiting: this.#waiting,
      problem: this.#schedule.problem,
      troubles: [...this.#rewritten(), ...this.#troubles],
    };
  }

  start(): void {
    const { disk, stateFolder } = this.#options;
    disk.makeFolder(stateFolder, PRIVATE_FOLDER);
    // Other daemons of this machine fetch too.
    this.#watcher = watch(stateFolder, (_event, name) => {
      if (name !== STATE || !this.#mirror.isStale()) return;
      this.#schedule.lookNow();
    }).on("error", () => undefined);
    this.#schedule.start();
  }

  async stop(): Promise<void> {
    this.#watcher?.close();
    this.#stopped.abort();
    await this.#schedule.stop();
    this.#moverLock?.close();
    this.#moverLock = undefined;
  }

  /** One turn now; `health` says how it ended. */
  turn(due: Due): Promise<void> {
    return this.#schedule.turn(due);
  }

  /** The operator takes the history of the remote as it is now. */
  acceptHistory(): void {
    this.#accepts = true;
    this.#schedule.push("soon");
    this.#schedule.tryNow();
  }

  async #turn(due: Due): Promise<boolean> {
    const lock = await this.#lock();
    try {
      this.#mirror.load();
      return await this.#lockedTurn(due);
    } catch (error) {
      if (error instanceof TransportError && error.trouble !== undefined)
        this.#troubles = [error.trouble];
      throw error instanceof GitFailed ? this.#discard(error) : error;
    } finally {
      lock.close();
    }
  }

  async #lockedTurn({ fetch, push, maxAgeMs = 0 }: Due): Promise<boolean> {
    const { world } = this.#options;
    if (this.#repository?.exists() === false) this.#forget();
    const repository = (this.#repository ??= await this.#open());
    if (this.#turns++ % TIDY_EVERY === 0) await repository.tidy();
    const ageMs = world.clock.wallMs() - (this.#mirror.fetchedMs ?? -Infinity);
    const isRecent = ageMs >= 0 && ageMs < maxAgeMs;
    let isFetchDue = this.#isFresh || this.#accepts || (fetch && !isRecent);
    for (let attempt = 0; attempt < MAX_PUSHES; attempt += 1) {
      const { head, fetchedMs } = this.#mirror;
      const seen = isFetchDue
        ? await this.#fetch(repository)
        : await this.#take(repository, head, fetchedMs);
      const mayPush = push && this.#mirror.lost === undefined;
      const troubled = this.#exchange(seen, mayPush);
      const outcome = mayPush ? await this.#push(repository, seen) : "nothing";
      if (outcome !== "late") {
        if (troubled !== undefined) throw troubled;
        return outcome === "pushed";
      }
      isFetchDue = true;
      await this.#schedule.pause(world.random() * CONTENTION_MS * 2 ** attempt);
    }
    throw new TransportError("unreachable", "others push all the time", {
      hint: "it is retried automatically",
    });
  }

  async #fetch(repository: Repository): Promise<Seen> {
    const mirror = this.#mirror;
    const beganMs = this.#options.world.clock.wallMs();
    const head = await repository.fetch();
    await this.#look(repository, head);
    const last = mirror.lost ?? mirror.head;
    const isLater =
      last === undefined || (head !== undefined && (await repository.isAncestor(last, head)));
    mirror.lost = isLater || this.#accepts ? undefined : last;
    const seen = await this.#take(repository, head, beganMs);
    this.#accepts = false;
    this.#isFresh = false;
    this.#discards = 0;
    return seen;
  }

  /** Makes the mirror hold what the commit has. */
  async #take(
    repository: Repository,
    head: string | undefined,
    fetchedMs: number | undefined,
  ): Promise<Seen> {
    const mirror = this.#mirror;
    const seen = await this.#look(repository, head);
    const isKnown = (path: string): boolean => seen.paths.get(path) !== undefined;
    await mirror.reset(repository, seen.files, isKnown);
    mirror.head = head;
    mirror.fetchedMs = fetchedMs;
    mirror.save();
    for (const listener of this.#listeners) listener();
    return seen;
  }

  /** @throws TransportError (`stopped`) when it is another wire */
  async #look(repository: Repository, head: string | undefined): Promise<Seen> {
    const paths = this.#currentPaths();
    if (this.#seen?.head === head && this.#seen?.paths === paths) return this.#seen;
    const known = [...this.#mirror.files.keys(), ...paths.live.keys()];
    const tree = head === undefined ? EMPTY_TREE : await repository.list(head, known);
    const config = tree.files.find(({ path }) => path === CONFIG);
    if (config !== undefined && config.bytes <= MAX_BYTES.document && config.id !== this.#configId)
      this.#requireOurWire(await repository.read(config.id, MAX_BYTES.document));
    this.#configId = config?.id;
    this.#seen = { head, paths, ...checkTree(tree, paths, this.#mirror.files) };
    return this.#seen;
  }

  #requireOurWire(config: Uint8Array): void {
    const { wireId } = this.#options;
    const claimed = claimedWireId(config);
    if (claimed === wireId) return;
    const other = claimed === undefined ? "a wire without an id" : `the wire ${quote(claimed)}`;
    const detail = `the remote holds ${other}, and this is the wire ${quote(wireId)}`;
    throw new TransportError("stopped", detail, {
      hint: "once the remote is the right one again it goes on by itself, within 5 minutes; a wire is moved with deaddrop transport switch",
      trouble: { cause: "foreign_wire", where: quote(claimed ?? CONFIG), detail },
    });
  }

  /** Trouble with the wire's folder keeps nothing from being pushed: it is returned. */
  #exchange({ paths, troubles }: Seen, mayPush: boolean): StorageError | undefined {
    try {
      const found = exchange(this.#folder, this.#mirror, paths, this.#looks, mayPush);
      this.#troubles = [...troubles, ...found];
      return undefined;
    } catch (error) {
      if (error instanceof StorageError) return error;
      throw error;
    }
  }

  async #push(repository: Repository, seen: Seen): Promise<"pushed" | "nothing" | "late"> {
    const mirror = this.#mirror;
    if (seen.head !== this.#pushed) this.#schedule.noteOthers();
    this.#publish(seen.paths.layout);
    const { handle } = this.#options.ours;
    const isOurs = (path: string): boolean => {
      const file = seen.paths.get(path);
      // Nobody has all the lines of a shared file that was refused.
      if (file === undefined || (file.is === "shared" && seen.refused.has(path))) return false;
      return file.owner === undefined || file.owner === handle;
    };
    const changes = [...mirror.changes(repository, isOurs, seen.refused)];
    this.#waiting = changes.length;
    if (changes.length === 0) {
      this.#publishedThrough = this.#appended;
      return "nothing";
    }
    const attributes = seen.hasAttributes ? [] : [ATTRIBUTES];
    const commit = await repository.commit(seen.head, [...changes, ...attributes]);
    if (!(await repository.push(commit))) return "late";
    const files = new Map(seen.files);
    const refused = new Set(seen.refused);
    for (const { path, id } of changes) {
      mirror.note(path, id);
      files.set(path, id);
      refused.delete(path);
    }
    this.#seen = { ...seen, head: commit, files, refused, hasAttributes: true };
    this.#pushed = commit;
    this.#pushedMs = this.#options.world.clock.wallMs();
    this.#publishedThrough = this.#appended;
    this.#waiting = 0;
    mirror.head = commit;
    mirror.save();
    return "pushed";
  }

  /** Appends to our files of the mirror what they lack of our chain. */
  #publish(layout: WireLayout): void {
    const { disk, ours, world } = this.#options;
    const mirror = this.#mirror;
    const chain = ours.chain();
    const year = new Date(world.clock.wallMs()).getUTCFullYear();
    for (const carrier of layout.ours) {
      const at = mirror.at(carrier.path);
      disk.makeFolder(dirname(at), PRIVATE_FOLDER);
      if ((disk.stat(at)?.size ?? 0) > PART_BYTES)
        archiveFile(disk, mirror.folder, layout.parts, carrier.path, { year, author: ours.handle });
      const carriers = this.#listMirror(layout);
      const place = { disk, root: mirror.folder, mode: PRIVATE_FILE, layout, carriers };
      publishTo(place, carrier, ours, chain, this.#published);
    }
    if (layout.ours.length > 0) this.#appended = chain.last;
  }

  /** What the operator is told while the remote lacks what it had. */
  #rewritten(): TransportTrouble[] {
    const { head, lost } = this.#mirror;
    if (lost === undefined) return [];
    const now = head === undefined ? "the branch is gone" : `it is at ${head} now`;
    const detail =
      `the history of the remote lacks commit ${lost}, which it had; ${now}. Nothing is pushed until you have ` +
      "looked at the repository and say: deaddrop transport accept";
    return [{ cause: "history_rewritten", where: this.#options.remote.url, detail }];
  }

  #open(): Promise<Repository> {
    const { disk, env, remote, branch, prefix, stateFolder, ours, world } = this.#options;
    const folder = join(stateFolder, "repository");
    const wallMs = (): number => world.clock.wallMs();
    const place = { folder, remote, branch, prefix, handle: ours.handle, wallMs };
    return Repository.open(disk, place, env, this.#stopped.signal);
  }

  /** The repository holds nothing that cannot be fetched again; when a new one fails too, the remote is to blame. */
  #discard(cause: GitFailed): TransportError {
    const { url } = this.#options.remote;
    const { message: detail } = cause;
    if (isFullDisk(cause))
      return new TransportError("local", detail, { hint: "free space on that filesystem", cause });
    this.#repository?.discard();
    this.#forget();
    this.#discards += 1;
    if (this.#discards === 1) {
      const hint = "the private repository is made again by itself";
      return new TransportError("local", detail, { hint, cause });
    }
    return new TransportError("stopped", `${url} cannot be read: ${detail}`, {
      hint: "look at the repository (git fsck); it is retried automatically, within 5 minutes",
      trouble: { cause: "wire_tampered", where: url, detail },
      cause,
    });
  }

  #forget(): void {
    this.#repository = undefined;
    this.#seen = undefined;
    this.#isFresh = true;
  }

  #currentPaths(): WirePaths {
    const layout = this.#options.layout();
    if (this.#paths?.layout !== layout) this.#paths = new WirePaths(layout);
    return this.#paths;
  }

  /** One daemon of this machine has its turn at a time. */
  async #lock(): Promise<DiskFile> {
    const { disk, stateFolder } = this.#options;
    disk.makeFolder(stateFolder, PRIVATE_FOLDER);
    for (;;) {
      this.#moverLock ??= this.#tryLock("mover.lock");
      const lock = this.#tryLock("turn.lock");
      if (lock !== undefined) return lock;
      if (this.#stopped.signal.aborted)
        throw new TransportError("stopped", "the transport has stopped", {
          hint: "start it again",
        });
      await this.#schedule.pause(LOCK_POLL_MS);
    }
  }

  #tryLock(name: string): DiskFile | undefined {
    const { disk, stateFolder } = this.#options;
    return openLocked(disk, join(stateFolder, name), { mode: PRIVATE_FILE, waitMs: 0 });
  }
}
