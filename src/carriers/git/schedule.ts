import { StorageError } from "../../storage/disk/disk.ts";
import { MINUTE_MS, SECOND_MS } from "../../wire/durations.ts";
import { TransportError, type TransportProblem, type Urgency } from "../carrier.ts";

/** What a transport needs of the world, so that a simulator can own all of it. */
export interface TransportWorld {
  readonly clock: { wallMs(): number; monoMs(): number };
  /** Calls back after that time; returns how to cancel it. */
  after(inMs: number, act: () => void): () => void;
  /** In [0, 1). */
  random(): number;
  /** How often we beat now. */
  cadenceMs(): number;
  readonly log: { warn(facts: object, message: string): void };
  /** A bug: the daemon must end. */
  failed(error: unknown): void;
}

/** What a turn is to do. */
export interface Due {
  readonly fetch: boolean;
  readonly push: boolean;
  /** A fetch of another daemon of this machine counts when it is no older. Default 0. */
  readonly maxAgeMs?: number;
}

/** Answers whether something was pushed. @throws TransportError @throws StorageError: it is tried again */
export type Turn = (due: Due) => Promise<boolean>;

const ACTIVE_CADENCE_MS = 90 * SECOND_MS;
const ACTIVE_POLL_MS = 30 * SECOND_MS;
/** After we have said something, others answer: fetches follow after this, then after twice as long each time. */
const FIRST_ANSWER_MS = 2 * SECOND_MS;
const LAST_ANSWER_MS = 16 * SECOND_MS;
/** What comes within this time goes with one push. */
const COALESCE_MS = 5;
const COALESCE_RECEIPTS_MS = 2 * SECOND_MS;
const BETWEEN_PUSHES_MS = SECOND_MS;
/**
 * After a push we pause for so many times as long as it took: a host that is behind has to fetch first, and
 * would never come to push if we did not.
 */
const PAUSE_FACTOR = 2;
const LONGEST_PAUSE_MS = 10 * SECOND_MS;
/** At least so long while no commit of another host comes between ours; it doubles. */
const FIRST_YIELD_MS = SECOND_MS;
const LONGEST_YIELD_MS = 8 * SECOND_MS;
const YIELD_OVER_MS = 20 * SECOND_MS;
const FIRST_RETRY_MS = SECOND_MS;
const LAST_RETRY_MS = 5 * MINUTE_MS;
const LONGEST_TIMER_MS = 60 * MINUTE_MS;

/** When a remote is fetched from and pushed to: one turn at a time. Spec 5.2. */
export class Schedule {
  readonly #world: TransportWorld;
  readonly #work: Turn;
  readonly #stopped = new AbortController();
  /** Monotonic ms; Infinity: not due. */
  #fetchMs = -Infinity;
  #maxAgeMs = 0;
  #pushMs = Infinity;
  #lookMs = Infinity;
  /** More than a beat is to be pushed. */
  #isNews = false;
  #answerMs = Infinity;
  #lastPushMs = -Infinity;
  #pausedUntilMs = -Infinity;
  #yieldMs = 0;
  #retryMs = FIRST_RETRY_MS;
  #notBeforeMs = -Infinity;
  #cancel: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #problem: TransportProblem | undefined;
  #isStarted = false;

  constructor(world: TransportWorld, work: Turn) {
    this.#world = world;
    this.#work = work;
  }

  get problem(): TransportProblem | undefined {
    return this.#problem;
  }

  start(): void {
    this.#isStarted = true;
    this.#arm();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#cancel();
    await this.#running;
  }

