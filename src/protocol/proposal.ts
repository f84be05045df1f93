import type { DecisionContent } from "./decision-record.ts";

/** What became of a proposal, for good, and by which line. Spec 3.4, "One log decides". */
export interface Outcome {
  readonly status: "ratified" | "rejected" | "reverted" | "superseded" | "withdrawn";
  /** The line that decided: its id, its log, where it stands, and when it is dated. */
  readonly by: string;
  readonly log: string;
  readonly line: number;
  readonly at: string;
  /** Of a ratified one: the supporting acks, in the order of `required`. */
  readonly ackIds: readonly string[];
}

export interface Proposal {
  readonly key: string;
  readonly topic: string;
  readonly id: string;
  readonly correlationId: string;
  readonly log: string;
  readonly line: number;
  readonly from: string;
  readonly subject: string;
  readonly required: readonly string[];
  /** Why it can never be ratified. */
  readonly problem: string | undefined;
  readonly chained: boolean;
  readonly timestampMs: number;
  readonly at: number;
  readonly live: boolean;
  readonly own: boolean;
  readonly digest: string;
  /** Kept while we may have to record it. */
  content: DecisionContent | undefined;
  outcome: Outcome | undefined;
  /** No line that may still come changes the outcome: always so, except by timestamps. */
  settled: boolean;
  /** An entry of decisions.jsonl names it: then every beat is judged, to prove or refute that. */
  named: boolean;
  /** The line of the proposer's log up to which nothing has decided. */
  judgedTo: number;
}
