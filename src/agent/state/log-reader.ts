import { join } from "node:path";
import { openUnlessObstructed, type Disk, type DiskFile } from "../../storage/disk/disk.ts";
import { NEWLINE, wholeLines } from "../../storage/disk/line-splitter.ts";
import { readNewLines } from "../../storage/files/tail.ts";
import { parseMessage } from "../../wire/message.ts";
import type { AgentConfig } from "../config/agent-config.ts";

/** Bytes read at once when a log is searched for lines. */
const SCAN_BYTES = 4 * 1_048_576;

/** A message has at least six fields with their names. */
const SHORTEST_MESSAGE_BYTES = 100;
/** Lines of a log that are found anywhere; any program can make a log longer. */
const MAX_INDEXED = 4_194_304;

/** Reads lines again from the places that the journal has noted; keeps the files open meanwhile. */
export interface LineReader {
  /** The bytes from `start` to `end`, newline left out; undefined when the log lacks them now. */
  at(log: string, start: number, end: number): Uint8Array | undefined;
  /**
   * A line of so many bytes, newline included, anywhere in the log; `id` is the SHA-256 of its
   * content. Where it begins, and its bytes without the newline.
   */
  anywhere(
    log: string,
    length: number,
    id: string,
  ): { readonly start: number; readonly bytes: Uint8Array } | undefined;
  close(): void;
}

export function openLineReader(disk: Disk, place: AgentConfig): LineReader {
  const files = new Map<string, DiskFile | undefined>();
  const lengths = new Map<string, ReadonlyMap<number, readonly number[]>>();
  const fileOf = (name: string): DiskFile | undefined => {
    if (!files.has(name)) {
      const log = place.layout.logs.get(name);
      const path = log === undefined ? undefined : join(place.wire.folder, log.path);
      const file = path === undefined ? undefined : openUnlessObstructed(disk, path);
      // A log that something else has replaced lacks all of its lines until it is back.
      files.set(name, file === "obstructed" ? undefined : file);
    }
    return files.get(name);
  };
  const at: LineReader["at"] = (log, start, end) => {
    const bytes = fileOf(log)?.read(end - start, start);
    if (bytes === undefined || bytes.length !== end - start) return undefined;
    return bytes[bytes.length - 1] === NEWLINE ? bytes.subarray(0, -1) : undefined;
  };
  return {
    at,
    anywhere(log, length, id) {
      const file = fileOf(log);
      if (file === undefined) return undefined;
      const known = lengths.get(log) ?? linesByLength(file);
      lengths.set(log, known);
      for (const start of known.get(length) ?? []) {
        const bytes = at(log, start, start + length);
        const parsed = bytes === undefined ? undefined : parseMessage(bytes);
        if (bytes === undefined || parsed?.ok !== true) continue;
        if (parsed.message.id === id) return { start, bytes };
      }
      return undefined;
    },
    close() {
      for (const file of files.values()) file?.close();
      files.clear();
    },
  };
}

/** Where the lines of each length begin, of those that are long enough to be a message. */
function linesByLength(file: DiskFile): ReadonlyMap<number, readonly number[]> {
  const starts = new Map<number, number[]>();
  let count = 0;
  for (const { start, end } of wholeLines(file, 0, file.stat().size)) {
    if (end - start < SHORTEST_MESSAGE_BYTES) continue;
    if ((count += 1) > MAX_INDEXED) break;
    const same = starts.get(end - start) ?? [];
    same.push(start);
    starts.set(end - start, same);
  }
  return starts;
}

/**
 * Walks the whole lines of a log from its beginning; the visitor says when it has seen enough.
 * `onTorn`: there is a line over the limit with zero bytes in it, as a power cut leaves them.
 */
export function scanLog(
  disk: Disk,
  place: AgentConfig,
  name: string,
  visit: (bytes: Uint8Array, line: number, end: number) => "more" | "enough",
  onTorn: () => void = () => undefined,
): void {
  const log = place.layout.logs.get(name);
  if (log === undefined) return;
  const path = join(place.wire.folder, log.path);
  let cursor;
  for (let more = true; more;) {
    const read = readNewLines(disk, path, cursor, SCAN_BYTES);
    for (const each of read.lines) {
      if (each.kind === "oversized" && each.isTorn) onTorn();
      if (each.kind === "line" && visit(each.bytes, each.line, each.end) === "enough") return;
    }
    cursor = read.cursor;
    more = read.more;
  }
}
