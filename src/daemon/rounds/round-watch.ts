import type { RoundRegistry, RoundView } from "../../api/rounds.ts";
import { readHead } from "../../collab/folder/read-round.ts";
import { turnOf } from "../../collab/folder/wait-turn.ts";
import type { WatchFolder } from "../../collab/folder/wait-turn.ts";
import { readWatched, type WatchedRound } from "../../collab/folder/watched-rounds.ts";
import { RoundRefused } from "../../collab/refused.ts";
import { stateOf } from "../../collab/rules/round.ts";
import type { Logger } from "../../agent/session/world.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { PRIVATE_FILE } from "../../storage/private/private-folders.ts";

export interface RoundWatchOptions {
  readonly disk: Disk;
  /** Where they are registered, and where we note which turn was told. */
  readonly paths: { readonly rounds: string; readonly roundsTold: string };
  readonly watch: WatchFolder;
  /** It has become the agent's turn. */
  tell(round: WatchedRound): void;
  readonly log: Logger;
}

export interface RoundWatch extends RoundRegistry {
  stop(): void;
}

/**
 * Tells the agent once when its turn in a round has come, also over a restart. It writes nothing into
 * the round. Spec 6.3.
 */
export function watchRounds(options: RoundWatchOptions): RoundWatch {
  return new Rounds(options);
}

class Rounds implements RoundWatch {
  readonly #options: RoundWatchOptions;
  readonly #watchers = new Map<string, { close(): void }>();

  constructor(options: RoundWatchOptions) {
    this.#options = options;
  }

  look(): RoundView[] {
    const rounds = this.#registered();
    const folders = new Set(rounds.map(({ folder }) => folder));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      this.#watchers.set(
        folder,
        this.#options.watch(folder, () => this.#changed(folder)),
      );
    }
    return rounds.map((round) => this.#see(round));
  }

  stop(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  #changed(folder: string): void {
    for (const round of this.#registered()) if (round.folder === folder) this.#see(round);
  }

  /** Damage of this file stops no daemon: it is told, and nothing is watched. */
  #registered(): WatchedRound[] {
    const { disk, paths, log } = this.#options;
    try {
      return readWatched(disk, paths.rounds);
    } catch (error) {
      if (!(error instanceof StorageError) && !(error instanceof SyntaxError)) throw error;
      log.warn({ detail: error.message }, "the watched rounds cannot be read");
      return [];
    }
  }

  #see(round: WatchedRound): RoundView {
    const { disk } = this.#options;
    const { folder, participant } = round;
    try {
      const { round: read } = readHead(disk, folder);
      const phase = stateOf(read)?.currentPhase ?? null;
      const turn = turnOf(disk, { folder, participant, schema: undefined });
      const isTurn = turn.ready && phase !== "completed" && phase !== "blocked";
      if (isTurn) this.#tellOnce(round, read.events.events.length);
      return { folder, participant, phase, is_turn: isTurn, detail: turn.reason };
    } catch (error) {
      if (!(error instanceof RoundRefused) && !(error instanceof StorageError)) throw error;
      return { folder, participant, phase: null, is_turn: false, detail: error.message };
    }
  }

  /** Noted before it is told: a crash between the two tells it to `status` alone. */
  #tellOnce(round: WatchedRound, seq: number): void {
    const { disk, paths, tell, log } = this.#options;
    const key = JSON.stringify([round.folder, round.participant]);
    const told = this.#told();
    if (told[key] === seq) return;
    try {
      const note = Buffer.from(`${JSON.stringify({ ...told, [key]: seq })}\n`, "utf8");
      disk.replace(paths.roundsTold, note, PRIVATE_FILE);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      log.warn({ detail: error.message }, "cannot note that the agent is told of its turn");
      return;
    }
    log.info({ folder: round.folder, seq }, "it is our turn in a collaboration round");
    tell(round);
  }

  #told(): Record<string, number> {
    const { disk, paths } = this.#options;
    try {
      const bytes = readWhole(disk, paths.roundsTold);
      if (bytes === undefined) return {};
      return JSON.parse(Buffer.from(bytes).toString("utf8")) as Record<string, number>;
    } catch (error) {
      if (!(error instanceof StorageError) && !(error instanceof SyntaxError)) throw error;
      return {};
    }
  }
}
