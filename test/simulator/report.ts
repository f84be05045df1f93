import type { Figures } from "./run-seed.ts";

export type SeedReport =
  | { readonly ok: true; readonly seed: number; readonly text: string; readonly figures: Figures }
  | {
      readonly ok: false;
      readonly seed: number;
      readonly text: string;
      /** The promise that was broken, in one line. */
      readonly what: string;
    };

export const NO_FIGURES: Figures = {
  steps: 0,
  acknowledged: 0,
  delivered: 0,
  decisions: 0,
  crashes: 0,
  powerCuts: 0,
};

export function addFigures(sum: Figures, more: Figures): Figures {
  return {
    steps: sum.steps + more.steps,
    acknowledged: sum.acknowledged + more.acknowledged,
    delivered: sum.delivered + more.delivered,
    decisions: sum.decisions + more.decisions,
    crashes: sum.crashes + more.crashes,
    powerCuts: sum.powerCuts + more.powerCuts,
  };
}
