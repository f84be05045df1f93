import { StorageError, type Disk, type DiskFile, LOCK_WAIT_MS } from "../disk/disk.ts";
import { endsLine, joinLines, LINE_END, NEWLINE } from "../disk/line-splitter.ts";
import type { OwnLine } from "./pending.ts";

/**
 * Appends lines in one write, on a fresh line whatever comes before, and returns the size of the
 * file then; undefined when another program writes here too. `alone`: what the last call returned.
 *
 * Another program may append as the same agent (spec 1.6): the Python reference does it under the
 * file's lock, and a long line of it is several writes, between which ours must not fall. The lock
 * costs an open of its own, more than the rest of an append, so it is taken only where somebody else
 * has been seen to write. The very first time a foreign line may still be hit, never one of ours.
 */
export function appendOwnLines(
  disk: Disk,
  file: DiskFile,
  lines: readonly OwnLine[],
  alone: number | undefined,
): number | undefined {
  const bytes = joinLines(lines.map((own) => own.line));
  const { size } = file.stat();
  if (size === alone && endsLine(file, size)) {
    file.append(bytes);
    const after = size + bytes.length;
    if (file.stat().size === after) return after;
    if (beginsOnItsLine(file, size, bytes)) return undefined;
  }
  const held = disk.open(file.path, "append");
  try {
    if (!held.lock(LOCK_WAIT_MS)) throw lockedByOther(file.path);
    const isFresh = endsLine(held, held.stat().size);
    held.append(isFresh ? bytes : Buffer.concat([LINE_END, bytes]));
  } finally {
    held.close();
  }
  return undefined;
}

/** Whether bytes that were appended at or after an offset begin a line there. */
function beginsOnItsLine(file: DiskFile, from: number, bytes: Uint8Array): boolean {
  const there = Buffer.from(file.read(file.stat().size - from, from));
  const at = there.indexOf(bytes);
  return at === 0 || (at > 0 && there[at - 1] === NEWLINE);
}

function lockedByOther(path: string): StorageError {
  return new StorageError("locked", path, "another program keeps our own log locked", {
    hint: "it goes out by itself when that program has let go; lslocks shows which it is",
  });
}
