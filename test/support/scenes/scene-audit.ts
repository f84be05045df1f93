import { expect } from "vitest";
import { coreOfCarriers, recordedLines } from "../../../src/agent/audit.ts";
import { auditReport, type Violation } from "../../../src/agent/answers/audit.ts";
import type { AgentConfig } from "../../../src/agent/config/agent-config.ts";
import { PrivateTrust } from "../../../src/agent/config/private-trust.ts";
import { corePlace } from "../../../src/agent/session/session.ts";
import type { World } from "../../../src/agent/session/world.ts";
import { FolderTransport, makeWireLayout } from "../../../src/carriers/folder.ts";
import { incidentsOf, requestEndsOf, type Outcome } from "./scene-outcome.ts";

/**
 * An audit of the carriers alone, with an agent's pins and nothing else that is private to it, gives the decisions
 * and requests that the agent saw live, and these violations. Spec 4.10.
 */
export async function expectAuditEquals(
  live: Outcome,
  by: {
    readonly world: World;
    readonly place: AgentConfig;
    readonly violations: Readonly<Record<string, number>>;
  },
): Promise<void> {
  const { world, place: config, violations } = by;
  const { disk, clock, verifyAll, random } = world;
  const trust = new PrivateTrust(disk, config.paths);
  const members = config.pinned.roster;
  const layout = makeWireLayout({
    handle: config.handle,
    handles: [...members.keys()],
    members,
  });
  const folder = new FolderTransport({
    ...{ disk, wireDir: config.wire.folder, mode: 0o600, layout: () => layout },
    ours: {
      handle: config.handle,
      chain: () => ({ last: 0, extras: () => [], after: () => [] }),
      beforeAppend: () => undefined,
    },
    world: { clock, after: () => () => undefined, watch: () => () => undefined },
  });
  const { core, skipped } = await coreOfCarriers(
    { disk, clock, verifyAll, random },
    corePlace(config, trust),
    [folder],
  );
  try {
    const record = recordedLines(disk, config.wire.folder);
    const report = auditReport(core, {
      ...{ keys: "pinned", record, unowned: folder.unowned, skipped },
    });
    expect(countsByRule(report.violations)).toEqual(violations);
    const ratified = report.decisions.map(({ decision_id: id, acked_by }) => ({ id, acked_by }));
    expect(ratified.length).toBe(live.ratified.length);
    expect(requestEndsOf(report.requests)).toEqual(live.requests);
    expect(incidentsOf(report.incidents).length).toBe(live.incidents.length);
  } finally {
    core.close();
  }
}

function countsByRule(violations: readonly Violation[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rule } of violations) counts[rule] = (counts[rule] ?? 0) + 1;
  return counts;
}
