import type { StorageError } from "../../storage/disk/disk.ts";
import type { Change } from "../copies/changes.ts";
import { Replica } from "../copies/replica.ts";
import {
  TransportError,
  type Due,
  type Pulled,
  type PushTime,
  type Transport,
  type TransportHealth,
  type TransportTrouble,
} from "../port.ts";
import { Schedule } from "../schedule.ts";
import { openGit } from "./git-settings.ts";
import type { GitTransportOptions } from "./options.ts";
import { remoteTree, type RemoteTree } from "./remote-tree.ts";
import { openRepository, type Repository } from "./repository.ts";
import { GitFailed } from "./run-git.ts";
import { openSeenRemote, type SeenRemote } from "./seen-remote.ts";
import { EMPTY_TREE } from "./tree.ts";
import { PRIVATE_FOLDER } from "../../storage/private/private-folders.ts";

/** The remote as it was last seen. */
interface Known {
  head: string | undefined;
  readonly tree: RemoteTree;
  /** Whether all of it is in the folder. */
  readonly isTaken: boolean;
}

/** The private repository, and what is known of its remote. */
interface Opened {
  readonly repository: Repository;
  readonly seen: SeenRemote;
}

/** Between two attempts to push when others push too; it doubles. */
const CONTENTION_MS = 40;
const MAX_PUSHES = 8;
/** How git merges logs in the clones of people. */
const ATTRIBUTES = "*.jsonl merge=union -text\n";

/** A wire that several machines share through a git repository. Spec 5.2. */
export class GitTransport implements Transport {
  readonly kind = "git";
  readonly #options: GitTransportOptions;
  readonly #replica: Replica;
  readonly #schedule: Schedule;
  readonly #heard: ((pulled: Pulled) => void)[] = [];
  #opened: Opened | undefined;
  #known: Known | undefined;
  #fetchedMs: number | undefined;
  #pushedMs: number | undefined;
  #waiting = 0;
  readonly #ended = new AbortController();

  constructor(options: GitTransportOptions) {
    this.#options = options;
    this.#replica = new Replica({ ...options, agreed: options.host.agreed });
    this.#schedule = new Schedule(options.world, options.host, (due) => this.#turn(due));
  }

  start(): void {
    this.#schedule.start();
  }

  async turn(due: Due): Promise<void> {
    await this.#schedule.turn(due);
  }

