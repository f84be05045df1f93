import type { Disk } from "../storage/disk/disk.ts";

/** What a transport needs of the world, passed in so that a simulator can own all of it. */
export interface TransportWorld {
  readonly disk: Disk;
  /** Of our process: programs get a part of it. */
  readonly env: NodeJS.ProcessEnv;
  readonly clock: { wallMs(): number; monoMs(): number };
  /** In [0, 1). */
  random(): number;
  /** How often we beat now: so often the remote is looked at, at least. */
  cadenceMs(): number;
  readonly log: { warn(facts: object, message: string): void };
  /** An error that is our own mistake: the daemon must end. */
  failed(error: unknown): void;
}
