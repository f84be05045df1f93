/** The twelve promises of docs/reliability.md, by number. */
export type PromiseNumber = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12;

/** A promise that was not kept. */
export class Broken extends Error {
  readonly promise: PromiseNumber;

  constructor(promise: PromiseNumber, what: string) {
    super(`promise ${promise}: ${what}`);
    this.promise = promise;
  }
}

export function kept(promise: PromiseNumber, holds: boolean, what: () => string): void {
  if (!holds) throw new Broken(promise, what());
}
