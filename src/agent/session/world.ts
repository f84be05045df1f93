import type { AgentNotice } from "../../protocol/agent-notices/agent-notice.ts";
import type { Effect } from "../../protocol/effects.ts";
import type { StopEnd } from "../../protocol/requests/parking.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { HeadsStore } from "../../storage/own-log/heads.ts";
import type { Inbox } from "../../storage/files/inbox.ts";
import type { Places } from "../../storage/paths.ts";
import type { Quarantine } from "../../storage/files/quarantine.ts";
import type { VerifyAll } from "../../wire/signature.ts";
import type { Clock } from "./clock.ts";
import type { StorageTroubles } from "../state/storage-troubles.ts";
import type { OwnLogs } from "./own-logs.ts";
import type { IndexedJournal } from "../state/indexed-journal.ts";

/** What an agent needs of the world, passed in so that a simulator can own all of it. */
export interface World {
  readonly disk: Disk;
  readonly places: Places;
  readonly clock: Clock;
  /** In [0, 1). */
  random(): number;
  /** The strict verdict on many signatures, in order. Spec 1.5. */
  readonly verifyAll: VerifyAll;
  readonly log: Logger;
  /** Absent where all logs are written on this machine. Spec 5. */
  readonly remote?: RemoteLogs;
  /** What of the operator's is run; absent where no daemon runs. */
  readonly hooks?: OperatorHooks;
  /** The daemon that has the files, where this process only reads a copy of them in memory. */
  readonly daemonElsewhere?: { readonly pid: number | undefined };
}

/** What a daemon runs for its operator. */
export interface OperatorHooks {
  /**
   * A notice was written: once for each, when it is durable. It must return at once and never throw.
   * Not called again for a notice that was written just before the process died. Spec 3.12.
   */
  readonly onNotice?: (notice: AgentNotice) => void;
  /** What ends the agent when it has approved its shutdown. Spec 3.8. */
  readonly stop?: StopHook;
}

/** The logs that a transport brings from other machines into the local folder. Spec 5. */
export interface RemoteLogs {
  isRemote(handle: string): boolean;
  /**
   * When the last fetch began that is over, its lines in the local folder. Wall ms, never later than
   * now: what a clock that was set back since says of fetches counts for nothing.
   */
  fetchedMs(nowMs: number): number | undefined;
  /** A deadline waits for a fetch that begins now. Returns at once. */
  fetchSoon(): void;
}

/** The operator's stop hook. Both return at once and never throw. */
export interface StopHook {
  /** Starts it for that approval, unless it was started: how it has ended, undefined while it runs. */
  run(of: Omit<Extract<Effect, { do: "stop_agent" }>, "do">): StopEnd | undefined;
  isRunning(by: string): boolean;
}

/** The part of pino that is used here; bodies and keys are never passed to it. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** An agent's own files, open for as long as it holds its identity's lock. */
export interface Files {
  readonly journal: IndexedJournal;
  readonly inbox: Inbox;
  /** What our agent is told besides its messages: kept, rotated and restored like the inbox. */
  readonly notices: Inbox;
  readonly quarantine: Quarantine;
  readonly heads: HeadsStore;
  readonly own: OwnLogs;
  /** Shared files are not written before (monotonic ms): another process keeps one of them locked. */
  readonly shared: { notBeforeMs: number };
  /** Who is asked before a write is tried again, and told how it ended. It outlives the files. */
  readonly troubles: StorageTroubles;
}
