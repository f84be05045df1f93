import type { ReportRead } from "../report/parse-report.ts";
import type { Report } from "../report/report.ts";

/** What the wire says of the request for one attempt at a step. */
export interface Dispatch {
  /** Event id of the request. */
  readonly eventId: string;
  readonly asker: string;
  /** Whom it asks. */
  readonly target: string;
  readonly answer: "none" | "accepted" | "refused" | "ended";
  /** Why it was refused or ended, in the words of who did it. */
  readonly reason: string | null;
  /** When our daemon took it in. */
  readonly askedAtMs: number;
  /** What came in its thread, the oldest first. */
  readonly reports: readonly WireReport[];
}

/** A message in the thread of a request that says to be its report. */
export interface WireReport {
  readonly eventId: string;
  readonly from: string;
  readonly read: ReportRead;
}

/** What this machine knows of a step that the runner does itself. */
export interface LocalWork {
  /** It was begun, in this process or in one before it. */
  readonly isBegun: boolean;
  readonly isRunning: boolean;
  readonly report: Report | undefined;
}

/** All that is known of the attempts that the plan is at, by id of the step. */
export interface Facts {
  readonly dispatches: ReadonlyMap<string, Dispatch>;
  readonly local: ReadonlyMap<string, LocalWork>;
}
