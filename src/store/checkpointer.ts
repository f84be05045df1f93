import { statSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { StorageError } from "../storage/disk/disk.ts";
import { Database } from "./database.ts";

/** What a thread is told at its start that is to run this file. */
interface Role {
  readonly role: "deaddrop: checkpoint";
  readonly path: string;
}
const ROLE = "deaddrop: checkpoint";

/** WAL sizes in bytes above which it is checkpointed: after any round, and after an idle one. */
const LARGE_WAL = 16 * 1024 * 1024;
const IDLE_WAL = 1024 * 1024;

/**
 * Checkpoints the WAL of a store in a short-lived worker thread with its own connection, so that the main thread
 * is not blocked. A failed checkpoint loses nothing; the WAL only stays large.
 */
export class Checkpointer {
  readonly #execArgv: readonly string[];
  #running: { readonly worker: Worker; readonly ended: Promise<void> } | undefined;
  #hasFailed = false;

  /** @param execArgv what Node is told for the thread: nothing of what this process was started with */
  constructor(execArgv: readonly string[] = []) {
    this.#execArgv = execArgv;
  }

  /** Starts a checkpoint if the WAL is large; the threshold is lower when idle. */
  look(path: string, isIdle: boolean): void {
    if (this.#running !== undefined || this.#hasFailed) return;
    const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= (isIdle ? IDLE_WAL : LARGE_WAL)) return;
    const role: Role = { role: ROLE, path };
    const worker = new Worker(new URL(import.meta.url), {
      execArgv: [...this.#execArgv],
      workerData: role,
    });
    worker.unref();
    // Do not retry when the thread cannot run.
    worker.on("error", () => {
      this.#hasFailed = true;
    });
    const ended = new Promise<void>((resolve) => {
      worker.on("exit", () => {
        this.#running = undefined;
        resolve();
      });
    });
    this.#running = { worker, ended };
  }

  /** Resolves when no checkpoint runs: a process that ends in the middle of one aborts. */
  async stop(): Promise<void> {
    this.#running?.worker.ref();
    await this.#running?.ended;
  }
}

function isRole(data: unknown): data is Role {
  return typeof data === "object" && data !== null && "role" in data && data.role === ROLE;
}

if (!isMainThread && isRole(workerData)) {
  try {
    const database = Database.open(workerData.path);
    try {
      database.checkpoint();
    } finally {
      database.close();
    }
  } catch (error) {
    // The next write to the store reports the disk error.
    if (!(error instanceof StorageError)) throw error;
  }
}
