import { expect } from "vitest";
import { changePrivateTrust } from "../../src/agent/config/trust-store.ts";
import {
  loadSigningIdentity,
  prepareNextIdentity,
  prepareUrgentIdentity,
} from "../../src/storage/private/signing-key.ts";
import { acceptKey } from "../../src/trust/pins.ts";
import { fromPlain } from "../../src/wire/json/json.ts";
import { encodeBase64, keyId, publicKeyOf } from "../../src/wire/signature.ts";
import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { ack, say, SECOND, send, type FaultScene } from "../support/scenes/fault-scene.ts";

const SEED = new Uint8Array(32).fill(99);
const PUBLIC = publicKeyOf(SEED);

/** The id of the proposal to sign with another key from now on. */
async function ask(scene: FaultScene, from: string, to: string): Promise<string> {
  const { wire } = scene;
  prepareNextIdentity(wire.disk.process(), wire.paths(from), SEED);
  await wire.attempt(from, (agent) => agent.reload());
  const id = keyId(from, PUBLIC);
  const key = encodeBase64(PUBLIC);
  const body = fromPlain({ action: "add_key", key_id: id, key, required: [to] });
  const subject = "another key";
  const sent = await send(scene, from, {
    to: [to],
    type: "proposal",
    subject,
    body,
    ackRequired: true,
  });
  return sent ?? "";
}

const pinned = ({ wire }: FaultScene, of: string, by: string): (string | undefined)[] => {
  const text = Buffer.from(wire.disk.process().open(wire.paths(by).trust, "read").read(65_536, 0));
  const { agents } = JSON.parse(text.toString()) as {
    agents: Record<string, { public_keys: { key_id: string; active: boolean }[] }>;
  };
  return (agents[of]?.public_keys ?? []).filter((key) => key.active).map((key) => key.key_id);
};

/** Whose key was changed signs with it, and is believed. */
async function checkChanged(scene: FaultScene, of: string, by: string): Promise<void> {
  const { wire, checker } = scene;
  // The deadlines of a proposal are longer than what came after it.
  const { keyId: inUse } = loadSigningIdentity(wire.disk.process(), wire.paths(of)).signer;
  expect(inUse).toBe(keyId(of, PUBLIC));
  expect(pinned(scene, of, by)).toContain(inUse);
  await send(scene, of, say("with the new key"));
  await wire.pass(3 * SECOND);
  await checker.check();
}

/** The operators compare the urgent key: until then what it signs waits. */
async function compare({ wire }: FaultScene): Promise<void> {
  const at = new Date(wire.nowMs).toISOString();
  changePrivateTrust(wire.disk.process(), wire.paths(PEER), (store) =>
    acceptKey(store, VICTIM, PUBLIC, at),
  );
  await wire.attempt(PEER, (agent) => agent.reload());
}

/** Our own words stay ours, whatever key has ended meanwhile. */
async function checkUrgent({ wire }: FaultScene): Promise<void> {
  const { keyId: inUse } = loadSigningIdentity(wire.disk.process(), wire.paths(VICTIM)).signer;
  expect(inUse).toBe(keyId(VICTIM, PUBLIC));
  const sent = await wire.attempt(VICTIM, (agent) => agent.view("sent", {}));
  expect(sent?.map(({ subject }) => subject)).toEqual(expect.arrayContaining(["in the old words"]));
}

testFaults([
  {
    isLong: true,
    name: "beginning to sign with an urgent key",
    prepare: async (scene) => {
      const { wire } = scene;
      prepareUrgentIdentity(wire.disk.process(), wire.paths(VICTIM), SEED);
      await send(scene, VICTIM, say("in the old words"));
      await wire.attempt(VICTIM, (agent) => agent.reload());
    },
    run: tick,
    again: compare,
    check: checkUrgent,
  },
  {
    isLong: true,
    name: "beginning to sign with another key",
    prepare: async (scene) => {
      const id = await ask(scene, VICTIM, PEER);
      await scene.wire.pass(5 * SECOND);
      await ack(scene, PEER, id);
      await tick(scene);
      // The beat that covers the ack was due; the next tick makes what it has settled.
      scene.wire.suspend(2 * SECOND);
      await tick(scene);
    },
    run: tick,
    check: (scene) => checkChanged(scene, VICTIM, PEER),
  },
  {
    isLong: true,
    name: "believing a peer's other key after our ack",
    prepare: async (scene) => {
      const id = await ask(scene, PEER, VICTIM);
      await scene.wire.pass(5 * SECOND);
      await ack(scene, VICTIM, id);
    },
    run: tick,
    check: (scene) => checkChanged(scene, PEER, VICTIM),
  },
]);
