/** How much of each row is measured. */
export interface Plan {
  /** 1 is all of it; a test takes a small part. */
  readonly scale: number;
  /** How often ours and the baseline take turns. */
  readonly turns: number;
  /** How long the idle daemon of P10 is watched. */
  readonly idleSeconds: number;
}

export const FULL: Plan = { scale: 1, turns: 9, idleSeconds: 600 };

/** So many of `full` as the scale says, and at least `least`. */
export function amount({ scale }: Plan, full: number, least = 1): number {
  return Math.max(least, Math.round(full * scale));
}
