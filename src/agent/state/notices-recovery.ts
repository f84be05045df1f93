import type { AgentNotice } from "../../protocol/agent-notices/agent-notice.ts";
import type { RoutedLine } from "../../storage/files/inbox-repair.ts";
import type { Files } from "../session/world.ts";
import type { Memory } from "./agent-state.ts";

/** A notice as it is in notices.jsonl, without newline. Spec 3.12. */
export function noticeLine({ at, id, kind, about, text }: AgentNotice): Uint8Array {
  return Buffer.from(JSON.stringify({ at, id, kind, about, text }), "utf8");
}

type NoticedLine = RoutedLine & { readonly bytes: Uint8Array };

/**
 * Makes the file of notices hold what the journal says that our agent was told, each notice once.
 * What is there and in no journal (the journal was lost) stays.
 */
export function restoreNotices({ memory, files }: { memory: Memory; files: Files }): void {
  const known = memory.inbox.notices;
  const expected = (from: number): Iterable<NoticedLine> =>
    noticedFrom(files, from, from >= known.end ? known.from : 0);
  files.notices.recover(known.end, expected, ({ bytes }) => bytes);
  memory.inbox = { ...memory.inbox, notices: { end: files.notices.end, from: files.journal.end } };
}

/** The notices that the journal places at `from` or after it, read from `start` on. */
function* noticedFrom(files: Files, from: number, start: number): Generator<NoticedLine> {
  for (const { entry } of files.journal.read(start)) {
    if (entry.k !== "local" || entry.event.kind !== "noticed") continue;
    const { notices, places } = entry.event;
    for (const [at, notice] of notices.entries()) {
      const place = places[at];
      if (place === undefined || place < from) continue;
      const bytes = noticeLine(notice);
      yield { start: 0, end: bytes.length + 1, inbox: place, bytes };
    }
  }
}
