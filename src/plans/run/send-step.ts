import type { Client } from "../../api/client.ts";
import { PLAN_STEP } from "../../protocol/asks/requests.ts";
import { sendPrepared } from "../../sending/say-once.ts";
import { cutSubject } from "../../sending/naming/parent.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { canonicalText, sha256Hex } from "../../wire/canonical.ts";
import type { Draft } from "../../wire/compose.ts";
import { fromPlain } from "../../wire/json/json.ts";
import type { PlaceJson } from "../../wire/places.ts";
import { titleOf } from "../plan/plan.ts";
import type { StepRequest } from "../coordinator/step-request.ts";
import type { Report } from "../report/report.ts";

/**
 * Sends the request for a step. A call that was carried out before sends nothing: the key is the name of
 * the request alone. Spec 7.5, 8.1. Throws DeaddropError when nothing was sent.
 */
export function sendStep(client: Client, to: string, request: StepRequest): Promise<unknown> {
  const { step, plan_id: planId } = request;
  const draft: Draft = {
    to: [to],
    type: "request",
    subject: cutSubject(`step ${step.id} of ${planId}: ${titleOf(step)}`),
    body: fromPlain(request),
  };
  return sendOnce(client, draft, `plan-step:${request.request_id}`);
}

/** Answers the request for a step, once. Spec 3.8. */
export function answerStep(
  client: Client,
  asked: AskedStep,
  approve: boolean,
  reason?: string,
): Promise<unknown> {
  const { place, eventId, from, thread, requestId, subject } = asked;
  const draft: Draft = {
    to: [from],
    type: "ack",
    subject: cutSubject(`${approve ? "accepted" : "rejected"}: ${subject}`),
    body: fromPlain({
      answers: place,
      request_id: requestId,
      request_type: PLAN_STEP,
      approve,
      reason,
    }),
    correlationId: thread,
  };
  return sendOnce(client, draft, `plan-answer:${eventId}`);
}

/** A request for a step, as its answer needs it. */
export interface AskedStep {
  /** What the answer names. */
  readonly place: PlaceJson;
  readonly eventId: string;
  readonly from: string;
  readonly thread: string;
  readonly requestId: string;
  readonly subject: string;
}

/** Ships the report on a step, once. Spec 7.5. */
export function shipReport(client: Client, asked: AskedStep, report: Report): Promise<unknown> {
  return sendOnce(client, reportDraft(asked, report), `plan-report:${asked.eventId}`);
}

/** The report on a step, as a message. */
export function reportDraft(asked: AskedStep, report: Report): Draft {
  const body = fromPlain(report);
  const digest = sha256Hex(Buffer.from(canonicalText(body), "utf8"));
  const state = cutState(`step ${report.step_id}: ${report.outcome}`);
  return {
    to: [asked.from],
    type: "ship",
    subject: cutSubject(`report: ${asked.subject}`),
    body: fromPlain({ state, request_id: asked.requestId, report, manifest_digest: digest }),
    correlationId: asked.thread,
  };
}

/** Sends once: a second call with this key sends nothing, also with other words. Spec 8.1. */
export function sendOnce(client: Client, draft: Draft, name: string): Promise<unknown> {
  return sendPrepared(client, { draft }, { name, digest: sha256Hex(Buffer.from(name, "utf8")) });
}

function cutState(text: string): string {
  return firstCodePoints(text.replace(/\s+/gu, " "), 200);
}
