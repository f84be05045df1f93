import { sha256Hex } from "../../wire/canonical.ts";

/** What a step can be. Spec 7.3. */
export const STATUSES = ["pending", "in_progress", "complete", "blocked"] as const;
export type Status = (typeof STATUSES)[number];

/** One step, as it was read from a plan. */
export interface Step {
  readonly id: string;
  /** Its place in the document. */
  readonly index: number;
  readonly description: string;
  readonly owner: string;
  readonly status: Status;
  readonly deps: readonly string[];
  readonly parallel: boolean;
  /** For the one who works and the one who verifies. */
  readonly criteria: readonly string[];
  readonly commands: readonly string[];
  readonly files: readonly string[];
  readonly riskNotes: string | undefined;
  /** Which skill to use. */
  readonly skill: string;
  /** Counts from 1: a step that is done again has another one. */
  readonly attempt: number;
}

/** A plan without its document. */
export interface Plan {
  /** Undefined: its author has given it none. */
  readonly id: string | undefined;
  readonly task: string | undefined;
  /** Handles of the agents that have run it, the first one first: whose requests are the plan's. */
  readonly coordinators: readonly string[];
  readonly steps: readonly Step[];
}

export function stepNamed({ steps }: Plan, id: string): Step | undefined {
  return steps.find((step) => step.id === id);
}

/** The first row of a description, whatever line ends it has. */
export function titleOf({ description }: Pick<Step, "description">): string {
  return description.trim().split(/[\r\n]/u, 1)[0] ?? "";
}

export function isStatus(text: string): text is Status {
  return (STATUSES as readonly string[]).includes(text);
}

/** Hex digits of the name of a request. */
const REQUEST_ID_DIGITS = 16;

/**
 * The name of the request for one attempt at a step, the same for all coordinators: the first 16 hex
 * digits of the SHA-256 of plan id, step id and attempt (in decimal), in UTF-8, with one NUL byte
 * between them. No id holds a NUL. Spec 7.5.
 */
export function planRequestId(planId: string, stepId: string, attempt: number): string {
  const text = [planId, stepId, String(attempt)].join("\0");
  return sha256Hex(Buffer.from(text, "utf8")).slice(0, REQUEST_ID_DIGITS);
}
