import type { Disk } from "../../storage/disk/disk.ts";
import type { Change } from "../copies/changes.ts";
import type { LocalFolder } from "../copies/local-folder.ts";
import { TransportError } from "../port.ts";
import type { Fetched, FetchedFiles, Remote } from "../remote.ts";
import type { GitSettings } from "../transport-settings.ts";
import { openGit } from "./git-settings.ts";
import { remoteTree } from "./remote-tree.ts";
import { openRepository, type Repository } from "./repository.ts";
import { GitFailed } from "./run-git.ts";
import { openSeenRemote, type SeenRemote } from "./seen-remote.ts";
import { readCommit, type CommitFiles } from "./read-commit.ts";
import { EMPTY_TREE, type Tree } from "./tree.ts";
import { PRIVATE_FOLDER } from "../../storage/disk/file-modes.ts";

/** What a repository is reached with. */
export interface GitRemoteOptions {
  readonly disk: Disk;
  /** Of our process: git gets a part of it. */
  readonly env: NodeJS.ProcessEnv;
  wallMs(): number;
  readonly settings: GitSettings;
  readonly paths: { readonly repository: string; readonly seenRemote: string };
  readonly folder: Pick<LocalFolder, "wire" | "handle">;
}

/** The private repository, and what is known of its remote. */
interface Opened {
  readonly repository: Repository;
  readonly seen: SeenRemote;
}

/** After so many fetches with news and pushes the private repository is looked at. */
const TIDY_EVERY = 64;
/** Of a repository with more files, none are remembered: git lists it each time. */
const MAX_KNOWN_FILES = 10_000;
/** How git merges logs in the clones of people. */
const ATTRIBUTES = "*.jsonl merge=union -text\n";

/** A git repository that holds a wire's files: its versions are commits of one branch. Spec 5.2. */
export class GitRemote implements Remote {
  readonly kind = "git";
  readonly #options: GitRemoteOptions;
  readonly #ended = new AbortController();
  #opened: Opened | undefined;
  #taken = 0;
  /** Of the files that the remote had when it was last looked at: how large they are, by their ids. */
  #sizes: ReadonlyMap<string, number> = new Map();
  /** Before, what the remote has is read although it is the commit that was seen last. */
  #hasLooked = false;

  constructor(options: GitRemoteOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.settings.remote.url;
  }

  fetch(): Promise<Fetched> {
    return this.#inRepository(async ({ repository, seen }) => {
      // It starts while git fetches, and has news read as soon as they are there.
      const reader = repository.reader();
      try {
        const head = await repository.fetch();
        const known = { id: seen.head(), sizes: this.#sizes };
        const isNews = head !== undefined && (head !== known.id || !this.#hasLooked);
        const news = isNews ? await readCommit(reader, head, known) : undefined;
        this.#hasLooked = true;
        if (news?.isAfterKnown !== true) await this.#requireHistory({ repository, seen }, head);
        return { version: head, files: () => this.#filesOf(head, news) };
      } finally {
        reader.close();
      }
    });
  }

  noteTaken(version: string): void {
    this.#opened?.seen.save(version);
  }

  push(base: string | undefined, changes: readonly Change[]): Promise<string | undefined> {
    return this.#inRepository(async ({ repository }) => {
      await this.#tidyNow(repository);
      const commit = await repository.commit(base, this.#placed(changes, base));
      return (await repository.push(commit)) ? commit : undefined;
    });
  }

  acceptHistory(): void {
    const { disk, paths } = this.#options;
    openSeenRemote(disk, paths.seenRemote, this.url).forget();
    this.#opened = undefined;
  }

  stop(): void {
    this.#ended.abort();
  }

  /** What git says of our own repository ends it: it holds nothing that cannot be fetched again. */
  async #inRepository<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= await this.#open();
      return await work(this.#opened);
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      this.#opened?.repository.discard();
      this.#opened = undefined;
      throw new TransportError("local", error.message, {
        hint: "the private repository is made again by itself",
        cause: error,
      });
    }
  }

  async #open(): Promise<Opened> {
    const { disk, env, paths, settings, folder, wallMs } = this.#options;
    const { remote, branch } = settings;
    const seen = openSeenRemote(disk, paths.seenRemote, remote.url);
    disk.makeFolder(paths.repository, PRIVATE_FOLDER);
    const { git, signs } = await openGit(disk, {
      ...{ folder: paths.repository, remote, env },
      signal: this.#ended.signal,
    });
    const repository = await openRepository(git, {
      folder: paths.repository,
      ...{ remote, branch, signs, handle: folder.handle, wallMs },
    });
    return { repository, seen };
  }

  async #filesOf(head: string | undefined, news: CommitFiles | undefined): Promise<FetchedFiles> {
    const { settings, folder } = this.#options;
    const tree = news?.tree ?? (head === undefined ? EMPTY_TREE : await this.#listed(head));
    return this.#inRepository(async ({ repository }) => {
      await this.#tidyNow(repository);
      const known = tree.files.size > MAX_KNOWN_FILES ? [] : [...tree.files.values()];
      this.#sizes = new Map(known.map(({ id, bytes }) => [id, bytes]));
      const blob = async (id: string, into: (chunk: Buffer) => void): Promise<void> => {
        const bytes = news?.blobs.get(id);
        if (bytes === undefined) await this.#inRepository(() => repository.blob(id, into));
        else into(bytes);
      };
      const reading = { format: repository.format, blob };
      return remoteTree(tree, settings.prefix, folder.wire, reading);
    });
  }

  #listed(head: string): Promise<Tree> {
    const { settings, folder } = this.#options;
    const paths = folder.wire.paths.map((path) => settings.prefix + path);
    return this.#inRepository(({ repository }) => repository.tree(head, paths));
  }

  /** The first time too: what a daemon before us has left. */
  async #tidyNow(repository: Repository): Promise<void> {
    if (this.#taken % TIDY_EVERY === 0) await repository.tidy();
    this.#taken += 1;
  }

  #placed(changes: readonly Change[], base: string | undefined): Change[] {
    const { prefix } = this.#options.settings;
    const inPrefix = changes.map(({ path, bytes }) => ({ path: prefix + path, bytes }));
    if (base !== undefined) return inPrefix;
    return [...inPrefix, { path: ".gitattributes", bytes: Buffer.from(ATTRIBUTES, "utf8") }];
  }

  /** What was in the remote once must still be in its history. Spec 5.2. */
  async #requireHistory({ repository, seen }: Opened, head: string | undefined): Promise<void> {
    const last = seen.head();
    if (last === undefined) return;
    if (head !== undefined && (await repository.isAncestor(last, head))) return;
    const { url } = this;
    const now = head === undefined ? "the branch is gone" : `it is at ${head} now`;
    const detail = `its history lacks commit ${last}, which it had; ${now}`;
    throw new TransportError("stopped", `${url} was rewritten: ${detail}`, {
      hint: "nothing is taken or pushed until you decide: look at the repository, then deaddrop transport accept",
      trouble: { cause: "history_rewritten", where: url, detail },
    });
  }
}
