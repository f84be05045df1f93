/** What became of a step. Spec 7.4. */
export const OUTCOMES = ["success", "failure", "blocked", "partial"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One thing that a report names; other fields are kept. */
export interface Artifact {
  readonly file?: string;
  readonly status?: string;
  readonly test?: string;
  readonly result?: string;
  readonly log?: string;
  readonly screenshot?: string;
}

/** A report as it is written. */
export interface Report {
  readonly step_id: string;
  readonly outcome: Outcome;
  readonly details: string;
  readonly artifacts?: readonly Artifact[];
  readonly error?: string;
  readonly timestamp: string;
}

/** A report of one attempt, and whose it is. */
export interface StepReport {
  readonly attempt: number;
  /** Handle of the agent that made it; undefined: the one that runs the plan. */
  readonly by: string | undefined;
  readonly report: Report;
}
