import type { Turn } from "./row.ts";

/**
 * Ours, baseline, ours, baseline …: a noisy moment of the machine meets both. Nothing else of the
 * bench runs meanwhile.
 */
export async function inTurns<T, U = T>(
  count: number,
  ours: (turn: number) => Promise<T> | T,
  baseline: (turn: number) => Promise<U> | U,
): Promise<{ readonly ours: T; readonly baseline: U }[]> {
  const turns: { ours: T; baseline: U }[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    turns.push({ ours: await ours(turn), baseline: await baseline(turn) });
  }
  return turns;
}

/** One figure of turns that have several. */
export function pick<T, S>(
  turns: readonly { readonly ours: T; readonly baseline: T }[],
  side: (of: T) => S,
): Turn<S>[] {
  return turns.map(({ ours, baseline }) => ({ ours: side(ours), baseline: side(baseline) }));
}
