import { randomFrom } from "../support/random.ts";

/** Everything that is left to chance in one step, which follows from the seed and the step alone. */
export class Luck {
  readonly #seed: number;
  #next: () => number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#next = randomFrom(seed);
  }

  /** Other steps may be left out, and this one still does what it did. */
  beginStep(step: number): void {
    this.#next = randomFrom(Math.imul(this.#seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b));
  }

  readonly random = (): number => this.#next();

  /** From `from` up to and without `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from));
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.between(0, from.length)] as T;
  }

  some<T>(from: readonly T[]): T[] {
    const chosen = from.filter(() => this.chance(0.5));
    return chosen.length > 0 ? chosen : [this.pick(from)];
  }

  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.random() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of from) {
      left -= weight;
      if (left < 0) return value;
    }
    return (from.at(-1) as readonly [number, T])[1];
  }

  shuffled<T>(from: readonly T[]): T[] {
    return from
      .map((each) => [this.random(), each] as const)
      .toSorted(([one], [other]) => one - other)
      .map(([, each]) => each);
  }
}
