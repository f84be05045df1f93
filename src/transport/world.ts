/** What a transport needs of the world, passed in so that a simulator can own all of it. */
export interface TransportWorld {
  readonly clock: { wallMs(): number; monoMs(): number };
  /** Calls back after that time; returns how to call it off. The process lives until then. */
  after(inMs: number, act: () => void): () => void;
  /** In [0, 1). */
  random(): number;
  /** How often we beat now: so often the remote is looked at, at least. */
  cadenceMs(): number;
  readonly log: { warn(facts: object, message: string): void };
  /** An error that is our own mistake: the daemon must end. */
  failed(error: unknown): void;
}
