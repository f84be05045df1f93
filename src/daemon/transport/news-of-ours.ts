import { basename, join } from "node:path";
import { openIfThere, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { LineSplitter } from "../../storage/disk/line-splitter.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import type { PushTime } from "../../transport/port.ts";
import { promisedCadence } from "../../protocol/logs/heads.ts";
import { ownLogs } from "../../wire/layout.ts";
import { parseMessage, type Message } from "../../wire/message.ts";

/** What of a change in the folder has to be pushed, and when. Spec 5.2. */
export interface NewsOfOurs {
  /** Undefined: nothing of ours, or nothing that others wait for. */
  changed(name: string | undefined): PushTime | undefined;
}

/** More than this of what was appended is not looked through: then it is news. */
const MAX_NEWS_BYTES = 1_048_576;

/** How much earlier than promised a heartbeat may come without a reason, as a share of the promised time. */
const SLACK = 0.1;

/**
 * A heartbeat that comes before the time that the one before it promised is a receipt, or says that our
 * agent's state has changed: it goes within seconds. One at its time waits for the cadence. Anything else
 * in a log of ours goes at once.
 */
export function watchNews(disk: Disk, { wire, wireDir, handle }: LocalFolder): NewsOfOurs {
  const logs = new Map(
    ownLogs(wire.layout, handle).map(({ path }) => [basename(path), join(wireDir, path)]),
  );
  const ends = new Map([...logs.values()].map((at) => [at, sizeOf(disk, at)]));
  /** By log: when the next heartbeat is promised, and how much earlier it may come. Wall ms. */
  const promised = new Map<string, number>();
  const ownState = `${handle}_state.json`;

  function ofLog(at: string): PushTime | undefined {
    const end = sizeOf(disk, at);
    const from = ends.get(at) ?? 0;
    ends.set(at, end);
    if (end === from) return undefined;
    if (end < from || end - from > MAX_NEWS_BYTES) return "soon";
    const beats = beatsFrom(disk, at, from);
    if (beats === undefined) return "soon";
    const isEarly = beats.map((beat) => comesEarly(at, beat));
    return isEarly.includes(true) ? "receipt" : "at the cadence";
  }

  function comesEarly(at: string, { timestampMs, body }: Message): boolean {
    const notBeforeMs = promised.get(at) ?? -Infinity;
    const lengthMs = promisedCadence(body, timestampMs);
    if (lengthMs === undefined) promised.delete(at);
    else promised.set(at, timestampMs + lengthMs * (1 - SLACK));
    return timestampMs < notBeforeMs;
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
        return (["soon", "receipt", "at the cadence"] as const).find((time) =>
          times.includes(time),
        );
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

/** The heartbeats that were appended; undefined when there is anything else among the lines. */
function beatsFrom(disk: Disk, at: string, from: number): readonly Message[] | undefined {
  const file = openIfThere(disk, at);
  if (file === undefined) return [];
  try {
    const lines = [...new LineSplitter(from).feed(file.read(MAX_NEWS_BYTES, from))];
    const beats = lines.flatMap(({ bytes }) => (bytes === undefined ? [] : beatOf(bytes)));
    return beats.length === lines.length ? beats : undefined;
  } finally {
    file.close();
  }
}

function beatOf(line: Uint8Array): Message[] {
  const parsed = parseMessage(line);
  return parsed.ok && parsed.message.type === "heartbeat" ? [parsed.message] : [];
}
