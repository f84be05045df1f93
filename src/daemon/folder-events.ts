import { lstatSync, watch, type FSWatcher, type Stats } from "node:fs";
import { basename, join } from "node:path";

/** While the folder is away, or cannot be watched, it is tried, and looked at, so often. */
const RETRY_MS = 1_000;

export interface FolderEvents {
  close(): void;
}

export interface FolderEventsOptions {
  /** Names of the folders in it that are watched, too: anybody may make others. */
  readonly below: readonly string[];
  /** Called with a name when the system says it; without one when anything may have changed. */
  report(name?: string): void;
  /** What fails is told once, and tried again every second. */
  onError(error: unknown): void;
}

/**
 * Reports what the system says of a folder and of some folders in it, from then on until `close`. It
 * lists no folder for a file that grows.
 */
export function watchFolder(folder: string, options: FolderEventsOptions): FolderEvents {
  return new FolderWatch(folder, options);
}

class FolderWatch implements FolderEvents {
  readonly #folder: string;
  readonly #options: FolderEventsOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Tells whether the folder is still the one that is watched. */
  #watched = "";
  #retry: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isClosed = false;

  constructor(folder: string, options: FolderEventsOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#begin();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#end();
  }

  #begin(): void {
    this.#try(() => {
      this.#watched = identityOf(lstatSync(this.#folder));
      this.#add(this.#folder);
      for (const name of this.#options.below) this.#look(name);
      this.#hasFailed = false;
    });
  }

  #end(): void {
    for (const path of [...this.#watchers.keys()]) this.#remove(path);
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (!this.#hasFailed) this.#options.onError(error);
    this.#hasFailed = true;
    this.#again();
  }

  #again(): void {
    this.#end();
    clearTimeout(this.#retry);
    if (this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#begin();
      this.#options.report();
    }, RETRY_MS);
  }

  #add(path: string): void {
    this.#remove(path);
    const watcher = watch(path, (event, name) => {
      this.#options.report(name ?? undefined);
      // Who was told may have closed this.
      if (event !== "rename" || path !== this.#folder || this.#isClosed) return;
      this.#try(() => this.#renamed(name ?? basename(path)));
    });
    this.#watchers.set(path, watcher);
    watcher.on("error", (error) => this.#failed(error));
  }

  #remove(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
  }

  /** A name has come or gone. The system reports the end of the folder under its own name. */
  #renamed(name: string): void {
    if (name === basename(this.#folder)) {
      const stat = lstatSync(this.#folder, { throwIfNoEntry: false });
      if (stat === undefined || identityOf(stat) !== this.#watched) {
        this.#again();
        return;
      }
    }
    if (this.#options.below.includes(name)) this.#look(name);
  }

  /** Watches a folder below, again if it is another one. A link leads out of the wire: it is none. */
  #look(name: string): void {
    const path = join(this.#folder, name);
    const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (isFolder) this.#add(path);
    else this.#remove(path);
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev} ${ino}`;
}
