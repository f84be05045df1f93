import { afterEach } from "vitest";
import { SimulatedWire, type SceneOptions } from "./simulated-wire.ts";

/**
 * Makes the scenes of one test file and looks at every one of them once more when its test has
 * ended: whatever happened in it, a replay equals what was seen live, and where no line is hostile
 * an audit of the logs alone does too. Spec 2.4, 3, 4.4.
 */
export function checkedScenes(by: "replay" | "replay and audit") {
  let scenes: SimulatedWire[] = [];
  afterEach(async () => {
    const ended = scenes;
    scenes = [];
    for (const scene of ended) {
      for (const handle of scene.roster.filter((each) => scene.isUp(each))) {
        if (by === "replay") await scene.expectReplayEqualsLive(handle);
        else await scene.expectReplayAndAuditEqualLive(handle);
      }
    }
  });
  return (roster: readonly string[], options: SceneOptions = {}): SimulatedWire => {
    const scene = new SimulatedWire(roster, options);
    scenes.push(scene);
    return scene;
  };
}
