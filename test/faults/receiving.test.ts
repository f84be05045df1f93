import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { say, send } from "../support/scenes/fault-scene.ts";

testFaults([
  {
    name: "delivering a batch",
    prepare: async (scene) => {
      await send(scene, PEER, say("one"), say("two"));
      await send(scene, PEER, say("three"));
    },
    run: tick,
  },
  {
    name: "publishing our lines and the published state",
    prepare: async (scene) => {
      await send(scene, PEER, say("one"));
      await tick(scene);
      await send(scene, VICTIM, say("two"));
    },
    run: tick,
  },
  {
    name: "saying farewell",
    prepare: async (scene) => {
      await send(scene, PEER, say("one"));
    },
    run: ({ wire }) => wire.attempt(VICTIM, (agent) => agent.farewell()),
  },
]);
