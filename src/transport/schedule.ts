import { StorageError } from "../storage/disk/disk.ts";
import { MINUTE_MS, SECOND_MS } from "../wire/durations.ts";
import type { HostState } from "./host-state.ts";
import type { TransportWorld } from "./world.ts";
import { TransportError, type Due, type PushTime, type TransportProblem } from "./port.ts";

/** Answers whether something of ours was pushed. Throws TransportError or StorageError: it is tried again. */
export type Turn = (due: Due) => Promise<boolean>;

/** While we are active the remote is looked at so often. */
const ACTIVE_POLL_MS = 30 * SECOND_MS;
const ACTIVE_CADENCE_MS = 90 * SECOND_MS;
/** After we have said something, others often answer: the remote is looked at after so long, then twice that. */
const FIRST_ANSWER_MS = 2 * SECOND_MS;
const LAST_ANSWER_MS = 16 * SECOND_MS;
/** What comes within this time goes with one push; and there is at most one push in that time. */
const GATHER_MS = 5;
const BETWEEN_PUSHES_MS = SECOND_MS;
/** A receipt waits so long for an answer that is pushed with it. */
const RECEIPT_GATHER_MS = 2 * SECOND_MS;
/**
 * After a push, none follows for so many times as long as it took. Another host that is behind has to
 * fetch first, so without this rest the host that pushed last would always be the next one too.
 */
const REST_FACTOR = 2;
const LONGEST_REST_MS = 10 * SECOND_MS;
/**
 * While no commit of another host comes between ours, the rest after a push is at least this, then twice
 * that, up to `LONGEST_TURN_MS`: a slower host comes back after 2, 4 and 8 seconds. A pause of
 * `FORGET_TURNS_MS` was turn enough.
 */
const FIRST_TURN_MS = SECOND_MS;
const LONGEST_TURN_MS = 8 * SECOND_MS;
const FORGET_TURNS_MS = 20 * SECOND_MS;
const FIRST_ATTEMPT_MS = SECOND_MS;
const LAST_ATTEMPT_MS = 5 * MINUTE_MS;
/** Another daemon of this machine that moved the copies may have died. */
const MOVER_LOOK_MS = 4 * SECOND_MS;
/** The longest sleep of a timer. */
const LONGEST_MS = 60 * MINUTE_MS;

/** When a transport fetches and pushes: one turn at a time, whatever asks for it. Spec 5.2. */
export class Schedule {
  readonly #world: TransportWorld;
  readonly #host: Pick<HostState, "mayMove">;
  readonly #work: Turn;
  readonly #ended = new AbortController();
  /** Monotonic ms; Infinity: not due. */
  #fetchMs = -Infinity;
  #pushMs = Infinity;
  /** What is to be pushed is more than a heartbeat. */
  #isNews = false;
  /** The longest time to the fetch after the next one, while an answer may come. */
  #answerMs = Infinity;
  #lastPushMs = -Infinity;
  /** No push begins before. */
  #restUntilMs = -Infinity;
  /** How long others get their turn after our next push. */
  #turnMs = 0;
  #retryMs = FIRST_ATTEMPT_MS;
  /** Nothing is tried before. */
  #notBeforeMs = -Infinity;
  #callOff: () => void = () => undefined;
  #stopLooking: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #problem: TransportProblem | undefined;
  #isMover = false;
  /** Before, a turn is made only when it is asked for. */
  #isStarted = false;

  constructor(world: TransportWorld, host: Pick<HostState, "mayMove">, work: Turn) {
    this.#world = world;
    this.#host = host;
    this.#work = work;
  }

  get problem(): TransportProblem | undefined {
    return this.#problem;
  }

  /** Whether we write the local copies, as of the last turn. */
  get isMover(): boolean {
    return this.#isMover;
  }

  start(): void {
    this.#isStarted = true;
    this.#lookLater();
    this.#arm();
  }

