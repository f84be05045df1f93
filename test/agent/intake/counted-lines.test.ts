import { appendFileSync, readFileSync, truncateSync } from "node:fs";
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

const opened: Agent[] = [];

afterEach(async () => {
  for (const agent of opened.splice(0)) agent.close();
  await removeWires();
});

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

/** Two agents on one disk, with a clock that the test moves; `disk` is the one that forge uses. */
async function pair() {
  const wire = makeWire({ cadenceSeconds: 1 });
  const disk = nodeDisk({ wireDir: wire.dir });
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
  opened.push(forge, scribe);
  for (const agent of [scribe, forge]) await agent.lockIdentity(0);
  return {
    wire,
    disk,
    forge,
    scribe,
    path: join(wire.dir, `${NAME}.jsonl`),
    /** A heartbeat of each is due then. */
    later: () => {
      nowMs += 2 * SECOND_MS;
    },
  };
}

async function settle(...agents: readonly Agent[]): Promise<void> {
  for (const agent of agents) while (await agent.tick());
}

async function say(agent: Agent, to: string, draft: object) {
  const message = { to: [to], type: "feedback", subject: "a line", body: "", ...draft };
  const [answer] = await agent.send([[message]]);
  if (answer?.outcome !== "sent") throw new Error("it was not sent");
  return answer.messages[0];
}

const unreadOf = async (agent: Agent): Promise<string[]> => {
  const { messages } = await agent.view("inbox_page", { unread: true });
  return messages.map(({ subject }) => subject);
};

test("a log that is archived and compressed while a peer opens it is counted once by its heads", async () => {
  const { wire, disk, forge, scribe, path, later } = await pair();
  for (let at = 0; at < 20; at += 1) await say(scribe, "forge", {});
  const body = { decision: "go on", required: ["scribe"] };
  const proposal = await say(forge, "scribe", { type: "proposal", body, ackRequired: true });
  await settle(scribe, forge);
  const acks = { acks: proposal?.event_id ?? "" };
  const thread = { correlationId: proposal?.correlation_id ?? "" };
  await say(scribe, "forge", { type: "ack", body: acks, ...thread });
  await scribe.sync();

  afterOpening(disk, path, () => {
    const other = nodeDisk({ wireDir: wire.dir });
    const archive = join(wire.dir, "archive");
    const { outcome } = archiveFile(other, archive, { name: NAME, path }, 2_099);
    const compressed = [...compressSegments(other, archive, NAME)];
    expect([outcome, compressed.length]).toEqual(["archived", 1]);
  });
  // Forge reads the ack, and its heartbeat is due in the same round.
  later();
  await settle(forge, scribe);
  for (const agent of [forge, scribe]) {
    const [seen] = await agent.view("proposals", undefined);
    const { handle } = agent.place;
    expect([handle, seen?.status, seen?.waits_for]).toEqual([handle, "ratified", null]);
  }
  const noted = wire.privateLines("forge", "journal").map(({ verdict }) => verdict);
  expect(noted).not.toContain("duplicate");
});

test.each([
  ["lines of others", () => '{"not":"signed"}\n'.repeat(3)],
  ["a torn line", () => `${"\0".repeat(600)}\n`],
  ["copies of known lines", (log: string) => log.split("\n").slice(0, 3).join("\n") + "\n"],
])(
  "a message in the place of %s that a beat has counted as read is unread",
  async (_what, junk) => {
    const { forge, scribe, path, later } = await pair();
    for (const subject of ["one", "two", "three"]) await say(scribe, "forge", { subject });
    await settle(scribe, forge);
    await forge.markRead("all");
    await scribe.sync();
    const log = readFileSync(path, "utf8");
    appendFileSync(path, junk(log));
    later();
    await settle(forge);
    later();
    await settle(forge);
    truncateSync(path, log.length);
    await settle(forge);
    for (const subject of ["four", "five"]) await say(scribe, "forge", { subject });
    for (let round = 0; round < 5; round += 1) {
      later();
      await settle(forge, scribe);
    }
    expect(await unreadOf(forge)).toEqual(["four", "five"]);
  },
);
