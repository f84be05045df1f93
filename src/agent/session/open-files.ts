import type { Disk } from "../../storage/disk/disk.ts";
import { openHeads } from "../../storage/own-log/heads.ts";
import { openInbox } from "../../storage/files/inbox.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { openQuarantine } from "../../storage/files/quarantine.ts";
import type { Memory } from "../state/agent-state.ts";
import { openIndexedJournal } from "../state/indexed-journal.ts";
import type { Files } from "./world.ts";

/** All of an agent's own files, or none of them. */
export function openFiles(
  disk: Disk,
  paths: AgentPaths,
  memory: Pick<Memory, "journalEnd" | "indexed">,
): Omit<Files, "own" | "shared" | "troubles"> {
  const opened: { close(): void }[] = [];
  const kept = <T extends { close(): void }>(file: T): T => {
    opened.push(file);
    return file;
  };
  try {
    return {
      quarantine: kept(openQuarantine(disk, paths.quarantine)),
      heads: openHeads(disk, paths.heads),
      journal: kept(openIndexedJournal(disk, paths, memory.journalEnd, memory.indexed)),
      inbox: kept(openInbox(disk, paths.inbox)),
      notices: kept(openInbox(disk, paths.notices)),
    };
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}
