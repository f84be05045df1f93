import { basename, join } from "node:path";
import { openIfThere, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { LineSplitter } from "../../storage/disk/line-splitter.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import type { PushTime } from "../../transport/port.ts";
import { ownLogs } from "../../wire/layout.ts";
import { parseMessage } from "../../wire/message.ts";

/** What of a change in the folder has to be pushed, and when. Spec 5.2. */
export interface NewsOfOurs {
  /** Undefined: nothing of ours, or nothing that others wait for. */
  changed(name: string | undefined): PushTime | undefined;
}

/** More than this of what was appended is not looked through: then it is news. */
const MAX_NEWS_BYTES = 1_048_576;

/** A heartbeat alone waits for the cadence; anything else in a log of ours goes at once. */
export function watchNews(disk: Disk, { wire, wireDir, handle }: LocalFolder): NewsOfOurs {
  const logs = new Map(
    ownLogs(wire.layout, handle).map(({ path }) => [basename(path), join(wireDir, path)]),
  );
  const ends = new Map([...logs.values()].map((at) => [at, sizeOf(disk, at)]));
  const ownState = `${handle}_state.json`;

  function ofLog(at: string): PushTime | undefined {
    const end = sizeOf(disk, at);
    const from = ends.get(at) ?? 0;
    ends.set(at, end);
    if (end === from) return undefined;
    return end < from || end - from > MAX_NEWS_BYTES || hasNews(disk, at, from)
      ? "soon"
      : "at the cadence";
  }

  function ofFile(name: string): PushTime | undefined {
    const own = logs.get(name);
    if (own !== undefined) return ofLog(own);
    const path = name.endsWith(".card.json") ? `trust/${name}` : name;
    const file = wire.of(path);
    if (file === undefined || name === ownState || file.is === "log" || file.is === "other") {
      return undefined;
    }
    return "soon";
  }

  return {
    changed(name) {
      try {
        if (name !== undefined) return ofFile(name);
        const times = [...logs.values()].map(ofLog);
        return times.includes("soon") ? "soon" : times.find((time) => time !== undefined);
      } catch (error) {
        // What the folder does not show may be news; the push meets the same trouble, and tells it.
        if (error instanceof StorageError) return "soon";
        throw error;
      }
    },
  };
}

function sizeOf(disk: Disk, at: string): number {
  return disk.stat(at)?.size ?? 0;
}

function hasNews(disk: Disk, at: string, from: number): boolean {
  const file = openIfThere(disk, at);
  if (file === undefined) return false;
  try {
    const lines = new LineSplitter(from).feed(file.read(MAX_NEWS_BYTES, from));
    return [...lines].some(({ bytes }) => bytes === undefined || !isBeat(bytes));
  } finally {
    file.close();
  }
}

function isBeat(line: Uint8Array): boolean {
  const parsed = parseMessage(line);
  return parsed.ok && parsed.message.type === "heartbeat";
}
