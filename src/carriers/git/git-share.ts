import { StorageError } from "../../storage/disk/disk.ts";
import { MINUTE_MS } from "../../wire/durations.ts";
import { SHARED_FILES } from "../archive.ts";
import type { TransportProblem } from "../carrier.ts";
import { readTransportSettings, type TransportPaths } from "../transport-settings.ts";
import { GitTransport, type GitTransportOptions } from "./git-transport.ts";
import { COMMON_DOCUMENTS } from "./wire-paths.ts";

export interface GitShareOptions extends Omit<
  GitTransportOptions,
  "remote" | "branch" | "prefix" | "stateFolder"
> {
  readonly paths: TransportPaths;
  /** Another transport is open, or none. */
  onSwitch(now?: GitTransport): void;
}

/** How a wire is shared through git, as `transport status --json` shows it. Times are ISO 8601. */
export interface GitShareView {
  kind: "git";
  /** Without any secret. */
  remote: string;
  branch: string;
  is_mover: boolean;
  /** When the last fetch began, and the last push ended, that worked; null: none was since the start. */
  fetched_at: string | null;
  pushed_at: string | null;
  /** Files that are not pushed yet. */
  waiting: number;
  problem: { code: string; detail: string; hint: string; since: string } | null;
}

/** A command that closes it for a change opens it again; one that died does not. */
const CLOSED_LIMIT_MS = MINUTE_MS;
/**
 * The git transport that the settings of this machine say now: none, until an operator shares the wire through a
 * repository. They may change while a daemon runs. Spec 5.2, 5.4.
 */
export class GitShare {
  readonly #options: GitShareOptions;
  #now: { readonly transport: GitTransport; readonly branch: string } | undefined;
  #isStarted = false;
  /** Two commands, or a command and the limit, may change it at once. */
  #changes: Promise<unknown> = Promise.resolve();
  #cancelReopening: () => void = () => undefined;

  /** @throws StorageError when the settings cannot be read */
  constructor(options: GitShareOptions) {
    this.#options = options;
    this.#open();
  }

  get transport(): GitTransport | undefined {
    return this.#now?.transport;
  }

  /** Something in the wire's folder has changed: the file of that name, or any. */
  fileChanged(name: string | undefined): void {
    const card = `${this.#options.ours.handle}.card.json`;
    const pushed = [card, ...COMMON_DOCUMENTS, ...SHARED_FILES];
    if (pushed.includes(name ?? "")) this.transport?.publish("soon");
  }

  start(): void {
    this.#isStarted = true;
    this.transport?.start();
    // What was sent while no daemon ran.
    this.transport?.publish("soon");
  }

  /** Pushes what was said last, unless the remote is in trouble. */
  async stop(): Promise<void> {
    this.#cancelReopening();
    const isWell = this.transport?.health().problem === undefined;
    if (this.#isStarted && isWell) await this.transport?.turn({ fetch: false, push: true });
    await this.#change(() => this.#end());
  }

  /** Null: the wire is shared by its folder alone. */
  view(): GitShareView | null {
    if (this.#now === undefined) return null;
    const { transport, branch } = this.#now;
    const { remote, isMover, fetchedMs, pushedMs, waiting, problem } = transport.health();
    return {
      ...{ kind: "git", remote, branch, is_mover: isMover },
      fetched_at: timeText(fetchedMs),
      pushed_at: timeText(pushedMs),
      ...{ waiting, problem: problem === undefined ? null : problemView(problem) },
    };
  }

  /** As soon as possible. */
  fetchSoon(): void {
    this.transport?.refresh();
  }

  /** The operator takes the history of the remote as it is now. */
  acceptHistory(): void {
    this.transport?.acceptHistory();
  }

  /**
   * Ends it while an operator changes the settings: nothing of the old remote is noted any more. Without a
   * `reopen` it begins again by itself.
   */
  close(): Promise<void> {
    const { after, failed } = this.#options.world;
    return this.#change(async () => {
      await this.#end();
      this.#cancelReopening = after(CLOSED_LIMIT_MS, () => {
        this.reopen().catch(failed);
      });
    });
  }

  /** Reads the settings again. @throws StorageError when they cannot be read */
  reopen(): Promise<void> {
    return this.#change(async () => {
      await this.#end();
      this.#open();
      if (this.#isStarted) this.start();
    });
  }

  #change(work: () => Promise<void>): Promise<void> {
    const changed = this.#changes.then(() => {
      this.#cancelReopening();
      return work();
    });
    this.#changes = changed.catch(() => undefined);
    return changed;
  }

  async #end(): Promise<void> {
    const ended = this.transport;
    this.#now = undefined;
    this.#options.onSwitch();
    await ended?.stop();
  }

  #open(): void {
    const { paths, onSwitch, ...options } = this.#options;
    const read = readTransportSettings(options.disk, paths.settings);
    if (!read.ok)
      throw new StorageError("corrupt", paths.settings, read.problem, {
        hint: "set it up again: deaddrop transport switch git --remote URL",
      });
    if (read.git === undefined) return;
    const transport = new GitTransport({ ...options, ...read.git, stateFolder: paths.folder });
    this.#now = { transport, branch: read.git.branch };
    onSwitch(transport);
  }
}

function problemView({
  sinceMs,
  ...problem
}: TransportProblem): NonNullable<GitShareView["problem"]> {
  return { ...problem, since: new Date(sinceMs).toISOString() };
}

function timeText(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
