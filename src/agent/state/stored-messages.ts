import { recall } from "../../admission/authenticate.ts";
import type { RecalledMessage } from "../../admission/admitted-message.ts";
import type { LineEntry } from "./journal-entries.ts";
import { openLineReader } from "./log-reader.ts";
import { notedAt } from "./receipt-times.ts";
import type { Session } from "../session/session.ts";

/** A line that was taken in, with what the journal says of it. */
export interface StoredMessage {
  readonly entry: LineEntry;
  readonly message: RecalledMessage;
  /** The offset in the journal after its entry. */
  readonly end: number;
}

/**
 * Authentic lines in the order of their receipt, read again from their places. `wanted` is asked
 * before a line is read. A line whose log lacks it now is left out. `from`: an offset in the journal
 * at which an entry begins.
 */
export function* storedMessages(
  session: Pick<Session, "world" | "place" | "memory" | "files" | "recorder">,
  wanted: (entry: LineEntry) => boolean,
  from = 0,
): Generator<StoredMessage> {
  session.recorder.flush();
  const source = openLineReader(session.world.disk, session.place);
  try {
    const { setBacks } = session.memory.times;
    for (const { entry, start, end } of session.files.journal.read(from)) {
      if (entry.k !== "line" || entry.id === undefined) continue;
      if (entry.verdict === "duplicate" || !wanted(entry)) continue;
      const bytes = deliveredBytes(session, entry) ?? source.at(entry.log, entry.start, entry.end);
      const message = bytes === undefined ? undefined : recall(bytes, entry.id);
      if (message === undefined) continue;
      const at = notedAt(setBacks, start, entry.at);
      yield { entry: at === entry.at ? entry : { ...entry, at }, message, end };
    }
  } finally {
    source.close();
  }
}

/** The newest `limit` that pass, oldest first. */
export function newestMessages(
  session: Pick<Session, "world" | "place" | "memory" | "files" | "recorder">,
  limit: number,
  wanted: (entry: LineEntry) => boolean,
  passes: (stored: StoredMessage) => boolean,
): StoredMessage[] {
  let kept: StoredMessage[] = [];
  for (const stored of storedMessages(session, wanted)) {
    if (!passes(stored)) continue;
    kept.push(stored);
    if (kept.length >= 2 * limit) kept = kept.slice(-limit);
  }
  return kept.slice(-limit);
}

/** What was delivered stays readable, also if its author has changed the log since. */
function deliveredBytes(
  { files }: Pick<Session, "files">,
  { inbox, start, end }: LineEntry,
): Uint8Array | undefined {
  return inbox === undefined ? undefined : files.inbox.read(inbox, end - start - 1);
}
