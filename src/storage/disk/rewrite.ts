import type { DiskFile } from "./disk.ts";
import { chunksOf } from "./line-splitter.ts";

/**
 * Writes what is in a file between two offsets once more, for the caller to sync. A sync that
 * failed has lost its data, which stays readable all the same, and the next sync finds nothing to
 * do: of what an earlier process has left there, only bytes that are written again become durable.
 */
export function writeAgain(file: DiskFile, from: number, to: number): void {
  let at = from;
  for (const chunk of chunksOf(file, from, to)) {
    file.overwrite(chunk, at);
    at += chunk.length;
  }
}
