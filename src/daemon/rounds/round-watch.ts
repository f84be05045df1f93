import type { Agent } from "../../agent/agent.ts";
import type { Logger } from "../../agent/session/world.ts";
import type { RoundRegistry, RoundView, Turn } from "../../api/rounds.ts";
import type { Marks } from "../../api/views.ts";
import { isFields, parseJson } from "../../collab/documents/text.ts";
import { readHead } from "../../collab/folder/read-round.ts";
import { turnIn, type WatchFolder } from "../../collab/folder/wait-turn.ts";
import { readWatched, type WatchedRound } from "../../collab/folder/watched-rounds.ts";
import { RoundRefused } from "../../collab/refused.ts";
import { stateOf } from "../../collab/rules/round.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../../storage/disk/file-modes.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { watchFolder } from "../folder-events.ts";
import { processWakes, type Wake } from "../wake.ts";

export interface RoundWatchOptions {
  readonly disk: Disk;
  /** Where they are registered, and where we note which turn was told. */
  readonly paths: { readonly rounds: string; readonly roundsTold: string };
  readonly watch: WatchFolder;
  readonly wake: Wake;
  /** It has become the agent's turn in a round. */
  due(): void;
  readonly log: Logger;
}

/** A daemon reads no more of a round: it does nothing else meanwhile. */
const MAX_READ_BYTES = 2 * 1_048_576;
/** Who writes into a folder all the time has it looked at so often. */
const ROUND_LOOK_MS = 100;
const MAX_TOLD_BYTES = 1_048_576;

interface Seen {
  readonly view: RoundView;
  /** While it is the agent's turn. */
  readonly turn: Turn | undefined;
}

/**
 * Knows whose turn it is in the rounds that are watched for the agent. A turn is told once: it counts
 * as told when it was shown, also over a restart. Nothing is written into a round. Spec 6.3.
 */
export class RoundWatch implements RoundRegistry {
  readonly #options: RoundWatchOptions;
  readonly #watchers = new Map<string, { close(): void }>();
  #seen: readonly Seen[] = [];
  #told: Record<string, number>;
  #callOff: (() => void) | undefined;

  constructor(options: RoundWatchOptions) {
    this.#options = options;
    this.#told = readTold(options.disk, options.paths.roundsTold);
  }

  look(): RoundView[] {
    const rounds = this.#registered();
    this.#watch(new Set(rounds.map(({ folder }) => folder)));
    const before = new Set(this.turns().map(({ key, seq }) => `${key} ${seq}`));
    this.#seen = rounds.map((round) => this.#see(round));
    const begun = this.turns().filter(({ key, seq }) => !before.has(`${key} ${seq}`));
    for (const { folder, seq } of begun) {
      this.#options.log.info({ folder, seq }, "it is our turn in a collaboration round");
    }
    if (begun.length > 0) this.#options.due();
    return this.#seen.map(({ view }) => view);
  }

  turns(): Turn[] {
    return this.#seen.flatMap(({ turn }) =>
      turn === undefined || this.#told[turn.key] === turn.seq ? [] : [turn],
    );
  }

  told(marks: Marks): void {
    const shown = this.turns().filter(({ key, seq }) => marks[key] === seq);
    if (shown.length === 0) return;
    const current = this.#seen.flatMap(({ turn }) => (turn === undefined ? [] : [turn.key]));
    const kept = Object.entries(this.#told).filter(([key]) => current.includes(key));
    const now = shown.map(({ key, seq }) => [key, seq] as const);
    this.#told = Object.fromEntries([...kept, ...now]);
    const { disk, paths, log } = this.#options;
    try {
      const note = Buffer.from(`${JSON.stringify(this.#told)}\n`, "utf8");
      disk.replace(paths.roundsTold, note, PRIVATE_FILE);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      // It is told once more after a restart.
      log.warn({ detail: error.message }, "cannot note that the agent was told of its turn");
    }
  }

  stop(): void {
    this.#callOff?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(folders: ReadonlySet<string>): void {
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      const watcher = this.#options.watch(folder, () => this.#lookSoon());
      this.#watchers.set(folder, watcher);
    }
  }

  #lookSoon(): void {
    this.#callOff ??= this.#options.wake(ROUND_LOOK_MS, () => {
      this.#callOff = undefined;
      this.look();
    });
  }

  /** Damage of this file stops no daemon: it is told, and nothing is watched. */
  #registered(): WatchedRound[] {
    const { disk, paths, log } = this.#options;
    try {
      return readWatched(disk, paths.rounds);
    } catch (error) {
      if (!(error instanceof StorageError) && !(error instanceof RoundRefused)) throw error;
      log.warn({ detail: error.message }, "the watched rounds cannot be read");
      return [];
    }
  }

  #see({ folder, participant }: WatchedRound): Seen {
    try {
      const { round } = readHead(this.#options.disk, folder, undefined, MAX_READ_BYTES);
      const phase = stateOf(round)?.currentPhase ?? null;
      const { ready, reason: detail } = turnIn(round, participant);
      const isTurn = ready && phase !== "completed" && phase !== "blocked";
      const key = `round ${participant} ${folder}`;
      const seq = round.events.events.length;
      const view = { folder, participant, phase, is_turn: isTurn, detail };
      return { view, turn: isTurn ? { key, seq, folder, participant } : undefined };
    } catch (error) {
      if (!(error instanceof RoundRefused) && !(error instanceof StorageError)) throw error;
      const view = { folder, participant, phase: null, is_turn: false, detail: error.message };
      return { view, turn: undefined };
    }
  }
}

/** A file that is damaged has told nothing. */
function readTold(disk: Disk, path: string): Record<string, number> {
  try {
    const bytes = readWhole(disk, path, MAX_TOLD_BYTES);
    const told = parseJson(Buffer.from(bytes ?? "{}").toString("utf8"));
    return isFields(told) ? (told as Record<string, number>) : {};
  } catch (error) {
    if (error instanceof StorageError) return {};
    throw error;
  }
}

/** The collaboration rounds that a daemon watches for its agent; `due`: a turn has come. Spec 6.3. */
export function openRounds(agent: Agent, due: () => void, log: Logger): RoundWatch {
  return new RoundWatch({
    disk: nodeDisk(),
    paths: agent.place.paths,
    watch: (folder, changed) =>
      watchFolder(folder, {
        below: [],
        report: changed,
        onError: (error) => log.warn({ folder, detail: String(error) }, "no events of that round"),
      }),
    wake: processWakes,
    due,
    log,
  });
}
