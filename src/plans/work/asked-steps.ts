import type { Client } from "../../api/client.ts";
import type { HeldMessage, RequestView } from "../../api/views.ts";
import { PLAN_STEP } from "../../protocol/asks/requests.ts";
import { fromPlain } from "../../wire/json/json.ts";
import { readStepRequest, type StepRequest } from "../coordinator/step-request.ts";
import type { AskedStep } from "../run/send-step.ts";
import { isReport, threadOf } from "../run/wire-facts.ts";

/** A step that somebody has asked our agent to do, and that has no report yet. */
export interface OpenStep {
  readonly asked: AskedStep;
  readonly request: StepRequest;
  /** Our agent has taken it. */
  readonly isTaken: boolean;
}

/** The newest requests that are looked at; a worker that does steps has answered the others long ago. */
const MAX_LOOKED_AT = 256;

/** A request for a step, to our agent, that may still be worked at. Spec 7.5. */
export function isStepForUs(client: Client, request: RequestView): boolean {
  const { request_type: type, target, from, refused, status } = request;
  const isOurs = type === PLAN_STEP && target === client.handle && from !== client.handle;
  return isOurs && refused === null && (status === "pending" || status === "approved");
}

/** The steps that wait for our agent, the oldest first. */
export async function openSteps(client: Client): Promise<OpenStep[]> {
  const open: OpenStep[] = [];
  const all = await client.view("requests");
  const ours = all.filter((each) => isStepForUs(client, each) && each.answer?.approve !== false);
  for (const view of ours.slice(-MAX_LOOKED_AT)) {
    const { event_id: eventId, from, place, correlation_id: thread, request_id: requestId } = view;
    const messages = await threadOf(client, eventId);
    const message = messages.find(({ _meta: meta }) => meta.id === eventId);
    if (message === undefined || !isBelieved(message)) continue;
    if (messages.some((each) => isReport(each) && each.from === client.handle)) continue;
    const read = readStepRequest(fromPlain(message.body));
    if (!read.ok) continue;
    const asked = { place, eventId, from, thread, requestId, subject: view.subject };
    open.push({ asked, request: read.request, isTaken: view.answer !== null });
  }
  return open;
}

/** Its author is at least VERIFIED here. */
export function isBelieved({ _meta: { tier } }: HeldMessage): boolean {
  return tier !== null && tier !== "UNTRUSTED";
}
