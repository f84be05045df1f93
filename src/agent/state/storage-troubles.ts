import type { StorageCode, StorageError } from "../../storage/disk/disk.ts";
import type { Clock } from "../session/clock.ts";
import type { StorageTroubleView } from "../../api/troubles.ts";
import { HOUR_MS, MINUTE_MS } from "../../wire/durations.ts";

/**
 * What the disk keeps from its work. Spec 4.1, Storage trouble.
 *
 * - "own logs": what we have promised waits to be appended, or to be durable.
 * - "private files": nothing can be noted, so nothing is taken in and nothing promised.
 * - "wire files": decisions.jsonl, incident_log.jsonl and the like wait to be written or read.
 * - "log …": a peer's log cannot be read, or its lines cannot be made durable.
 */
export type TroubleArea = "own logs" | "private files" | "wire files" | `log ${string}`;

/** Spec 4.1: 1 s to 30 s. Nothing shortens it but room on a disk that had none. */
const RETRY_MS = [1_000, 30_000] as const;
/** How often a disk is asked whether it has room again, which costs no write. */
const LOOK_MS = 2_000;
/** After so much quiet a trouble is over; one that comes back before that is the same one. */
const EASE_MS = MINUTE_MS;
/** What has to be free before anything is tried on a disk that was full. */
const NEEDED_BYTES = 4_096;

interface Trouble {
  readonly problem: StorageError;
  /** Wall clock. */
  readonly sinceMs: number;
  /** Attempts that have failed, one after the other. */
  readonly failures: number;
  /** No attempt is made before this (monotonic). */
  readonly dueMs: number;
  /** Since when all has been well again (monotonic); undefined: it lasts. */
  readonly easingMs: number | undefined;
}

/** An attempt has failed. Pure. */
function failedAgain(
  before: Trouble | undefined,
  problem: StorageError,
  now: { readonly wallMs: number; readonly monoMs: number },
): Trouble {
  const failures = (before?.failures ?? 0) + 1;
  const waitMs = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] ?? 0;
  const sinceMs = before?.sinceMs ?? now.wallMs;
  return { problem, sinceMs, failures, dueMs: now.monoMs + waitMs, easingMs: undefined };
}

/** What an agent logs of its troubles, and by what it asks for time and room. */
interface Edges {
  readonly clock: Clock;
  room(path: string): number;
  readonly log: {
    info(facts: object, message: string): void;
    error(facts: object, message: string): void;
  };
}

/**
 * The one owner of storage trouble: who writes asks it whether an attempt is due, and tells it how
 * the attempt ended. It outlives sessions, and is in memory alone.
 */
export class StorageTroubles {
  readonly #edges: Edges;
  readonly #troubles = new Map<TroubleArea, Trouble>();
  /** When the operator was last told of each kind of trouble (monotonic). */
  readonly #toldMs = new Map<StorageCode, number>();

  constructor(edges: Edges) {
    this.#edges = edges;
  }

  /** Whether an attempt makes sense now. Where there is no trouble, always. */
  mayTry(area: TroubleArea): boolean {
    const trouble = this.#lasting(area);
    if (trouble === undefined) return true;
    if (this.#hasNoRoom(trouble)) {
      // As soon as there is room: the wait was for nothing else.
      this.#troubles.set(area, { ...trouble, failures: 0, dueMs: 0 });
      return false;
    }
    return this.#edges.clock.monoMs() >= trouble.dueMs;
  }

  /** Why the area does not work now. */
  problem(area: TroubleArea): StorageError | undefined {
    return this.#lasting(area)?.problem;
  }

