import { join } from "node:path";
import { openIfThere, type Disk, type DiskFile } from "../storage/disk/disk.ts";
import { isBlank, wholeLines } from "../storage/disk/line-splitter.ts";
import { openSegment } from "../storage/archive/whole-file.ts";
import type { Log } from "../wire/layout.ts";

/** One line as it is read; `bytes` is undefined for a line over the limit, which is not kept. */
export interface RawLine {
  readonly bytes: Uint8Array | undefined;
  readonly blank: boolean;
}

/** Lines in the order of the file; read one by one, so that memory stays flat. */
export interface AuditSource {
  /** As violations name it. */
  readonly name: string;
  /** The log that it is, when its place in a wire says so. */
  readonly log: Log | undefined;
  lines(): Generator<RawLine>;
}

/** A log of a wire, on a disk where logs are whole. An unterminated tail is not read. */
export function logSource(disk: Disk, wireDir: string, log: Log): AuditSource {
  return {
    name: log.name,
    log,
    *lines() {
      const file = openIfThere(disk, join(wireDir, log.path));
      if (file !== undefined) yield* linesOf(file, false);
    },
  };
}

/** A file by itself. Its last line counts without a newline too: people cut and copy files. */
export function fileSource(disk: Disk, path: string): AuditSource {
  return {
    name: path,
    log: undefined,
    lines: () => linesOf(openSegment(disk, path), true),
  };
}

function* linesOf(file: DiskFile, withRest: boolean): Generator<RawLine> {
  try {
    const { size } = file.stat();
    const lines = wholeLines(file, 0, size);
    for (;;) {
      const next = lines.next();
      if (next.done !== true) {
        yield rawLine(next.value.bytes);
        continue;
      }
      const rest = next.value;
      if (withRest && rest < size) yield rawLine(file.read(size - rest, rest));
      return;
    }
  } finally {
    file.close();
  }
}

function rawLine(bytes: Uint8Array | undefined): RawLine {
  return { bytes, blank: bytes !== undefined && isBlank(bytes) };
}
