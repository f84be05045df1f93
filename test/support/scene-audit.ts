import { expect } from "vitest";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import type { Place } from "../../src/daemon/place.ts";
import type { Violation } from "../../src/protocol/audit.ts";
import type { Disk } from "../../src/storage/disk.ts";
import { incidentsOf, type Outcome } from "./scene-outcome.ts";

/**
 * An audit of the logs alone, with an agent's pins and nothing else that is private to it, gives
 * the threads, decisions and incidents that the agent saw live, and these violations. Spec 4.4.
 */
export function expectAuditEquals(
  live: Outcome,
  by: {
    readonly disk: Disk;
    readonly place: Place;
    readonly violations: Readonly<Record<string, number>>;
  },
): void {
  const { wire, config, tiers, layout, store } = by.place;
  const plan = { config, tiers, roster: layout.roster, journal: undefined };
  const report = runAudit(wirePlan(by.disk, wire.folder, { from: "pinned", store }, plan));
  expect(countsByRule(report.violations)).toEqual(by.violations);
  const ratified = report.decisions.map(({ proposal_id: id, ratified_by: by }) => ({ id, by }));
  // By receipt or by timestamp: in which order they are told is no outcome.
  expect(byId(ratified)).toEqual(byId(live.ratified));
  expect(incidentsOf(report.incidents)).toEqual(live.incidents);
  expect(report.threads).toBe(live.threadCount);
}

function countsByRule(violations: readonly Violation[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rule } of violations) counts[rule] = (counts[rule] ?? 0) + 1;
  return counts;
}

function byId<T extends { readonly id: string }>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