  /** One turn now. How it ended, `problem` says. */
  async turn(due: Due): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    const turn = this.#once(due);
    this.#running = turn.catch(() => undefined);
    try {
      await turn;
    } finally {
      this.#running = undefined;
      this.#arm();
    }
  }

  push(urgency: Urgency): void {
    const { clock, cadenceMs } = this.#world;
    const coalesceMs = urgency === "receipt" ? COALESCE_RECEIPTS_MS : COALESCE_MS;
    const soonMs = Math.max(clock.monoMs() + coalesceMs, this.#lastPushMs + BETWEEN_PUSHES_MS);
    const laterMs = urgency === "cadence" ? this.#lastPushMs + cadenceMs() : -Infinity;
    this.#pushMs = Math.min(this.#pushMs, Math.max(soonMs, laterMs));
    this.#isNews ||= urgency === "soon";
    this.#arm();
  }

  fetchNow(): void {
    this.#fetchMs = -Infinity;
    this.#maxAgeMs = 0;
    this.#arm();
  }

  /** Another daemon of this machine has fetched: a turn takes that in. */
  lookNow(): void {
    this.#lookMs = -Infinity;
    this.#arm();
  }

  /** Whatever was in the way may be gone. */
  tryNow(): void {
    this.#notBeforeMs = -Infinity;
    this.fetchNow();
  }

  /** A commit of another host follows our last one. */
  noteOthers(): void {
    this.#yieldMs = 0;
  }

  /** Waits, unless the transport stops. */
  async pause(forMs: number): Promise<void> {
    const { signal } = this.#stopped;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal.removeEventListener("abort", end);
        cancel();
        resolve();
      };
      const cancel = this.#world.after(forMs, end);
      signal.addEventListener("abort", end);
    });
  }

  get #mayPushMs(): number {
    return Math.max(this.#pushMs, this.#pausedUntilMs);
  }

  #arm(): void {
    if (!this.#isStarted || this.#stopped.signal.aborted || this.#running !== undefined) return;
    this.#cancel();
    const dueMs = Math.min(this.#fetchMs, this.#mayPushMs, this.#lookMs);
    const inMs = Math.max(dueMs, this.#notBeforeMs) - this.#world.clock.monoMs();
    const act = (): void => this.#begin();
    this.#cancel = this.#world.after(Math.min(Math.max(0, inMs), LONGEST_TIMER_MS), act);
  }

  #begin(): void {
    if (this.#running !== undefined) return;
    const nowMs = this.#world.clock.monoMs();
    const due = { fetch: nowMs >= this.#fetchMs, push: nowMs >= this.#mayPushMs };
    const isDue = due.fetch || due.push || nowMs >= this.#lookMs;
    if (nowMs < this.#notBeforeMs || !isDue) this.#arm();
    else this.turn({ ...due, maxAgeMs: this.#maxAgeMs }).catch(this.#world.failed);
  }

  async #once(due: Due): Promise<void> {
    const { clock } = this.#world;
    const nowMs = clock.monoMs();
    const before = { fetchMs: this.#fetchMs, maxAgeMs: this.#maxAgeMs, pushMs: this.#pushMs };
    const isNews = this.#isNews && due.push;
    if (nowMs - this.#lastPushMs > YIELD_OVER_MS) this.#yieldMs = 0;
    this.#lookMs = Infinity;
    if (due.fetch) {
      const nextMs = this.#untilNextFetchMs();
      this.#fetchMs = nowMs + nextMs;
      this.#maxAgeMs = nextMs / 2;
    }
    if (due.push) {
      this.#pushMs = Infinity;
      this.#isNews = false;
      this.#lastPushMs = nowMs;
    }
    try {
      const isPushed = await this.#work(due);
      if (due.push) this.#pauseAfterPush(clock.monoMs() - nowMs, isPushed);
      if (isPushed && isNews) this.#expectAnswer();
      this.#problem = undefined;
      this.#retryMs = FIRST_RETRY_MS;
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      if (!(error instanceof TransportError) && !(error instanceof StorageError)) throw error;
      // What was due is due again; more may have become so meanwhile.
      this.#fetchMs = Math.min(this.#fetchMs, before.fetchMs);
      this.#maxAgeMs = Math.min(this.#maxAgeMs, before.maxAgeMs);
      this.#pushMs = Math.min(this.#pushMs, before.pushMs);
      this.#isNews ||= isNews;
      this.#backOff(error);
    }
  }

  #expectAnswer(): void {
    this.#answerMs = 2 * FIRST_ANSWER_MS;
    this.#fetchMs = Math.min(this.#fetchMs, this.#world.clock.monoMs() + FIRST_ANSWER_MS);
    this.#maxAgeMs = Math.min(this.#maxAgeMs, FIRST_ANSWER_MS / 2);
  }

  #untilNextFetchMs(): number {
    const [cadenceMs, answerMs] = [this.#world.cadenceMs(), this.#answerMs];
    this.#answerMs = answerMs < LAST_ANSWER_MS ? 2 * answerMs : Infinity;
    const isActive = cadenceMs <= ACTIVE_CADENCE_MS;
    return Math.min(isActive ? Math.min(cadenceMs, ACTIVE_POLL_MS) : cadenceMs, answerMs);
  }

  #pauseAfterPush(tookMs: number, isPushed: boolean): void {
    const pauseMs = Math.max(Math.min(PAUSE_FACTOR * tookMs, LONGEST_PAUSE_MS), this.#yieldMs);
    this.#pausedUntilMs = this.#world.clock.monoMs() + pauseMs;
    if (!isPushed) return;
    this.#yieldMs = Math.min(Math.max(FIRST_YIELD_MS, 2 * this.#yieldMs), LONGEST_YIELD_MS);
  }

  #backOff(error: TransportError | StorageError): void {
    const { clock, random, log } = this.#world;
    const code = error instanceof TransportError ? error.code : "local";
    const { message: detail, hint } = error;
    if (this.#problem?.detail !== detail) log.warn({ code, hint }, detail);
    const sinceMs = this.#problem?.code === code ? this.#problem.sinceMs : clock.wallMs();
    this.#problem = { code, detail, hint, sinceMs };
    // The operator may decide where no daemon is asked.
    const waitMs = code === "stopped" ? LAST_RETRY_MS : this.#retryMs * (0.5 + random());
    this.#notBeforeMs = clock.monoMs() + waitMs;
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
  }
}
