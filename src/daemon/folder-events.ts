import { readdirSync, statSync, watch, type FSWatcher } from "node:fs";
import { basename, join } from "node:path";

/** While the folder is away, or cannot be watched, it is tried, and looked at, so often. */
const RETRY_MS = 1_000;

export interface FolderEvents {
  close(): void;
}

/**
 * Calls `report` with a name whenever the system says that something of that name has changed in the
 * folder or one level below it; without a name when anything may have. It lists no folder for a file
 * that grows. What fails is told once, and tried again every second.
 */
export function watchFolder(
  folder: string,
  report: (name?: string) => void,
  onError: (error: unknown) => void,
): FolderEvents {
  return new FolderWatch(folder, report, onError);
}

class FolderWatch implements FolderEvents {
  readonly #folder: string;
  readonly #report: (name?: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #retry: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(folder: string, report: (name?: string) => void, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#report = report;
    this.#onError = onError;
    this.#begin();
  }

  close(): void {
    clearTimeout(this.#retry);
    for (const path of [...this.#watchers.keys()]) this.#remove(path);
  }

  #begin(): void {
    try {
      this.#add(this.#folder);
      for (const entry of readdirSync(this.#folder, { withFileTypes: true })) {
        if (entry.isDirectory()) this.#add(join(this.#folder, entry.name));
      }
      this.#hasFailed = false;
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (!this.#hasFailed) this.#onError(error);
    this.#hasFailed = true;
    this.#again();
  }

  #again(): void {
    this.close();
    this.#retry = setTimeout(() => {
      this.#begin();
      this.#report();
    }, RETRY_MS);
  }

  #add(path: string): void {
    this.#remove(path);
    const watcher = watch(path, (event, name) => {
      this.#report(name ?? undefined);
      if (event === "rename" && path === this.#folder) this.#look(name ?? basename(path));
    });
    this.#watchers.set(path, watcher);
    watcher.on("error", (error) => this.#failed(error));
  }

  #remove(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
  }

  /** A name has come or gone: a folder below is watched, and this one again if it is another one. */
  #look(name: string): void {
    // The system reports the end of the folder under its own name.
    if (name === basename(this.#folder)) {
      this.#again();
      return;
    }
    const path = join(this.#folder, name);
    try {
      const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
      if (isFolder) this.#add(path);
      else this.#remove(path);
    } catch (error) {
      this.#failed(error);
    }
  }
}
