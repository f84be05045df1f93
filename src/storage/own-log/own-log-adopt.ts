import type { ChainHead } from "../../wire/chain.ts";
import { openIfThere, type Disk } from "../disk/disk.ts";
import type { HeadsStore } from "./heads.ts";
import { wholeLines } from "../disk/line-splitter.ts";
import { durableHead } from "./recover-own-log.ts";
import type { OwnLog } from "./own-log-repair.ts";
import { hashOf } from "./own-log-pieces.ts";
import type { OwnLine } from "./pending.ts";
import { writeAgain } from "../disk/rewrite.ts";

/** Those of the lines that are not whole in a log. */
export function notInLog(disk: Disk, path: string, lines: readonly OwnLine[]): OwnLine[] {
  const missing = new Map(lines.map((own) => [hashOf(own.line), own]));
  const file = openIfThere(disk, path);
  if (file === undefined || missing.size === 0) return [...missing.values()];
  try {
    for (const { bytes } of wholeLines(file, 0, file.stat().size)) {
      if (bytes !== undefined) missing.delete(hashOf(bytes));
    }
  } finally {
    file.close();
  }
  return [...missing.values()];
}

/** Makes all of a log of ours durable, and notes that it is ours up to `head`. */
export function adoptOwnLog(disk: Disk, heads: HeadsStore, log: OwnLog, head: ChainHead): void {
  const file = disk.open(log.path, "append", log.mode);
  try {
    const before = heads.own(log.name);
    // A sync that failed before has lost what it was to write.
    const { size } = file.stat();
    writeAgain(file, Math.min(before?.end ?? 0, size), size);
    heads.save({ own: new Map([[log.name, durableHead(file, head, before)]]) });
  } finally {
    file.close();
  }
}
