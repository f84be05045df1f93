/** Something that happens later, unless it is called off. */
interface Alarm {
  readonly atMs: number;
  readonly order: number;
  readonly ring: () => void;
}

/** The clock of a simulation: time stands still until it is moved to the next alarm. */
export class Timers {
  monoMs = 0;
  #alarms: Alarm[] = [];
  #order = 0;

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

  /** Moves time to the next alarm and rings it; false when there is none. */
  ringNext(): boolean {
    const alarm = this.#alarms.shift();
    if (alarm === undefined) return false;
    this.monoMs = Math.max(this.monoMs, alarm.atMs);
    alarm.ring();
    return true;
  }

  /** Time goes by and nobody notices until it has: a host that sleeps. */
  skip(ms: number): void {
    this.monoMs += ms;
  }
}
