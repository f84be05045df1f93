import { expect } from "vitest";
import { agree, PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { ack, incident, SECOND, send, type FaultScene } from "../support/scenes/fault-scene.ts";
import { fromPlain } from "../../src/wire/json/json.ts";

/** The id of the incident that was declared while a scene was prepared. */
const declared = new WeakMap<FaultScene, string>();

async function declare(scene: FaultScene, from: string, to: string): Promise<void> {
  declared.set(scene, (await send(scene, from, incident(to))) ?? "");
  await scene.wire.pass(5 * SECOND);
}

async function resolve(scene: FaultScene, from: string, to: string): Promise<void> {
  const id = declared.get(scene) ?? "";
  const found = await scene.wire.attempt(from, (agent) => agent.view("resolve_id", { id }));
  const body = fromPlain({ resolves: found?.place ?? null });
  await send(scene, from, { to: [to], type: "incident", subject: "resolved", body });
}

testFaults([
  {
    name: "recording a decision",
    prepare: (scene) => agree(scene),
    run: tick,
    check: ({ wire }) => {
      expect(wire.lines("decisions.jsonl").filter((line) => line.endsWith("}"))).toHaveLength(1);
    },
  },
  {
    name: "declaring an incident and mirroring it",
    run: async (scene) => {
      await send(scene, VICTIM, incident(PEER));
      await tick(scene);
    },
  },
  {
    name: "mirroring a peer's incident",
    prepare: async (scene) => {
      await send(scene, PEER, incident(VICTIM));
    },
    run: tick,
  },
  {
    name: "acking an incident",
    prepare: (scene) => declare(scene, PEER, VICTIM),
    run: async (scene) => {
      await ack(scene, VICTIM, declared.get(scene) ?? "");
      await tick(scene);
    },
  },
  {
    name: "taking in the end of an incident",
    prepare: async (scene) => {
      await declare(scene, PEER, VICTIM);
      await resolve(scene, PEER, VICTIM);
    },
    run: tick,
    check: async ({ wire }) => {
      const [found] = await wire.agent(VICTIM).view("incidents", undefined);
      expect(found?.status).toBe("resolved");
    },
  },
  {
    name: "closing an incident",
    prepare: (scene) => declare(scene, VICTIM, PEER),
    run: async (scene) => {
      await resolve(scene, VICTIM, PEER);
      await tick(scene);
    },
  },
]);
