import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { verifyEach, type SignatureCheck, type VerifyAll } from "../wire/signature.ts";
import { startCheckWorker } from "./check-worker.ts";

/** So many are checked where they are asked for: that is done before a thread has been told. */
const FEW_CHECKS = 64;
/** Checks of one message: some milliseconds of work. */
const CHECKS_A_MESSAGE = 64;
/**
 * Messages that one worker may hold: more than it does in one step of the thread that asks, which gives out
 * work only between its steps.
 */
const MESSAGES_A_WORKER = 64;
/** One thread reads and judges lines; more checkers than this would wait for it. */
const MAX_WORKERS = 4;
/** Workers that died, or did not start, until no more are started. */
const MAX_LOST_WORKERS = 3;
/** A worker takes some megabytes: it is ended when nothing was asked for so long. */
const IDLE_MS = 2_000;

/** What one message asks, and who takes the answer. */
interface Job {
  readonly checks: readonly SignatureCheck[];
  take(verdicts: readonly boolean[]): void;
}

interface Helper {
  readonly worker: Worker;
  /** Asked and not answered, in order. */
  readonly asked: Job[];
}

/**
 * A pool of threads that start when there is much to check and end when there is not. They keep no
 * process alive that waits for no verdict. What a thread that died was asked, another one checks, or
 * this one: that costs time, and changes no verdict.
 *
 * @internal
 */
export class CheckPool {
  readonly #startWorker: () => Worker;
  readonly #size: number;
  readonly #waiting: Job[] = [];
  readonly #helpers = new Set<Helper>();
  #lost = 0;
  #isCheckingHere = false;
  #idleTimer: NodeJS.Timeout | undefined;

  /** `size`: threads at most; none = all is checked in this thread. */
  constructor(startWorker: () => Worker, size: number) {
    this.#startWorker = startWorker;
    this.#size = size;
  }

  /** Threads that run now. */
  get workers(): number {
    return this.#helpers.size;
  }

  /** Takes as many checks as the caller's bound allows, and keeps a copy of their bytes. */
  readonly verifyAll: VerifyAll = (items) => {
    if (items.length <= FEW_CHECKS) return Promise.resolve(verifyEach(items));
    return new Promise((resolve) => {
      const valid: boolean[] = Array.from(items, () => false);
      let left = items.length;
      for (let from = 0; from < items.length; from += CHECKS_A_MESSAGE) {
        const take = (verdicts: readonly boolean[]): void => {
          valid.splice(from, verdicts.length, ...verdicts);
          left -= verdicts.length;
          if (left === 0) resolve(valid);
        };
        const checks = items.slice(from, from + CHECKS_A_MESSAGE).map(copyCheck);
        this.#waiting.push({ checks, take });
      }
      this.#handOut();
    });
  };

  #handOut(): void {
    for (let helper = this.#freeHelper(); helper !== undefined; helper = this.#freeHelper()) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      helper.asked.push(job);
      helper.worker.ref();
      helper.worker.postMessage(job.checks);
    }
    if (this.#helpers.size === 0 && this.#waiting.length > 0) this.#checkHere();
  }

  #freeHelper(): Helper | undefined {
    // The one that has least to do first.
    const all = [...this.#helpers].sort((a, b) => a.asked.length - b.asked.length);
    const mayStart = this.#waiting.length > 0 && this.#helpers.size < this.#size;
    return (
      all.find(({ asked }) => asked.length === 0) ??
      (mayStart ? this.#newHelper() : undefined) ??
      all.find(({ asked }) => asked.length < MESSAGES_A_WORKER)
    );
  }

  #newHelper(): Helper | undefined {
    if (this.#lost >= MAX_LOST_WORKERS) return undefined;
    const worker = startOrNot(this.#startWorker);
    if (worker === undefined) {
      this.#lost += 1;
      return this.#newHelper();
    }
    const helper: Helper = { worker, asked: [] };
    const { asked } = helper;
    worker.on("message", (verdicts: readonly boolean[]) => {
      asked.shift()?.take(verdicts);
      this.#handOut();
      if (asked.length === 0) this.#rest(worker);
    });
    worker.on("error", () => undefined); // `exit` follows
    worker.on("exit", () => {
      if (!this.#helpers.delete(helper)) return;
      this.#lost += 1;
      this.#waiting.unshift(...asked);
      this.#handOut();
    });
    this.#helpers.add(helper);
    return helper;
  }

  /** One message a turn, so that other work has its turn in between. */
  #checkHere(): void {
    if (this.#isCheckingHere) return;
    this.#isCheckingHere = true;
    setImmediate(() => {
      this.#isCheckingHere = false;
      const job = this.#waiting.shift();
      job?.take(verifyEach(job.checks));
      this.#handOut();
    });
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#idleTimer ??= setTimeout(() => this.#endIdle(), IDLE_MS).unref();
    this.#idleTimer.refresh();
  }

  #endIdle(): void {
    this.#idleTimer = undefined;
    for (const helper of [...this.#helpers].filter(({ asked }) => asked.length === 0)) {
      this.#helpers.delete(helper);
      // It was asked nothing: how it ends is of no interest.
      helper.worker.terminate().catch(() => undefined);
    }
  }
}

/** Bytes of their own: a message to a thread copies the whole memory that its arrays are parts of. */
function copyCheck({ publicKey, bytes, signature }: SignatureCheck): SignatureCheck {
  return {
    publicKey: new Uint8Array(publicKey),
    bytes: new Uint8Array(bytes),
    signature: new Uint8Array(signature),
  };
}

function startOrNot(startWorker: () => Worker): Worker | undefined {
  try {
    return startWorker();
  } catch (error) {
    // The system gives us no more threads.
    if ((error as NodeJS.ErrnoException).code === "ERR_WORKER_INIT_FAILED") return undefined;
    throw error;
  }
}

/** One core is for the thread that asks. */
const SIZE = Math.min(availableParallelism() - 1, MAX_WORKERS);

/** The pool of this process. */
export const { verifyAll } = new CheckPool(() => startCheckWorker(), SIZE);
