import { expect } from "vitest";
import { loadPlace } from "../../src/agent/config/agent-config.ts";
import { StorageError } from "../../src/storage/disk/disk.ts";
import { takeOutboxLayout } from "../../src/setup/wire/move-wire.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { Crashed } from "../support/disk/memory-disk.ts";
import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import {
  ack,
  MINUTE,
  proposal,
  say,
  SECOND,
  send,
  type FaultScene,
} from "../support/scenes/fault-scene.ts";

const asked = { id: "" };

/** Both have agreed to move; a proposal of the victim is open, and another message is unread. */
async function agreedToMove(scene: FaultScene): Promise<void> {
  const { wire } = scene;
  const move = {
    ...proposal(PEER, "move this wire to layout outbox"),
    body: fromPlain({ required: [PEER], action: "layout", layout: "outbox" }),
  };
  const id = await send(scene, VICTIM, move);
  await wire.settle();
  await ack(scene, PEER, id ?? "");
  asked.id = (await send(scene, VICTIM, proposal(PEER, "Use tabs"))) ?? "";
  await send(scene, PEER, say("nobody has read it"));
  await wire.pass(5 * SECOND);
  const view = await wire.attempt(VICTIM, (agent) => agent.view("layout", undefined));
  expect(view?.agreed).toBe(true);
}

/** What `layout accept` does, and the daemon that is told of it. */
async function take({ wire }: FaultScene, handle: string): Promise<void> {
  const process = wire.process(handle);
  try {
    const place = loadPlace(process, wire.placesOf(handle), { wireDir: wire.wirePath, handle });
    if (place.layout.kind === "pairwise") takeOutboxLayout(process, place);
  } catch (error) {
    // A command that fails is repeated by its operator.
    if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
  }
  await wire.attempt(handle, (agent) => agent.reload());
}

async function goOn(scene: FaultScene): Promise<void> {
  await tick(scene);
  await send(scene, VICTIM, say("after the move"));
  await tick(scene);
}

/** Both operators complete it. */
async function takeBoth(scene: FaultScene): Promise<void> {
  for (const handle of scene.wire.roster) await take(scene, handle);
  await scene.wire.settle();
}

/** What was begun before it ends after it. */
async function completed(scene: FaultScene): Promise<void> {
  const { wire, checker } = scene;
  for (const handle of wire.roster) {
    const view = await wire.agent(handle).view("layout", undefined);
    expect(view.layout).toBe("outbox");
    expect(view.closed.filter(({ by }) => by === null)).toEqual([]);
    const outbox = wire.lines(`outbox/${handle}.jsonl`).map((line) => JSON.parse(line) as Said);
    expect(outbox.map(({ seq }) => seq)).toEqual(outbox.map((_, at) => at + 1));
    expect(outbox[0]?.body.continues).toHaveLength(1);
  }
  await ack(scene, PEER, asked.id);
  await wire.pass(2 * MINUTE);
  for (const handle of wire.roster) {
    const { proposals } = await wire.outcome(handle);
    expect(proposals.find(({ id }) => id === asked.id)?.status).toBe("ratified");
  }
  await checker.check();
  await wire.expectReplayAndAuditEqualLive(VICTIM);
}

interface Said {
  readonly seq: number;
  readonly body: { readonly continues?: unknown };
}

testFaults([
  {
    name: "moving to outboxes before the peer does",
    isLong: true,
    isSilent: true,
    prepare: agreedToMove,
    run: async (scene) => {
      await take(scene, VICTIM);
      await goOn(scene);
    },
    again: takeBoth,
    check: completed,
  },
  {
    name: "moving to outboxes after the peer has",
    isLong: true,
    isSilent: true,
    prepare: async (scene) => {
      await agreedToMove(scene);
      await take(scene, PEER);
      await send(scene, PEER, say("in the outbox"));
      await scene.wire.pass(5 * SECOND);
    },
    run: async (scene) => {
      await take(scene, VICTIM);
      await goOn(scene);
    },
    again: takeBoth,
    check: completed,
  },
]);