  /** One turn now. */
  async turn(due: Due): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    await this.#run(due);
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    this.#callOff();
    this.#stopLooking();
    await this.#running;
  }

  push(when: PushTime): void {
    const { clock, cadenceMs } = this.#world;
    const gatherMs = when === "receipt" ? RECEIPT_GATHER_MS : GATHER_MS;
    const soonMs = Math.max(clock.monoMs() + gatherMs, this.#lastPushMs + BETWEEN_PUSHES_MS);
    const isLater = when === "at the cadence";
    const atMs = isLater ? Math.max(soonMs, this.#lastPushMs + cadenceMs()) : soonMs;
    this.#pushMs = Math.min(this.#pushMs, atMs);
    this.#isNews ||= when === "soon";
    this.#arm();
  }

  /** A commit of another host follows our last one. */
  noteOthers(): void {
    this.#turnMs = 0;
  }

  fetchSoon(): void {
    this.#fetchMs = -Infinity;
    this.#arm();
  }

  /** Whatever was in the way may be gone. */
  tryNow(): void {
    this.#notBeforeMs = -Infinity;
    this.fetchSoon();
  }

  /** Waits, unless the transport ends. */
  async pause(forMs: number): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        signal.removeEventListener("abort", end);
        callOff();
        resolve();
      };
      const callOff = this.#world.after(forMs, end);
      signal.addEventListener("abort", end);
    });
  }

  /** True when that is another answer than in the turn before. */
  noteMover(isMover: boolean): boolean {
    const isNew = isMover !== this.#isMover;
    this.#isMover = isMover;
    if (isMover) this.#stopLooking();
    return isNew;
  }

  #arm(): void {
    if (!this.#isStarted || this.#ended.signal.aborted || this.#running !== undefined) return;
    this.#callOff();
    const atMs = Math.max(this.#notBeforeMs, Math.min(this.#fetchMs, this.#mayPushMs()));
    const inMs = Math.min(Math.max(0, atMs - this.#world.clock.monoMs()), LONGEST_MS);
    this.#callOff = this.#world.after(inMs, () => this.#begin());
  }

  #mayPushMs(): number {
    return Math.max(this.#pushMs, this.#restUntilMs);
  }

  #begin(): void {
    if (this.#running !== undefined) return;
    const nowMs = this.#world.clock.monoMs();
    const due = { fetch: nowMs >= this.#fetchMs, push: nowMs >= this.#mayPushMs() };
    if (nowMs < this.#notBeforeMs || (!due.fetch && !due.push)) {
      this.#arm();
      return;
    }
    this.#run(due).catch((error: unknown) => this.#world.failed(error));
  }

  /** One turn after the other: two would wait for each other's locks. */
  async #run(due: Due): Promise<void> {
    const turn = this.#once(due);
    this.#running = turn.catch(() => undefined);
    try {
      await turn;
    } finally {
      this.#running = undefined;
      this.#arm();
    }
  }

  async #once(due: Due): Promise<void> {
    const { clock } = this.#world;
    const [fetchMs, pushMs, nowMs] = [this.#fetchMs, this.#pushMs, clock.monoMs()];
    const lastPushMs = this.#lastPushMs;
    const isNews = this.#isNews && due.push;
    if (due.fetch) this.#fetchMs = nowMs + this.#untilNextFetchMs();
    if (due.push) {
      this.#pushMs = Infinity;
      this.#isNews = false;
      this.#lastPushMs = nowMs;
    }
    try {
      if (nowMs - lastPushMs > FORGET_TURNS_MS) this.#turnMs = 0;
      const isPushed = await this.#work(due);
      if (due.push) this.#rest(clock.monoMs() - nowMs, isPushed);
      if (isPushed && isNews) this.#expectAnswer();
      this.#problem = undefined;
      this.#retryMs = FIRST_ATTEMPT_MS;
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      if (!(error instanceof TransportError) && !(error instanceof StorageError)) throw error;
      // What was due is due again; more may have become so meanwhile.
      this.#fetchMs = Math.min(this.#fetchMs, fetchMs);
      this.#pushMs = Math.min(this.#pushMs, pushMs);
      this.#isNews ||= isNews;
      this.#waitAfter(error);
    }
  }

  #expectAnswer(): void {
    this.#answerMs = 2 * FIRST_ANSWER_MS;
    this.#fetchMs = Math.min(this.#fetchMs, this.#world.clock.monoMs() + FIRST_ANSWER_MS);
  }

  #untilNextFetchMs(): number {
    const cadenceMs = this.#world.cadenceMs();
    const answerMs = this.#answerMs;
    this.#answerMs = answerMs < LAST_ANSWER_MS ? 2 * answerMs : Infinity;
    const usualMs =
      cadenceMs <= ACTIVE_CADENCE_MS ? Math.min(cadenceMs, ACTIVE_POLL_MS) : cadenceMs;
    return Math.min(usualMs, answerMs);
  }

  #rest(tookMs: number, isPushed: boolean): void {
    const restMs = Math.max(Math.min(REST_FACTOR * tookMs, LONGEST_REST_MS), this.#turnMs);
    this.#restUntilMs = this.#world.clock.monoMs() + restMs;
    if (isPushed)
      this.#turnMs = Math.min(Math.max(FIRST_TURN_MS, 2 * this.#turnMs), LONGEST_TURN_MS);
  }

  #waitAfter(error: TransportError | StorageError): void {
    const { clock, random, log } = this.#world;
    const code = error instanceof TransportError ? error.code : "local";
    const { message: detail, hint } = error;
    if (this.#problem?.detail !== detail) log.warn({ code, hint }, detail);
    const sinceMs = this.#problem?.code === code ? this.#problem.sinceMs : clock.wallMs();
    this.#problem = { code, detail, hint, sinceMs };
    // "stopped" waits for the operator, who may decide where no daemon is asked.
    const waitMs = code === "stopped" ? LAST_ATTEMPT_MS : this.#retryMs * (0.5 + random());
    this.#notBeforeMs = clock.monoMs() + waitMs;
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_ATTEMPT_MS);
  }

  /** Where another daemon of this machine moves the copies, it may end: then we do. */
  #lookForMover(): void {
    if (this.#isMover) return;
    try {
      if (this.#host.mayMove()) this.fetchSoon();
    } catch (error) {
      // The next turn meets the same trouble, and tells it.
      if (!(error instanceof StorageError)) throw error;
    }
    this.#lookLater();
  }

  #lookLater(): void {
    this.#stopLooking = this.#world.after(MOVER_LOOK_MS, () => this.#lookForMover());
  }
}
