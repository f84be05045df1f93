import { join } from "node:path";
import { withFields } from "../documents/sorted-json.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import { PROTOCOL_FILE } from "./read-round.ts";

/** Replaces fields of `protocol.json`, by a rename; all others stay as they are. */
export function writeProtocol(
  disk: Disk,
  folder: string,
  text: string,
  fields: Readonly<Record<string, unknown>>,
): void {
  const path = join(folder, PROTOCOL_FILE);
  const mode = disk.stat(path)?.mode ?? 0o644;
  disk.replace(path, Buffer.from(withFields(text, fields), "utf8"), mode & 0o777);
}

/** ISO-8601 in UTC, seconds. */
export function secondsOf(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z");
}