  async stop(): Promise<void> {
    this.#ended.abort();
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
    const { world, paths, settings } = this.#options;
    openSeenRemote(world.disk, paths.seenRemote, settings.remote.url).forget();
    this.#opened = undefined;
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
      remote: this.#options.settings.remote.url,
      isMover: this.#schedule.isMover,
      fetchedMs: this.#fetchedMs,
      pushedMs: this.#pushedMs,
      waiting: this.#waiting,
      problem: this.#schedule.problem,
    };
  }

  /** Pushes what is due on what is known of the remote; fetches when that is due, or the push came late. */
  async #turn({ fetch, push }: Due): Promise<void> {
    try {
      const opened = await this.#open();
      if (!fetch && (await this.#push(opened))) return;
      for (let attempt = 0; attempt < MAX_PUSHES; attempt += 1) {
        const failed = await this.#fetch(opened);
        if (!push || (await this.#push(opened))) {
          // What we have said goes out although a copy could not be written.
          if (failed !== undefined) throw failed;
          return;
        }
        await this.#schedule.pause(this.#options.world.random() * CONTENTION_MS * 2 ** attempt);
      }
    } catch (error) {
      throw this.#localTrouble(error);
    }
    throw new TransportError("unreachable", "others push all the time", {
      hint: "it is tried again by itself",
    });
  }

  async #open(): Promise<Opened> {
    if (this.#opened !== undefined) return this.#opened;
    const { world, paths, settings, folder } = this.#options;
    const { disk, clock, env } = world;
    const { remote, branch } = settings;
    const seen = openSeenRemote(disk, paths.seenRemote, remote.url);
    disk.makeFolder(paths.repository, PRIVATE_FOLDER);
    const { git, signs } = await openGit(disk, {
      ...{ folder: paths.repository, remote, env },
      signal: this.#ended.signal,
    });
    const repository = await openRepository(git, {
      folder: paths.repository,
      ...{ remote, branch, signs, handle: folder.handle },
      wallMs: () => clock.wallMs(),
    });
    this.#opened = { repository, seen };
    return this.#opened;
  }

  /** What git says of our own repository: it holds nothing that cannot be fetched again. */
  #localTrouble(error: unknown): unknown {
    if (!(error instanceof GitFailed)) return error;
    this.#opened?.repository.discard();
    this.#opened = undefined;
    this.#known = undefined;
    return new TransportError("local", error.message, {
      hint: "the private repository is made again by itself",
      cause: error,
    });
  }

  /** Answers why a copy could not be written, if one could not. */
  async #fetch({ repository, seen }: Opened): Promise<StorageError | undefined> {
    const { host, world } = this.#options;
    const beganMs = world.clock.wallMs();
    const head = await repository.fetch();
    await this.#requireHistory({ repository, seen }, head);
    const isMover = host.mayMove();
    const isNewMover = this.#schedule.noteMover(isMover);
    const known = this.#known;
    if (known?.isTaken === true && known.head === head && !isNewMover) {
      this.#tell({ beganMs, changed: [], troubles: [] });
      return undefined;
    }
    return this.#take({ repository, seen }, head, { beganMs, isMover });
  }

  async #take(
    { repository, seen }: Opened,
    head: string | undefined,
    { beganMs, isMover }: { readonly beganMs: number; readonly isMover: boolean },
  ): Promise<StorageError | undefined> {
    const { settings, folder, host } = this.#options;
    const paths = folder.wire.paths.map((path) => settings.prefix + path);
    const files = head === undefined ? EMPTY_TREE : await repository.tree(head, paths);
    const tree = remoteTree(files, settings.prefix, folder.wire, repository);
    const brought = await this.#replica.bring(tree.remote, isMover);
    if (isMover) host.agreed.save();
    const troubles = [...tree.troubles, ...brought.troubles];
    if (brought.isForeign) {
      this.#tell({ changed: [], troubles });
      throw stopped(brought.troubles);
    }
    const [failed] = brought.failed;
    this.#known = { head, tree, isTaken: failed === undefined };
    if (head !== undefined) seen.save(head);
    const { changed } = brought;
    this.#tell(failed === undefined ? { beganMs, changed, troubles } : { changed, troubles });
    return failed;
  }

  #tell(pulled: Pulled): void {
    if (pulled.beganMs !== undefined) {
      this.#fetchedMs = pulled.beganMs;
      this.#options.host.noteFetched(pulled.beganMs);
    }
    for (const heard of this.#heard) heard(pulled);
  }

  /** False when the remote has moved on, or is not known yet. */
  async #push({ repository, seen }: Opened): Promise<boolean> {
    const known = this.#known;
    if (known === undefined) return false;
    const { host, world, folder } = this.#options;
    const { remote } = known.tree;
    const changes = await this.#replica.changes(remote, this.#schedule.isMover);
    this.#waiting = changes.length;
    if (changes.length === 0) return true;
    const commit = await repository.commit(known.head, this.#inRepository(changes, known));
    if (!(await repository.push(commit))) return false;
    known.head = commit;
    for (const { path, bytes } of changes) {
      const id = remote.idOf(bytes);
      remote.files.set(path, { id, bytes: bytes.length });
      if (folder.wire.of(path)?.is === "document") host.agreed.set(path, id);
    }
    seen.save(commit);
    if (this.#schedule.isMover) host.agreed.save();
    this.#pushedMs = world.clock.wallMs();
    this.#waiting = 0;
    return true;
  }

  #inRepository(changes: readonly Change[], { head }: Known): Change[] {
    const { prefix } = this.#options.settings;
    const inPrefix = changes.map(({ path, bytes }) => ({ path: prefix + path, bytes }));
    if (head !== undefined) return inPrefix;
    return [...inPrefix, { path: ".gitattributes", bytes: Buffer.from(ATTRIBUTES, "utf8") }];
  }

  /** What was in the remote once must still be in its history. Spec 5.2. */
  async #requireHistory({ repository, seen }: Opened, head: string | undefined): Promise<void> {
    const last = seen.head();
    if (last === undefined) return;
    if (head !== undefined && (await repository.isAncestor(last, head))) return;
    const { url } = this.#options.settings.remote;
    const now = head === undefined ? "the branch is gone" : `it is at ${head} now`;
    const detail = `its history lacks commit ${last}, which it had; ${now}`;
    this.#tell({ changed: [], troubles: [{ cause: "history_rewritten", where: url, detail }] });
    throw new TransportError("stopped", `${url} was rewritten: ${detail}`, {
      hint: "nothing is taken or pushed until you decide: look at the repository, then deaddrop transport accept",
    });
  }
}

function stopped([first]: readonly TransportTrouble[]): TransportError {
  return new TransportError("stopped", first?.detail ?? "the remote is another wire", {
    hint: "check the remote: deaddrop transport status; a wire is moved with deaddrop transport switch",
  });
}
