import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { parseConfig } from "../../src/trust/policy/config.ts";
import { DEFAULT_HEARTBEAT_TIERS } from "../../src/trust/policy/heartbeat-tiers.ts";
import { parseTrustStore } from "../../src/trust/trust-file.ts";
import { verifyHere } from "../support/verify-here.ts";

/** Wires as small as can be, signed by an implementation that is not ours. */
async function decisionsOf(name: string) {
  const dir = join(import.meta.dirname, "..", "data", "wires", name);
  const config = parseConfig(readFileSync(join(dir, "config.json")));
  const trust = parseTrustStore(readFileSync(join(dir, "trust.json")), 0);
  if (!config.ok || !trust.ok) throw new Error(`${name} is damaged`);
  const keys = { from: "given" as const, store: trust.store };
  const report = await runAudit(
    wirePlan(nodeDisk(), dir, keys, {
      config: config.config,
      tiers: DEFAULT_HEARTBEAT_TIERS,
      roster: config.config.roster,
      journal: undefined,
    }),
    verifyHere,
  );
  expect(report.violations).toEqual([]);
  return report.decisions.map(({ decision_id: id, ratified_by: by }) => [id, by.slice(0, 8)]);
}

test.each([
  [
    "an ack of a third agent's ship takes no support away",
    "third-party-ship-acked",
    "eddfa677",
    "419f1da9",
  ],
  [
    "an ack of what is in another thread withdraws nothing",
    "own-ack-names-other-thread",
    "a13c5da0",
    "23cf007b",
  ],
  [
    "of a chained and an unchained proposal that cross one is ratified",
    "mixed-crossing-0",
    "ce99f8c4",
    "567b4558",
  ],
])("%s", async (_name, wire, proposal, by) => {
  expect(await decisionsOf(wire)).toEqual([[`proposal-0-${proposal}`, by]]);
});
