import type { Disk } from "../storage/disk.ts";
import { openHeads } from "../storage/heads.ts";
import { openInbox } from "../storage/inbox.ts";
import { openJournal } from "../storage/journal.ts";
import type { AgentPaths } from "../storage/paths.ts";
import { openQuarantine } from "../storage/quarantine.ts";
import type { Files } from "./edges.ts";
import type { JournalEntry } from "./entries.ts";

/** All of an agent's own files, or none of them. */
export function openFiles(disk: Disk, paths: AgentPaths, journalEnd: number): Files {
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
    };
  } catch (error) {
    for (const file of opened) file.close();
    throw error;
  }
}
