import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isJsonObject, fromPlain, toPlain, type JsonValue } from "../../wire/json/json.ts";
import { canonicalText, sha256Hex } from "../../wire/canonical.ts";
import { planRequestId, type Step } from "../plan/plan.ts";
import { PLAN_STEP } from "../../protocol/asks/requests.ts";
import { check } from "../../wire/schemas.ts";
import { quote } from "../../wire/quote.ts";

/** Steps of a message that is not read. */
const MAX_ATTEMPT = 1_000;

/** A step as its owner is asked to do it. */
export interface StepRequest {
  readonly request_id: string;
  readonly request_type: typeof PLAN_STEP;
  /** The line that the message opens with. */
  readonly state: string;
  readonly plan_id: string;
  /** SHA-256 of the plan file as it was then, in hex. */
  readonly plan_hash: string;
  readonly attempt: number;
  readonly skill: string;
  readonly step: SentStep;
}

/** Field names as in the plan. */
export interface SentStep {
  readonly id: string;
  readonly description: string;
  readonly owner: string;
  readonly deps: readonly string[];
  readonly criteria: readonly string[];
  readonly commands: readonly string[];
  readonly files: readonly string[];
  readonly risk_notes?: string;
}

export function stepRequest(planId: string, planHash: string, step: Step): StepRequest {
  const { id, attempt, skill } = step;
  return {
    request_id: planRequestId(planId, id, attempt),
    request_type: PLAN_STEP,
    state: firstCodePoints(`step ${id} of plan ${planId}`, 200),
    plan_id: planId,
    plan_hash: planHash,
    attempt,
    skill,
    step: sentStep(step),
  };
}

export function sentStep(step: Step): SentStep {
  const { id, description, owner, deps, criteria, commands, files, riskNotes } = step;
  return {
    ...{ id, description, owner, deps, criteria, commands, files },
    ...(riskNotes === undefined ? {} : { risk_notes: riskNotes }),
  };
}

export type RequestRead =
  | { readonly ok: true; readonly request: StepRequest; readonly digest: string }
  | { readonly ok: false; readonly detail: string };

/**
 * Reads what a peer asks for. `digest` is of what it asks: the same work asked for by two coordinators
 * has the same one, and the name alone, which anybody can use first, says nothing. Spec 7.5.
 */
export function readStepRequest(body: JsonValue): RequestRead {
  if (!isJsonObject(body)) return { ok: false, detail: "the body is no object" };
  const request = toPlain(body) as Partial<StepRequest>;
  const { plan_id: planId, attempt, step, request_id: id, skill } = request;
  if (typeof planId !== "string" || typeof skill !== "string") {
    return { ok: false, detail: "plan_id or skill is missing" };
  }
  if (
    typeof attempt !== "number" ||
    !Number.isInteger(attempt) ||
    attempt < 1 ||
    attempt > MAX_ATTEMPT
  ) {
    return { ok: false, detail: "attempt is no number of an attempt" };
  }
  const checked = check("agent-plan", { plan_id: planId, steps: [step] });
  if (!checked.ok) return checked;
  const sent = step as SentStep;
  if (![sent.deps, sent.criteria, sent.commands, sent.files].every(Array.isArray)) {
    return { ok: false, detail: "deps, criteria, commands and files have to be lists" };
  }
  const due = planRequestId(planId, sent.id, attempt);
  if (id !== due)
    return { ok: false, detail: `request_id is ${quote(String(id))}; expected ${due}` };
  const asked = canonicalText(fromPlain({ planId, attempt, skill, step: sent }));
  const digest = sha256Hex(Buffer.from(asked, "utf8"));
  return { ok: true, request: request as StepRequest, digest };
}
