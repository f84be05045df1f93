import { openUnlessObstructed, StorageError, type Disk } from "../../../storage/disk/disk.ts";
import type { Cursor } from "../../../storage/files/tail.ts";
import type { LogIntake } from "../../state/agent-state.ts";
import { NEWLINE } from "../../../storage/disk/line-splitter.ts";
import { moveCursor } from "../../state/log-cursor.ts";

/** The one search that is going on, in any log. */
export interface LineEndSearch {
  readonly log: string;
  /** The log's cursor when it began: the search is of use only while the cursor is there. */
  readonly from: Cursor;
  /** Undefined until it ends. */
  result: Result | undefined;
}

/** `isFound`: the end of the line is at the cursor. */
interface Result {
  readonly cursor: Cursor;
  readonly isFound: boolean;
}

/** Bytes of one search. */
const STRETCH_BYTES = 8 * 1_048_576;

/**
 * A line over the limit is never taken in, and only its end is of interest. It is searched for in
 * the background: a disk can take longer to read a long file than other work may wait. Moves the
 * cursor to the end, or to where the search has come, and the next read goes on from there. True
 * while the log waits for that.
 */
export function searchLineEnd(
  disk: Disk,
  path: string,
  intake: LogIntake,
  slot: { search?: LineEndSearch | undefined },
): boolean {
  const { search } = slot;
  if (search !== undefined && search.result === undefined) return isInside(intake.cursor);
  if (search?.log === intake.log.name) {
    slot.search = undefined;
    if (search.from === intake.cursor) {
      moveCursor(intake, search.result?.cursor, "nothing there");
    }
    if (search.result?.isFound === true) return false;
  }
  const { cursor } = intake;
  if (!isInside(cursor)) return false;
  const begun = begin(disk, path, cursor);
  if (begun === undefined) return false;
  const next: LineEndSearch = { log: intake.log.name, from: cursor, result: undefined };
  slot.search = next;
  begun.then(
    (end) => {
      next.result = end;
    },
    () => {
      // The read that follows has the same trouble, and reports it.
      next.result = { cursor, isFound: true };
    },
  );
  return true;
}

function isInside(cursor: Cursor | undefined): cursor is Cursor {
  return cursor !== undefined && cursor.scanned > 0;
}

/** Undefined when there is nothing to search. */
function begin(disk: Disk, path: string, cursor: Cursor): Promise<Result> | undefined {
  const from = cursor.offset + cursor.scanned;
  const file = openUnlessObstructed(disk, path);
  if (file === undefined || file === "obstructed") return undefined;
  try {
    const { size, dev, ino } = file.stat();
    const to = Math.min(size, from + STRETCH_BYTES);
    if (to <= from || dev !== cursor.dev || ino !== cursor.ino) {
      file.close();
      return undefined;
    }
    const resultOf = (found: number | undefined): Result => ({
      cursor: { ...cursor, scanned: (found ?? to) - cursor.offset },
      isFound: found !== undefined,
    });
    return file
      .search(NEWLINE, from, to)
      .then(resultOf)
      .finally(() => file.close());
  } catch (error) {
    file.close();
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}
