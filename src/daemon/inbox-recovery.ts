import type { Disk } from "../storage/disk.ts";
import type { Files } from "./edges.ts";
import type { LineEntry } from "./entries.ts";
import { openLineSource } from "./line-source.ts";
import type { Memory } from "./memory.ts";
import type { Place } from "./place.ts";

type Routed = LineEntry & { readonly inbox: number };

interface Recovery {
  readonly disk: Disk;
  readonly place: Place;
  readonly memory: Memory;
  readonly files: Files;
}

/** Makes the inbox hold what the journal says was routed, each line once. Spec 4.1, Delivery. */
export function restoreInbox({ disk, place, memory, files }: Recovery): void {
  const source = openLineSource(disk, place);
  function* routed(from: number): Generator<Routed> {
    const start = from >= memory.inboxEnd ? memory.inboxFrom : 0;
    for (const { entry } of files.journal.read(start)) {
      if (entry.k !== "line" || entry.inbox === undefined || entry.inbox < from) continue;
      yield { ...entry, inbox: entry.inbox };
    }
  }
  try {
    files.inbox.recover(memory.inboxEnd, routed, ({ log, start, end }) =>
      source.at(log, start, end),
    );
  } finally {
    source.close();
  }
  memory.inboxEnd = files.inbox.end;
  memory.inboxFrom = files.journal.end;
}
