/** How the mutants of one layer ended. */
export interface Figures {
  readonly name: string;
  readonly killed: number;
  /** By a count of hits, the same on every machine. */
  readonly looped: number;
  readonly byTime: number;
  readonly alive: number;
  readonly broken: number;
  readonly score: number;
}

interface EndedMutant {
  readonly status: string;
  readonly statusReason?: string;
}

export function figuresOf(
  files: Readonly<Record<string, { readonly mutants: readonly EndedMutant[] }>>,
): Figures[];
export function textOf(figures: Figures): string;
