/** What must hold after each run, whatever has happened in it. */
export type Promised =
  | "nothing is signed twice"
  | "nothing is lost"
  | "mail comes once"
  | "carriers are whole"
  | "outcomes agree"
  | "decisions are recorded once"
  | "everybody goes on";

/** A promise that was not kept. */
export class Broken extends Error {
  readonly promise: Promised;

  constructor(promise: Promised, detail: string) {
    super(`${promise}: ${detail}`);
    this.promise = promise;
  }
}

export function check(promise: Promised, holds: boolean, detail: () => string): void {
  if (!holds) throw new Broken(promise, detail());
}
