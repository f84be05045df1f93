import { join } from "node:path";
import { everSignedBy } from "../../admission/authenticate.ts";
import { mustSignByPin } from "../../admission/unsigned-lines.ts";
import { mayBeUnsigned } from "../../trust/policy/config.ts";
import type { JournalEntry } from "../state/journal-entries.ts";
import { scanLog } from "../state/log-reader.ts";
import type { LogIntake } from "../state/agent-state.ts";
import type { Session } from "../session/session.ts";

/**
 * Notes for every log that the journal does not follow yet how long it is: up to there it is
 * history. Spec 2.4. Lines that were written while we were down are live, but not rate limited.
 */
export function beginLogs(
  session: Pick<Session, "world" | "place" | "memory" | "ctx" | "recorder">,
): void {
  const { world, place, memory } = session;
  const entries: JournalEntry[] = [];
  const followed = [...memory.intakes.values()].filter(({ past }) => past.historyTo !== undefined);
  const known = new Set(followed.map(({ log }) => log.name));
  for (const intake of memory.intakes.values()) {
    const stat = world.disk.stat(join(place.wire.folder, intake.log.path));
    const size = stat?.kind === "file" ? stat.size : 0;
    const { past } = intake;
    past.unlimitedTo = size;
    if (past.historyTo === undefined) {
      // What an outbox says that goes on with a log that we follow is news. Spec 1.6.
      const isNews = intake.log.continues?.some((name) => known.has(name)) === true;
      past.historyTo = isNews ? 0 : size;
      const { historyTo } = past;
      entries.push({ k: "began", at: world.clock.wallMs(), log: intake.log.name, size: historyTo });
    }
    if ((intake.cursor?.offset ?? 0) < past.historyTo) past.signedTo = signedTo(session, intake);
  }
  if (entries.length > 0) session.recorder.note(entries, "now");
}

/**
 * Where the first line ends that the log's author has signed; 0 when there is none, or when nothing
 * depends on it. Spec 1.5: history before it may be unsigned.
 */
function signedTo(
  { world, place, ctx }: Pick<Session, "world" | "place" | "ctx">,
  { log }: LogIntake,
): number {
  if (!mayBeUnsigned(ctx.signing, log.owner) || !mustSignByPin(ctx.store, log.owner)) return 0;
  const source = { owner: log.owner, log: log.name };
  let found = 0;
  scanLog(world.disk, place, log.name, (bytes, _line, end) => {
    if (everSignedBy(bytes, source, ctx) === undefined) return "more";
    found = end;
    return "enough";
  });
  return found;
}
