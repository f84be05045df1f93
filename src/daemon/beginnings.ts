import { join } from "node:path";
import type { JournalEntry } from "./entries.ts";
import type { Taking } from "./taking.ts";

/**
 * Notes for every log that the journal does not follow yet how much of it stands there already:
 * that is history. Spec 2.4. What was written while we were down is live, but not rate limited.
 */
export function beginLogs(taking: Taking): void {
  const { world, place, memory } = taking;
  const entries: JournalEntry[] = [];
  for (const intake of memory.intakes.values()) {
    const stat = world.disk.stat(join(place.wire.folder, intake.log.path));
    const size = stat?.kind === "file" ? stat.size : 0;
    intake.unlimitedTo = size;
    if (intake.historyTo !== undefined) continue;
    intake.historyTo = size;
    entries.push({ k: "began", at: world.clock.wallMs(), log: intake.log.name, size });
  }
  if (entries.length > 0) taking.note(entries, "now");
}
