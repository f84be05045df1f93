import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openAgent, type Agent } from "../../../src/agent/agent.ts";
import { silentLogger } from "../../../src/agent/session/world.ts";
import { placesOf } from "../../../src/cli/context.ts";
import { realWorld } from "../../../src/client/direct-client.ts";
import { archiveFile } from "../../../src/storage/archive/archive-file.ts";
import { compressSegments } from "../../../src/storage/archive/compress.ts";
import type { Disk } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { makeWire, removeWires } from "../../support/processes/live-wire.ts";

const NAME = "scribe_to_forge";
const SECOND_MS = 1_000;

afterEach(removeWires);

/** Has that happen once, right after the file is opened. */
function afterOpening(disk: Disk, path: string, work: () => void): void {
  const open = disk.open.bind(disk);
  disk.open = (name, how, mode) => {
    const file = open(name, how, mode);
    if (name === path) {
      disk.open = open;
      work();
    }
    return file;
  };
}

test("a log that is archived and compressed while a peer opens it is counted once by its heads", async () => {
  const wire = makeWire({ cadenceSeconds: 1 });
  const [disk, other] = [nodeDisk({ wireDir: wire.dir }), nodeDisk({ wireDir: wire.dir })];
  const path = join(wire.dir, `${NAME}.jsonl`);
  let nowMs = Date.now();
  const clock = {
    wallMs: () => nowMs,
    micros: () => 0,
    monoMs: () => nowMs,
    nextTurn: () => Promise.resolve(),
  };
  const world = { ...realWorld(placesOf(wire.env), wire.dir, silentLogger), clock };
  const forge = openAgent({ ...world, disk }, { wireDir: wire.dir, handle: "forge" });
  const scribe = openAgent(world, { wireDir: wire.dir, handle: "scribe" });
  const settle = async (agent: Agent): Promise<void> => {
    while (await agent.tick());
  };
  const say = async (agent: Agent, to: string, draft: object) => {
    const message = { to: [to], type: "feedback", subject: "a line", body: "", ...draft };
    const [answer] = await agent.send([[message]]);
    if (answer?.outcome !== "sent") throw new Error("it was not sent");
    return answer.messages[0];
  };
  try {
    for (const agent of [scribe, forge]) await agent.lockIdentity(0);
    for (let at = 0; at < 20; at += 1) await say(scribe, "forge", {});
    const body = { decision: "go on", required: ["scribe"] };
    const proposal = await say(forge, "scribe", { type: "proposal", body, ackRequired: true });
    for (const agent of [scribe, forge]) await settle(agent);
    const acks = { acks: proposal?.event_id ?? "" };
    const thread = { correlationId: proposal?.correlation_id ?? "" };
    await say(scribe, "forge", { type: "ack", body: acks, ...thread });
    await scribe.sync();

    afterOpening(disk, path, () => {
      const archive = join(wire.dir, "archive");
      const { outcome } = archiveFile(other, archive, { name: NAME, path }, 2_099);
      expect([outcome, [...compressSegments(other, archive, NAME)].length]).toEqual([
        "archived",
        1,
      ]);
    });
    // Forge reads the ack, and its heartbeat is due in the same round.
    nowMs += 2 * SECOND_MS;
    await settle(forge);
    await settle(scribe);
    for (const agent of [forge, scribe]) {
      const [seen] = await agent.view("proposals", undefined);
      expect([agent.place.handle, seen?.status, seen?.waits_for]).toEqual([
        agent.place.handle,
        "ratified",
        null,
      ]);
    }
    const noted = wire.privateLines("forge", "journal").map(({ verdict }) => verdict);
    expect(noted).not.toContain("duplicate");
  } finally {
    for (const agent of [forge, scribe]) agent.close();
  }
});
