import { raise } from "../support/scenes/incident-scene.ts";
import { expect, test } from "vitest";
import { ack, MINUTE, propose, SECOND } from "../support/scripts/proposal-scene.ts";
import { commandIn } from "../support/scenes/scene-cli.ts";
import { checkedScenes } from "../support/scenes/scene-checks.ts";

const sceneOf = checkedScenes("replay and audit");

test("stats counts what was agreed to, recorded, rejected and acked, and the size of each file", async () => {
  const wire = sceneOf(["forge", "scribe"]);
  await wire.start();
  const stats = (handle = "forge") => wire.agent(handle).view("stats", undefined);
  expect(await stats()).toMatchObject({ days: 1, decisions: 0, proposal_ack_pairs: 0 });

  const agreed = await propose(wire, "forge", ["scribe"], "Use tabs");
  const refused = await propose(wire, "scribe", ["forge"], "Use spaces");
  await wire.pass(5 * SECOND);
  await ack(wire, "scribe", agreed);
  await ack(wire, "forge", refused, { approve: false, reason: "no" });
  await wire.pass(MINUTE);
  expect(wire.lines("decisions.jsonl")).toHaveLength(1);
  const counted = { proposal_ack_pairs: 1, decisions: 1, disagreements: 1 };
  for (const handle of ["forge", "scribe"]) expect(await stats(handle)).toMatchObject(counted);
  await wire.stop("forge");
  await wire.start("forge");
  expect(await stats()).toMatchObject(counted);

  const incident = await raise(wire, "scribe", "forge");
  await commandIn(wire, "forge", "incident", "ack", incident);
  await wire.pass(MINUTE);
  const size = (name: string) => Buffer.byteLength(wire.read(name));
  const { growth, ...after } = await stats();
  expect(after).toMatchObject({ ...counted, incidents: 1, incidents_acked_in_time: 1 });
  expect(after.heartbeat_share).toBeCloseTo((after.by_type["heartbeat"] ?? 0) / after.messages);

  expect(growth.map(({ what, bytes, files }) => [what, bytes, files])).toEqual([
    [
      "logs",
      ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"].reduce((sum, name) => sum + size(name), 0),
      2,
    ],
    // It lies on a real disk.
    ["store", 0, 0],
    ["decisions", size("decisions.jsonl"), 1],
    ["incidents", size("incident_log.jsonl"), 1],
    ["inbox", size(wire.paths("forge").inbox), 1],
  ]);
});
