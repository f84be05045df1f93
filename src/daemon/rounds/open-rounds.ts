import type { Agent } from "../../agent/agent.ts";
import type { Logger } from "../../agent/session/world.ts";
import { turnText } from "../../framing/mail-text.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { watchFolder } from "../folder-events.ts";
import type { ToolSessions } from "../sessions/registry.ts";
import { watchRounds, type RoundWatch } from "./round-watch.ts";

/** The collaboration rounds that a daemon watches for its agent. Spec 6.3. */
export function openRounds(
  agent: Agent,
  sessions: Pick<ToolSessions, "announce">,
  log: Logger,
): RoundWatch {
  return watchRounds({
    disk: nodeDisk(),
    paths: agent.place.paths,
    watch: (folder, changed) =>
      watchFolder(folder, {
        below: [],
        report: changed,
        onError: (error) => log.warn({ folder, detail: String(error) }, "no events of that round"),
      }),
    tell: ({ folder, participant }) => sessions.announce(turnText(folder, participant)),
    log,
  });
}
