import { PEER, testFaults, tick, VICTIM } from "../support/disk/fault-points.ts";
import { say, send } from "../support/scenes/fault-scene.ts";

const THIS_YEAR = 2026;

testFaults([
  {
    name: "archiving our log and the shared files, and writing on",
    run: async (scene) => {
      await send(scene, VICTIM, say("one"), say("two"));
      await tick(scene);
      await scene.wire.attempt(VICTIM, (agent) => agent.archive(THIS_YEAR));
      await send(scene, VICTIM, say("three"));
      await tick(scene);
    },
  },
  {
    name: "reading on in a log that its author has archived",
    run: async (scene) => {
      await send(scene, PEER, say("one"));
      await tick(scene);
      await send(scene, PEER, say("two"));
      await scene.wire.attempt(PEER, (agent) => agent.archive(THIS_YEAR));
      await send(scene, PEER, say("three"));
      await tick(scene);
    },
  },
]);
