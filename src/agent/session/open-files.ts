import type { Disk } from "../../storage/disk/disk.ts";
import { openHeads } from "../../storage/own-log/heads.ts";
import { openInbox } from "../../storage/files/inbox.ts";
import { openJournal } from "../../storage/files/journal.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { openQuarantine } from "../../storage/files/quarantine.ts";
import type { Files } from "./world.ts";
import type { JournalEntry } from "../state/journal-entries.ts";

/** All of an agent's own files, or none of them. */
export function openFiles(
  disk: Disk,
  paths: AgentPaths,
  journalEnd: number,
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
      journal: kept(openJournal<JournalEntry>(disk, paths.journal, journalEnd)),
      inbox: kept(openInbox(disk, paths.inbox)),
      notices: kept(openInbox(disk, paths.notices)),
    };
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}
