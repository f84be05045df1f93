/**
 * One step of a set-up. `needed` is asked when the step's turn has come, so that re-running a
 * set-up repeats nothing, and a dry run can say what each step would do.
 */
export interface Step {
  readonly what: string;
  needed(): boolean;
  run(): void;
}

export interface StepReport {
  readonly step: string;
  readonly outcome: "done" | "already" | "would";
}

/** Runs the steps in order; with `dryRun` it touches nothing. */
export function runSteps(steps: readonly Step[], dryRun: boolean): StepReport[] {
  const reports: StepReport[] = [];
  for (const step of steps) {
    if (!step.needed()) reports.push({ step: step.what, outcome: "already" });
    else if (dryRun) reports.push({ step: step.what, outcome: "would" });
    else {
      step.run();
      reports.push({ step: step.what, outcome: "done" });
    }
  }
  return reports;
}
