import type { Agent } from "../../agent/agent.ts";
import type { Logger } from "../../agent/session/world.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { watchFolder } from "../folder-events.ts";
import { processWakes } from "../wake.ts";
import { watchRounds, type RoundWatch } from "./round-watch.ts";

/** The collaboration rounds that a daemon watches for its agent; `due`: a turn has come. Spec 6.3. */
export function openRounds(agent: Agent, due: () => void, log: Logger): RoundWatch {
  return watchRounds({
    disk: nodeDisk(),
    paths: agent.place.paths,
    watch: (folder, changed) =>
      watchFolder(folder, {
        below: [],
        report: changed,
        onError: (error) => log.warn({ folder, detail: String(error) }, "no events of that round"),
      }),
    wake: processWakes,
    due,
    log,
  });
}
