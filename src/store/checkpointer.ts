import { statSync } from "node:fs";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { Database } from "./database.ts";

/** What a thread is told at its start that is to run this file. */
interface Role {
  readonly role: "deaddrop: checkpoint";
  readonly path: string;
}
const ROLE = "deaddrop: checkpoint";

/** A WAL is written into its database above this size. */
const LARGE_WAL = 16 * 1024 * 1024;

/**
 * Writes the WAL of a database into it, on a thread with a connection of its own: while that lasts, the
 * process that holds the store goes on. A failure costs nothing but space: the WAL stays as it is.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #worker: Worker;
  #isAtWork = false;

  /** @param execArgv what Node is told for the thread: nothing of what this process was started with */
  constructor(path: string, execArgv: readonly string[] = []) {
    this.#path = path;
    const role: Role = { role: ROLE, path };
    this.#worker = new Worker(new URL(import.meta.url), {
      execArgv: [...execArgv],
      workerData: role,
    });
    this.#worker.unref();
    this.#worker.on("message", () => {
      this.#isAtWork = false;
    });
    // A thread that has ended is not asked again.
    this.#worker.on("error", () => {
      this.#isAtWork = true;
    });
  }

  /** After a commit, or when nothing else is to be done. */
  look(when: "after a commit" | "idle"): void {
    if (this.#isAtWork) return;
    const size = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0 || (when === "after a commit" && size < LARGE_WAL)) return;
    this.#isAtWork = true;
    this.#worker.postMessage("checkpoint");
  }

  async stop(): Promise<void> {
    this.#worker.postMessage("stop");
    if (this.#worker.threadId !== -1)
      await new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
  }
}

function isRole(data: unknown): data is Role {
  return typeof data === "object" && data !== null && "role" in data && data.role === ROLE;
}

if (isRole(workerData) && parentPort !== null) {
  const port = parentPort;
  const database = Database.open(workerData.path);
  port.on("message", (asked: "checkpoint" | "stop") => {
    if (asked === "stop") {
      database.close();
      port.close();
      return;
    }
    try {
      database.checkpoint("passive");
    } finally {
      port.postMessage("done");
    }
  });
}