  /** An attempt has failed. Returns for how long no other is made (ms). */
  failed(area: TroubleArea, problem: StorageError): number {
    const { clock } = this.#edges;
    const [wallMs, monoMs] = [clock.wallMs(), clock.monoMs()];
    const trouble = failedAgain(this.#troubles.get(area), problem, { wallMs, monoMs });
    this.#troubles.set(area, trouble);
    this.#tell(trouble);
    return trouble.dueMs - monoMs;
  }

  /** An attempt has succeeded. */
  worked(area: TroubleArea): void {
    const trouble = this.#lasting(area);
    if (trouble === undefined) return;
    this.#troubles.set(area, { ...trouble, easingMs: this.#edges.clock.monoMs() });
  }

  /** Once a round: what is over is forgotten, and what lasts for an hour is told again. */
  look(): void {
    const monoMs = this.#edges.clock.monoMs();
    for (const [area, trouble] of this.#troubles) {
      if (trouble.easingMs === undefined) this.#tell(trouble);
      else if (monoMs >= trouble.easingMs + EASE_MS) this.#troubles.delete(area);
    }
    const lasting = new Set([...this.#troubles.values()].map(({ problem }) => problem.code));
    for (const code of this.#toldMs.keys()) {
      if (lasting.has(code)) continue;
      this.#toldMs.delete(code);
      this.#edges.log.info({ code }, "the trouble with storage is over");
    }
  }

  /**
   * The same for a copy in memory, which shows these troubles and makes no attempts of its own.
   * `problem`: why there is a copy.
   */
  onlyShown(problem: StorageError): StorageTroubles {
    return new ShownTroubles(this, this.#edges, problem);
  }

  /** When an attempt is due, or a look at a disk that had no room. Monotonic ms. */
  nextDueMs(): number {
    const monoMs = this.#edges.clock.monoMs();
    const dues = [...this.#troubles.values()].map((trouble) => {
      if (trouble.easingMs !== undefined) return trouble.easingMs + EASE_MS;
      // One that is overdue waits for somebody who has a reason to write there.
      const isWaiting = trouble.dueMs > monoMs && !this.#hasNoRoom(trouble);
      return isWaiting ? trouble.dueMs : monoMs + LOOK_MS;
    });
    return Math.min(Infinity, ...dues);
  }

  /** What lasts now. */
  shown(): StorageTroubleView[] {
    return [...this.#troubles].flatMap(([area, { problem, sinceMs, easingMs }]) => {
      if (easingMs !== undefined) return [];
      const { code, message: detail, hint } = problem;
      return [{ area, code, detail, hint, since: new Date(sinceMs).toISOString() }];
    });
  }

  #lasting(area: TroubleArea): Trouble | undefined {
    const trouble = this.#troubles.get(area);
    return trouble?.easingMs === undefined ? trouble : undefined;
  }

  #hasNoRoom({ problem: { code, path } }: Trouble): boolean {
    const isOfRoom = code === "disk_full" || code === "read_only";
    return isOfRoom && this.#edges.room(path) < NEEDED_BYTES;
  }

  /** One line when a kind of trouble begins, and one an hour. */
  #tell({ problem, sinceMs }: Trouble): void {
    const { clock, log } = this.#edges;
    const { code, message, hint } = problem;
    if (clock.monoMs() < (this.#toldMs.get(code) ?? -Infinity) + HOUR_MS) return;
    this.#toldMs.set(code, clock.monoMs());
    const since = new Date(sinceMs).toISOString();
    log.error({ code, since, hint }, `trouble with storage, tried again by itself: ${message}`);
  }
}

class ShownTroubles extends StorageTroubles {
  readonly #of: StorageTroubles;
  readonly #problem: StorageError;

  constructor(of: StorageTroubles, edges: Edges, problem: StorageError) {
    super(edges);
    this.#of = of;
    this.#problem = problem;
  }

  override mayTry(area: TroubleArea): boolean {
    return area !== "own logs";
  }

  override problem(area: TroubleArea): StorageError | undefined {
    return this.#of.problem(area) ?? this.#problem;
  }

  override failed(): number {
    return 0;
  }

  override worked(): void {
    // What succeeds in memory says nothing of the disk.
  }

  override shown(): StorageTroubleView[] {
    return this.#of.shown();
  }
}

const PASSING: ReadonlySet<StorageCode> = new Set([
  "disk_full",
  "read_only",
  "io",
  "sync_failed",
  "locked",
]);

/** Whether it may end without anybody's help: a program waits for that, and does not give up. */
export function isPassing({ code }: StorageError): boolean {
  return PASSING.has(code);
}
