import { recall } from "../../admission/authenticate.ts";
import type { RecalledMessage } from "../../admission/admitted-message.ts";
import type { LineEntry } from "./journal-entries.ts";
import { openLineReader, type LineReader } from "./log-reader.ts";
import { notedAt } from "./receipt-times.ts";
import type { Session } from "../session/session.ts";

/** A line that was taken in, with what the journal says of it. */
export interface StoredMessage {
  readonly entry: LineEntry;
  readonly message: RecalledMessage;
  /** Where its entry begins in the journal, and where the next one does. */
  readonly at: number;
  readonly end: number;
}

/**
 * Authentic lines, read again from their places, in the order of `entries`: where their entries begin
 * in the journal. A line whose log lacks it now is left out, unless it is in the inbox.
 */
export function* messagesAt(
  session: Pick<Session, "world" | "place" | "memory" | "files">,
  entries: Iterable<number>,
): Generator<StoredMessage> {
  const source = openLineReader(session.world.disk, session.place);
  try {
    for (const at of entries) {
      const stored = messageAt(session, source, at);
      if (stored !== undefined) yield stored;
    }
  } finally {
    source.close();
  }
}

function messageAt(
  { files, memory }: Pick<Session, "files" | "memory">,
  source: LineReader,
  offset: number,
): StoredMessage | undefined {
  const record = files.journal.at(offset);
  if (record?.entry.k !== "line" || record.entry.id === undefined) return undefined;
  const { entry, start, end } = record;
  const { log, id = "" } = entry;
  const bytes = deliveredBytes(files, entry) ?? source.at(log, entry.start, entry.end);
  const message = bytes === undefined ? undefined : recall(bytes, id);
  if (message === undefined) return undefined;
  const at = notedAt(memory.times.setBacks, start, entry.at);
  return { entry: at === entry.at ? entry : { ...entry, at }, message, at: start, end };
}

/** What was delivered stays readable, also if its author has changed the log since. */
function deliveredBytes(
  { inbox: file }: Session["files"],
  { inbox, start, end }: LineEntry,
): Uint8Array | undefined {
  return inbox === undefined ? undefined : file.read(inbox, end - start - 1);
}
