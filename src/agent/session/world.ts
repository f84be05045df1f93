import type { CarriersWorld } from "../../carriers/open-carriers.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Places } from "../../storage/paths.ts";
import type { Checkpointer } from "../../store/checkpointer.ts";
import type { Notice } from "../../store/notices.ts";
import type { VerifyAll } from "../../wire/signature.ts";
import type { Core } from "../core.ts";
import type { StopHook } from "../parked.ts";
import type { Clock } from "./clock.ts";

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
  /** Where the database of that path is: SQLite opens files by itself. Absent: there. */
  storeFile?(path: string): string;
  /** Called after each round of a daemon to checkpoint the WAL. */
  readonly checkpointer?: Pick<Checkpointer, "look">;
  /** What carriers get of the world; only a daemon starts them. */
  carriers(user: CarriersUser): CarriersWorld;
  /** What of the operator's is run; absent where no daemon runs. */
  readonly hooks?: OperatorHooks;
  /** The daemon that has the files, where this process only reads the store. */
  readonly daemonElsewhere?: { readonly pid: number | undefined };
}

/** Whose carriers they are. */
export interface CarriersUser {
  readonly wireDir: string;
  /** Asked once the carriers are used: they are made before it. */
  core(): Pick<Core, "ownCadenceMs">;
}

/** What a daemon runs for its operator. */
export interface OperatorHooks {
  /** As of `AgentNoticesOptions`. Spec 3.12. */
  readonly onNotice?: (notice: Notice) => void;
  /** What ends the agent when it has approved its shutdown. Spec 3.8. */
  readonly stop?: StopHook;
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
