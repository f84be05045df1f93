/** A mistake that is put into one source file as it is loaded. */
export interface Plant {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** The first seed that is played: the first that finds it; 1 unless said. */
  readonly seeds?: number;
  /** The test that finds it, for what no play can see. */
  readonly test?: string;
  /** Of the test in that file, where one has to notice it. */
  readonly title?: string;
}

export const PLANTS: readonly Plant[];
export function plantedHere(name?: string): Plant | undefined;
export function withPlant(plant: Plant | undefined, path: string, text: string): string;
