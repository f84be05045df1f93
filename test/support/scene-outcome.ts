import type { Agent } from "../../src/daemon/agent.ts";
import type { IncidentView, SafeModeView } from "../../src/daemon/view-types.ts";

export interface Outcome {
  readonly proposals: { id: string; status: string; decidedBy: string | null }[];
  readonly ratified: { id: string; by: string }[];
  readonly recorded: string[];
  readonly incidents: unknown[];
  readonly safeMode: SafeModeView | null;
  readonly pending: unknown[];
  readonly threadCount: number;
  readonly unread: number;
}

/** What follows from the wire for one agent, in plain JSON. */
export async function outcomeOf(agent: Agent): Promise<Outcome> {
  const proposals = await agent.view("proposals", undefined);
  const decisions = await agent.view("decisions", {});
  const status = await agent.view("status", undefined);
  const pending = await agent.view("pending", undefined);
  const ids = new Set<string>();
  const threads = [];
  for (const { correlation_id: id } of await agent.view("search", { text: "", limit: 10_000 })) {
    if (ids.has(id)) continue;
    ids.add(id);
    threads.push(...(await agent.view("thread", { id })));
  }
  return {
    proposals: proposals.map(({ proposal_id: id, status: is, decided_by: decidedBy }) => ({
      id,
      status: is,
      decidedBy,
    })),
    ratified: proposals.flatMap(({ proposal_id: id, status: is, decided_by: by }) =>
      is === "ratified" && by !== null ? [{ id, by }] : [],
    ),
    recorded: [...decisions.in_force, ...decisions.superseded].map((entry) => entry.proposal_id),
    incidents: incidentsOf(await agent.view("incidents", undefined)),
    safeMode: status.safe_mode,
    pending: pending.map(({ event_id: id, owed_by: by }) => ({ id, by })),
    threadCount: threads.length,
    unread: status.unread,
  };
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
