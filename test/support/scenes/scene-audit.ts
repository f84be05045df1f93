import { expect } from "vitest";
import { runAudit, type AuditReport } from "../../../src/audit/audit.ts";
import { wirePlan } from "../../../src/audit/plan.ts";
import type { AgentConfig } from "../../../src/agent/config/agent-config.ts";
import type { Violation } from "../../../src/audit/report.ts";
import type { Disk } from "../../../src/storage/disk/disk.ts";
import { incidentsOf, requestEndsOf, type Outcome } from "./scene-outcome.ts";
import { verifyHere } from "../verify-here.ts";

/**
 * An audit of the logs alone, with an agent's pins and nothing else that is private to it, gives
 * the threads, decisions and incidents that the agent saw live, and these violations. Spec 4.4.
 */
export async function expectAuditEquals(
  live: Outcome,
  by: {
    readonly disk: Disk;
    readonly place: AgentConfig;
    readonly violations: Readonly<Record<string, number>>;
  },
): Promise<void> {
  const report = await auditOf(by.disk, by.place, undefined);
  expect(countsByRule(report.violations)).toEqual(by.violations);
  expectSameOutcome(report, live);
  expect(report.threads).toBe(live.threadCount);
}

/**
 * The same of logs with hostile lines. What an agent refused for its tiers or limits begins no
 * thread there: its journal says so.
 */
export async function expectOutcomeEquals(
  live: Outcome,
  disk: Disk,
  place: AgentConfig,
): Promise<void> {
  const report = await auditOf(disk, place, place.paths.journal);
  expectSameOutcome(report, live);
  expect(report.threads).toBe(live.threadCount);
  expectSameOutcome(await auditOf(disk, place, undefined), live);
}

function auditOf(
  disk: Disk,
  place: AgentConfig,
  journal: string | undefined,
): Promise<AuditReport> {
  const { wire, config, tiers, layout, store, handle: self } = place;
  const plan = { config, tiers, roster: layout.roster, journal, self };
  return runAudit(wirePlan(disk, wire.folder, { from: "pinned", store }, plan), verifyHere);
}

function expectSameOutcome(report: AuditReport, live: Outcome): void {
  const ratified = report.decisions.map(({ proposal_id: id, ratified_by: by }) => ({ id, by }));
  // By receipt or by timestamp: in which order they are told is no outcome.
  expect(byId(ratified)).toEqual(byId(live.ratified));
  expect(requestEndsOf(report.requests)).toEqual(live.requests);
  expect(incidentsOf(report.incidents)).toEqual(live.incidents);
}

function countsByRule(violations: readonly Violation[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rule } of violations) counts[rule] = (counts[rule] ?? 0) + 1;
  return counts;
}

function byId<T extends { readonly id: string }>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
