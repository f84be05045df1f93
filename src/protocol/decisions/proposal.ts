import type { Message } from "../../wire/message.ts";
import { textField } from "../body.ts";
import type { DecisionContent } from "./record/decision-record.ts";

/** What became of a proposal, for good, and by which line. Spec 3.4, "One log decides". */
export interface Outcome {
  readonly status: "ratified" | "rejected" | "reverted" | "superseded" | "withdrawn";
  /** The line that decided: its id, its log, its place there, and its date. */
  readonly by: string;
  readonly log: string;
  readonly line: number;
  readonly at: string;
  /** Of a ratified one: the supporting acks, in the order of `required`. */
  readonly ackIds: readonly string[];
  /** Of a revert: the sibling that its proposer agreed to instead. Spec 3.4, `replaced`. */
  readonly replacedBy?: string;
}

/** `settled`: no line that may still come changes it. */
export interface Judgement {
  readonly outcome: Outcome | undefined;
  readonly settled: boolean;
}

export function outcomeBy(
  status: Outcome["status"],
  by: {
    readonly id: string;
    readonly log: string;
    readonly line: number;
    readonly timestamp: string;
    readonly replacedBy?: string | undefined;
  },
  ackIds: readonly string[],
): Outcome {
  const { id, log, line, timestamp: at, replacedBy } = by;
  const outcome = { status, by: id, log, line, at, ackIds };
  return status === "reverted" && replacedBy !== undefined ? { ...outcome, replacedBy } : outcome;
}

/** What a proposal asks of the layout, by its signed body; undefined of any other proposal. Spec 3.11. */
export function asksForLayout({ body }: Message): "outbox" | undefined {
  if (textField(body, "action") !== "layout") return undefined;
  return textField(body, "layout") === "outbox" ? "outbox" : undefined;
}

/** What the daemons carry out, besides what a proposal decides. Spec 2.5, 3.11. */
const ACTIONS = ["add_key", "deactivate_key", "layout", "add_member", "remove_member"] as const;
export type ProposalAction = (typeof ACTIONS)[number];

export function actionOf({ body }: Message): ProposalAction | undefined {
  const named = textField(body, "action");
  return ACTIONS.find((each) => each === named);
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
  /** Why it cannot be ratified. */
  readonly problem: string | undefined;
  /** The problem ends when our operator accepts a roster with the agents that it names. */
  readonly awaitsRoster: boolean;
  readonly chained: boolean;
  readonly timestampMs: number;
  readonly at: number;
  readonly live: boolean;
  readonly own: boolean;
  /** `body.due`. */
  readonly dueMs: number | undefined;
  readonly action: ProposalAction | undefined;
  readonly digest: string;
  /** Kept while we may have to record it. */
  content: DecisionContent | undefined;
  outcome: Outcome | undefined;
  /** No line that may still come changes the outcome. */
  settled: boolean;
  /** Acks that named what was in neither log when a beat was judged by them. Spec 3.4, *support*. */
  readonly elsewhere: Set<string>;
  /** An entry of decisions.jsonl names it: then every beat is judged, to prove or refute that. */
  named: boolean;
  /** Of our own running one, by required party: the beat from which its time runs. */
  readonly readings: Map<string, { readonly at: number }>;
  /** The line of the proposer's log up to which nothing has decided. */
  judgedTo: number;
}

/** Whether it can never be ratified. One that waits for a roster is not void. Spec 3.4, "Asking". */
export function isVoid({ problem, awaitsRoster }: Proposal): boolean {
  return problem !== undefined && !awaitsRoster;
}
