/** Something that happens later, unless it is called off. */
interface Alarm {
  readonly atMs: number;
  readonly order: number;
  readonly ring: () => void;
}

/** So often, without any time going by, nothing rings that is to end. */
const MAX_RINGS_AT_ONCE = 1_000;

/** The clock of a simulation: time stands still until it is moved to the next alarm. */
export class Timers {
  monoMs = 0;
  #alarms: Alarm[] = [];
  #order = 0;
  #ringsAtOnce = 0;

  after(inMs: number, ring: () => void): () => void {
    const alarm = { atMs: this.monoMs + Math.max(0, inMs), order: this.#order, ring };
    this.#order += 1;
    const at = this.#alarms.findIndex((other) => other.atMs > alarm.atMs);
    this.#alarms.splice(at < 0 ? this.#alarms.length : at, 0, alarm);
    return () => {
      const place = this.#alarms.indexOf(alarm);
      if (place >= 0) this.#alarms.splice(place, 1);
    };
  }

  get nextMs(): number {
    return this.#alarms[0]?.atMs ?? Infinity;
  }

  /**
   * Moves time to the next alarm and rings it; false when there is none. Throws when time does not go
   * on, so that an endless loop of a daemon fails its seed.
   */
  ringNext(): boolean {
    const alarm = this.#alarms.shift();
    if (alarm === undefined) return false;
    this.#ringsAtOnce = alarm.atMs > this.monoMs ? 0 : this.#ringsAtOnce + 1;
    if (this.#ringsAtOnce > MAX_RINGS_AT_ONCE) {
      throw new Error(`an endless loop: ${MAX_RINGS_AT_ONCE} alarms at ${this.monoMs} ms`);
    }
    this.monoMs = Math.max(this.monoMs, alarm.atMs);
    alarm.ring();
    return true;
  }

  /** Time goes by and nobody notices until it has: a host that sleeps. */
  skip(ms: number): void {
    this.monoMs += ms;
  }
}
