import type { LogsState } from "../protocol/logs/logs-state.ts";
import { ratifiedDecisions } from "../protocol/decisions/decisions-view.ts";
import type { UnsignedDecision } from "../protocol/decisions/record/decision-record.ts";
import { incidentsView, type IncidentView } from "../protocol/incidents/incident-view.ts";
import type { CoreEvent } from "../protocol/events.ts";
import type { Env } from "../protocol/env.ts";
import { requestsView, type RequestView } from "../protocol/requests/requests-view.ts";
import type { State } from "../protocol/state.ts";
import { splitThread } from "../protocol/threads/threads.ts";

/** Violations listed; beyond, only their number grows. */
const MAX_VIOLATIONS = 10_000;

export interface Violation {
  /** A reason of admission, or the name of the rule that was broken. */
  readonly rule: string;
  readonly log: string | null;
  readonly line: number | null;
  readonly event_id: string | null;
  readonly detail: string;
  /** Nothing is wrong with the line by what is pinned now: it was refused when it came. */
  readonly isOfThen?: true;
}

/** What an audit counts while it feeds events to the fold. */
export interface Tally {
  messages: number;
  readonly byType: Map<string, number>;
  readonly violations: Violation[];
  /** Violations that were not listed. */
  more: number;
}

export interface AuditView {
  messages: number;
  by_type: Record<string, number>;
  threads: number;
  decisions: Omit<UnsignedDecision, "recorded_by">[];
  /** With an answer, to each addressee. Spec 3.8. */
  requests: RequestView[];
  incidents: IncidentView[];
  violations: Violation[];
}

export function newTally(): Tally {
  return { messages: 0, byType: new Map(), violations: [], more: 0 };
}

/** Counts an event: refused lines are violations; blank ones and duplicates are not. Spec 4.4. */
export function tally(count: Tally, event: CoreEvent): void {
  if (event.kind === "refused") {
    const { reason, log, line } = event;
    addViolation(count, { rule: reason, log, line, event_id: null, detail: "refused" });
  }
  if (event.kind !== "line") return;
  const { message, refused, log, line } = event;
  count.messages += 1;
  count.byType.set(message.type, (count.byType.get(message.type) ?? 0) + 1);
  if (refused === undefined) return;
  const detail = `${message.from} signed it, and it is refused`;
  addViolation(count, { rule: refused, log, line, event_id: message.id, detail });
}

export function addViolation(count: Tally, violation: Violation): void {
  if (count.violations.length < MAX_VIOLATIONS) count.violations.push(violation);
  else count.more += 1;
}

/** What follows from logs alone, once all events were tallied and folded. */
export function auditView(state: State, env: Env, count: Tally): AuditView {
  const violations = [
    ...count.violations,
    ...headViolations(state.logs),
    ...entryViolations(state),
  ];
  if (count.more > 0) {
    const detail = `${count.more} more violations are not listed`;
    violations.push({ rule: "more", log: null, line: null, event_id: null, detail });
  }
  const threads = [...state.threads.threads.values()].map((thread) => splitThread(thread).length);
  return {
    messages: count.messages,
    by_type: Object.fromEntries([...count.byType].sort(([a], [b]) => (a < b ? -1 : 1))),
    threads: threads.reduce((sum, parts) => sum + parts, state.threads.dropped),
    decisions: ratifiedDecisions(state.proposals),
    requests: requestsView(state.requests, state.logs, env),
    incidents: incidentsView(state.incidents, env, state.logs),
    violations,
  };
}

/** Beats whose heads name an event id that is not at that place. */
function headViolations(logs: LogsState): Violation[] {
  return [...logs].flatMap(([log, { mismatches }]) =>
    mismatches.map(({ beat, target, lines }) => ({
      rule: "head_mismatch",
      log,
      line: beat,
      event_id: null,
      detail: `its heads name another event as the last of ${lines} lines of ${target}`,
    })),
  );
}

/** Entries of decisions.jsonl that pinned agents signed without proof, and decisions recorded twice. */
function entryViolations(state: State): Violation[] {
  const violations: Violation[] = [];
  const recorded = new Set<string>();
  for (const { id, record, verdict } of state.decisions.entries.all.values()) {
    const base = { log: null, line: null, event_id: id };
    if (verdict.is === "unproved" && verdict.signed) {
      violations.push({ ...base, rule: "decision_unproved", detail: verdict.detail });
    }
    if (verdict.is !== "proved" || record.proposal_id === undefined) continue;
    if (recorded.has(record.proposal_id)) {
      const detail = `proposal ${record.proposal_id} is recorded twice; readers count one`;
      violations.push({ ...base, rule: "decision_twice", detail });
    }
    recorded.add(record.proposal_id);
  }
  return violations;
}
