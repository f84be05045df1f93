import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { HeldMessage, RequestView } from "../../api/views.ts";
import type { Dispatch, WireReport } from "../coordinator/facts.ts";
import { PLAN_STEP } from "../../protocol/asks/requests.ts";
import type { Plan } from "../plan/plan.ts";
import { planRequestId } from "../plan/request-id.ts";
import { readReport } from "../report/parse-report.ts";

/** Reports of the agent that was asked; more of them change nothing. */
const MAX_REPORTS_READ = 32;
/** Reports of others in the same thread: they count for nothing, and some are named. */
const MAX_OTHER_REPORTS_READ = 8;

/**
 * What the wire says of the attempts that a plan is at: only requests by agents that have run the plan
 * count, so nobody else makes a step look as if it had been sent. `turn`: what came after a step was
 * complete is only told of, so each time one of those steps is looked at; "all": all of them. Spec 7.5.
 */
export async function wireFacts(
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
  const { event_id: eventId, from, target, reason, asked_at: askedAt } = request;
  const messages = isRead ? await threadOf(client, eventId) : [];
  const reports = messages.filter(isReport);
  const fromTarget = reports.filter(({ from: author }) => author === target);
  const fromOthers = reports.filter(({ from: author }) => author !== target);
  return {
    ...{ eventId, asker: from, target, reason },
    answer: answerOf(request),
    askedAtMs: Date.parse(askedAt),
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

/** A report comes as a `ship` that its reader believes. */
export function isReport({ type, _meta: meta }: HeldMessage): boolean {
  const isBelieved = meta.tier !== null && meta.tier !== "UNTRUSTED";
  return type === "ship" && isBelieved && meta.refused === null;
}

export function reportOf({ from, body, _meta: meta }: HeldMessage): WireReport {
  const isObject = typeof body === "object" && body !== null;
  const report = isObject ? (body as Readonly<Record<string, unknown>>)["report"] : undefined;
  return { eventId: meta.id, from, read: readReport(report) };
}
