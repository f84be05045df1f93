import type { Agent } from "../../../src/agent/agent.ts";
import { DeaddropError } from "../../../src/api/errors.ts";
import type {
  IncidentView,
  RequestView,
  SafeModeView,
  ThreadView,
} from "../../../src/api/views.ts";

export interface Outcome {
  readonly proposals: { id: string; status: string; decidedBy: string | null }[];
  readonly ratified: { id: string; by: string }[];
  readonly recorded: string[];
  readonly requests: RequestEnd[];
  /** Who claims what: the view of this agent, at this time. */
  readonly claims: unknown[];
  readonly incidents: unknown[];
  readonly safeMode: SafeModeView | null;
  readonly pending: unknown[];
  readonly threadCount: number;
  readonly unread: number;
}

/** What became of one request to one agent. */
export type RequestEnd = Pick<RequestView, "event_id" | "target" | "status" | "decided_by">;

/** What follows from the wire for one agent, in plain JSON. */
export async function outcomeOf(agent: Agent): Promise<Outcome> {
  return { ...(await standingOf(agent)), threadCount: await threadCountOf(agent) };
}

/** The same without its threads, each of which costs a query. */
async function standingOf(agent: Agent): Promise<Omit<Outcome, "threadCount">> {
  const proposals = await agent.view("proposals", undefined);
  const decisions = await agent.view("decisions", undefined);
  const status = await agent.view("status", undefined);
  const pending = await agent.view("pending", undefined);
  return {
    proposals: proposals.map(({ proposal_id: id, status: is, decided_by: decidedBy }) => ({
      id,
      status: is,
      decidedBy,
    })),
    ratified: proposals.flatMap(({ proposal_id: id, status: is, decided_by: by }) =>
      is === "ratified" && by !== null ? [{ id, by }] : [],
    ),
    recorded: [...decisions.in_force, ...decisions.superseded].map(({ proposal }) => proposal[2]),
    requests: requestEndsOf(await agent.view("requests", {})),
    claims: await claimsOf(agent),
    incidents: incidentsOf(await agent.view("incidents", undefined)),
    safeMode: status.safe_mode,
    pending: pending.map(({ event_id: id, owed_by: by }) => ({ id, by })),
    unread: status.unread,
  };
}

async function claimsOf(agent: Agent): Promise<unknown[]> {
  const claims = await agent.view("claims", undefined);
  const told = claims.map(({ event_id, status, against, owners, until }) => ({
    ...{ event_id, status, owners, until },
    against: against.map(({ event_id: id }) => id).toSorted(),
  }));
  return told.toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
}

/** In an order that does not depend on who was heard first. */
export function requestEndsOf(requests: readonly RequestView[]): RequestEnd[] {
  const ends = requests.map(({ event_id, target, status, decided_by }) => ({
    ...{ event_id, target, status, decided_by },
  }));
  const keyOf = ({ event_id, target }: RequestEnd): string => `${event_id} ${target}`;
  return ends.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

async function threadCountOf(agent: Agent): Promise<number> {
  const { messages: found } = await agent.view("search", { text: "", limit: 10_000 });
  return threadsOf(
    agent,
    found.map(({ correlation_id: id }) => id),
  );
}

/** How many threads have one of these correlation ids; also those that begin with a refused line. */
async function threadsOf(agent: Agent, ids: readonly string[]): Promise<number> {
  let count = 0;
  for (const id of new Set(ids)) {
    const named = await threadsNamed(agent, id);
    count += named.filter(({ correlation_id: of }) => of === id).length;
  }
  return count;
}

/** A line that is refused may begin no thread: then there is none of that name. */
async function threadsNamed(agent: Agent, id: string): Promise<ThreadView[]> {
  try {
    return await agent.view("thread", { id });
  } catch (error) {
    if (error instanceof DeaddropError) return [];
    throw error;
  }
}

/** What does not depend on who looks or when, nor on who was heard first: due times are by the looker's own clock. */
export function incidentsOf(incidents: readonly IncidentView[]): unknown[] {
  const inOrder = incidents.toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
  return inOrder.map(({ event_id, status, severity, addressees }) => ({
    event_id,
    status,
    severity,
    addressees: addressees.map(({ handle, acked, escalated }) => ({ handle, acked, escalated })),
  }));
}
