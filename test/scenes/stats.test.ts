import { join } from "node:path";
import { raise } from "../support/scenes/incident-scene.ts";
import { expect, test } from "vitest";
import { ack, MINUTE, propose, SECOND } from "../support/scripts/proposal-scene.ts";
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
  await ack(wire, "forge", incident);
  await wire.pass(MINUTE);
  const { growth, ...after } = await stats();
  expect(after).toMatchObject({ ...counted, incidents: 1, incidents_acked_in_time: 1 });
  expect(after.heartbeat_share).toBeCloseTo((after.by_type["heartbeat"] ?? 0) / after.messages);

  const size = (path: string) => wire.disk.process().stat(path)?.size ?? 0;
  const logs = ["forge_to_scribe.jsonl", "scribe_to_forge.jsonl"];
  const { journal, inbox, lineIndex, shownRows } = wire.paths("forge");
  const shown = wire.disk.process().list(shownRows);
  const indexed = [lineIndex, ...shown.map((name) => join(shownRows, name))];
  expect(growth?.map(({ what, bytes, files }) => [what, bytes, files])).toEqual([
    ["logs", logs.reduce((sum, name) => sum + Buffer.byteLength(wire.read(name)), 0), 2],
    ["journal", size(journal), 1],
    ["decisions", Buffer.byteLength(wire.read("decisions.jsonl")), 1],
    ["incidents", Buffer.byteLength(wire.read("incident_log.jsonl")), 1],
    ["inbox", size(inbox), 1],
    ["index", indexed.reduce((sum, path) => sum + size(path), 0), indexed.length],
    ["quarantine", 0, expect.any(Number)],
    ["evidence", 0, 0],
  ]);
});
