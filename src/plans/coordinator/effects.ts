import type { Status } from "../plan/plan.ts";
import type { StepReport } from "../report/report.ts";

/** What the coordinator has to do; each may be carried out twice without harm. */
export type PlanEffect =
  /** Note it in the plan file. */
  | { readonly do: "mark"; readonly step: string; readonly status: Status }
  /** Send the request for the attempt that the plan is at, once; then the step is in progress. */
  | { readonly do: "send"; readonly step: string; readonly to: string }
  /** Begin to work at it here, once; then the step is in progress. */
  | { readonly do: "run"; readonly step: string }
  | { readonly do: "keep_report"; readonly report: StepReport }
  /** Add the step that corrects what went wrong, and try again after it. */
  | { readonly do: "amend"; readonly step: string; readonly error: string }
  | { readonly do: "tell"; readonly about: Telling; readonly text: string }
  | { readonly do: "end"; readonly outcome: "complete" | "stuck" };

/** `asks`: the operator has to do something. `warns`: something is odd, and the run goes on. */
export interface Telling {
  readonly step: string;
  readonly level: "asks" | "warns";
}
