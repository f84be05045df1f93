import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { HeldMessage, RequestView } from "../../api/views.ts";
import { PLAN_STEP } from "../../protocol/asks/requests.ts";
import { cutSubject } from "../../verbs/naming/parent.ts";
import { sendPrepared } from "../../verbs/say.ts";
import { canonicalText, sha256Hex } from "../../wire/canonical.ts";
import type { Draft } from "../../wire/compose.ts";
import { firstCodePoints } from "../../wire/json/code-points.ts";
import { isRecord } from "../../wire/json/json-value.ts";
import { fromPlain } from "../../wire/json/json.ts";
import type { PlaceJson } from "../../wire/places.ts";
import type { Dispatch, WireReport } from "../coordinator/decide.ts";
import { readStepRequest, type StepRequest } from "../coordinator/step-request.ts";
import { titleOf, planRequestId, type Plan } from "../plan/plan.ts";
import { readReport, type Report } from "../report/report.ts";

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
      ...{ answers: place, request_id: requestId, request_type: PLAN_STEP, approve, reason },
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
  const state = firstCodePoints(
    `step ${report.step_id}: ${report.outcome}`.replace(/\s+/gu, " "),
    200,
  );
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

/** Reports of the agent that was asked; more of them change nothing. */
const MAX_REPORTS_READ = 32;
/** Reports of others in the same thread: they count for nothing, and some are named. */
const MAX_OTHER_REPORTS_READ = 8;

/**
 * What the wire says of the attempts that a plan is at: only requests by agents that have run the plan
 * count, so nobody else makes a step look as if it had been sent. `turn`: what came after a step was
 * complete is only told of, so each time one of those steps is looked at; "all": all of them. Spec 7.5.
 */
export async function readDispatches(
  client: Client,
  plan: Plan & { readonly id: string },
  turn: number | "all",
): Promise<ReadonlyMap<string, Dispatch>> {
  const asked = await client.view("requests");
  const byName = new Map<string, RequestView>();
  for (const request of asked) {
    const isOurs = request.from === client.handle || plan.coordinators.includes(request.from);
    if (request.request_type !== PLAN_STEP || !isOurs || request.status === "void") continue;
    const name = request.request_id.toLowerCase();
    // The first one is the one that its owner works at.
    if (!byName.has(name)) byName.set(name, request);
  }
  const done = plan.steps.filter(({ status }) => status === "complete");
  const looked = turn === "all" ? undefined : done[turn % done.length];
  const found = new Map<string, Dispatch>();
  for (const step of plan.steps) {
    const request = byName.get(planRequestId(plan.id, step.id, step.attempt));
    const isRead = step.status !== "complete" || turn === "all" || step === looked;
    if (request !== undefined) found.set(step.id, await dispatchOf(client, request, isRead));
  }
  return found;
}

async function dispatchOf(
  client: Client,
  request: RequestView,
  isRead: boolean,
): Promise<Dispatch> {
  const { target, reason } = request;
  const messages = isRead ? await threadOf(client, request.event_id) : [];
  const reports = messages.filter(isReport);
  const fromTarget = reports.filter(({ from }) => from === target);
  const fromOthers = reports.filter(({ from }) => from !== target);
  return {
    ...{ target, reason },
    answer: answerOf(request),
    askedAtMs: Date.parse(request.asked_at),
    reports: [
      ...fromTarget.slice(0, MAX_REPORTS_READ),
      ...fromOthers.slice(0, MAX_OTHER_REPORTS_READ),
    ].map(reportOf),
  };
}

/** An answer that is held counts for the plan also before its asker has closed the request. */
function answerOf({ status, answer }: RequestView): Dispatch["answer"] {
  switch (status) {
    case "approved":
      return "accepted";
    case "rejected":
      return "refused";
    case "pending":
      if (answer === null) return "none";
      return answer.approve ? "accepted" : "refused";
    default:
      return "ended";
  }
}

/** The messages of the thread that a message is in. */
export async function threadOf(
  client: Pick<Client, "view">,
  eventId: string,
): Promise<readonly HeldMessage[]> {
  try {
    const threads = await client.view("thread", { id: eventId, by: "event_id" });
    return threads.flatMap(({ messages }) => messages);
  } catch (error) {
    if (error instanceof DeaddropError && error.code === "unknown_id") return [];
    throw error;
  }
}

/** Its author is at least VERIFIED here. */
export function isBelieved({ _meta: { tier } }: HeldMessage): boolean {
  return tier !== null && tier !== "UNTRUSTED";
}

/** A report comes as a `ship` that its reader believes. */
export function isReport(message: HeldMessage): boolean {
  return message.type === "ship" && isBelieved(message) && message._meta.refused === null;
}

export function reportOf({ from, body, _meta: meta }: HeldMessage): WireReport {
  return { eventId: meta.id, from, read: readReport(isRecord(body) ? body["report"] : undefined) };
}

/** A request for a step, to our agent, that may still be worked at. Spec 7.5. */
export function isStepForUs(client: Client, request: RequestView): boolean {
  const { request_type: type, target, from, refused, status } = request;
  const isOurs = type === PLAN_STEP && target === client.handle && from !== client.handle;
  return isOurs && refused === null && (status === "pending" || status === "approved");
}

export function askedStep(view: RequestView): AskedStep {
  const { event_id: eventId, from, place, subject } = view;
  const { correlation_id: thread, request_id: requestId } = view;
  return { place, eventId, from, thread, requestId, subject };
}

/** A step that somebody has asked our agent to do, and that has no report yet. */
export interface OpenStep {
  readonly asked: AskedStep;
  readonly request: StepRequest;
  /** Our agent has taken it. */
  readonly isTaken: boolean;
}

/** The newest requests that are looked at; a worker that does steps has answered the others long ago. */
const MAX_LOOKED_AT = 256;

/** The steps that wait for our agent, the oldest first. */
export async function openSteps(client: Client): Promise<OpenStep[]> {
  const open: OpenStep[] = [];
  const all = await client.view("requests");
  const ours = all.filter((each) => isStepForUs(client, each) && each.answer?.approve !== false);
  for (const view of ours.slice(-MAX_LOOKED_AT)) {
    const messages = await threadOf(client, view.event_id);
    const message = messages.find(({ _meta: meta }) => meta.id === view.event_id);
    if (message === undefined || !isBelieved(message)) continue;
    if (messages.some((each) => isReport(each) && each.from === client.handle)) continue;
    const read = readStepRequest(fromPlain(message.body));
    if (!read.ok) continue;
    open.push({ asked: askedStep(view), request: read.request, isTaken: view.answer !== null });
  }
  return open;
}
