import { basename } from "node:path";
import { watch as poll } from "chokidar";
import { wirePaths } from "../storage/paths.ts";
import { watchFolder, type FolderEvents } from "./folder-events.ts";

/**
 * More reports than this in a moment tell nothing new, and each costs time: a peer that appends a
 * byte a time would keep us busy with them. So the watcher is closed for a while, and we look.
 */
const MAX_REPORTS = 256;
const MOMENT_MS = 100;
const FLOODED_REST_MS = 1_000;
const FLOODED_LOOK_MS = 10;

export interface Watcher {
  close(): Promise<void>;
}

export interface WatchOptions {
  /** For filesystems without change events. */
  readonly usePolling: boolean;
  readonly intervalMs: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Calls `dirty` soon after anything in the wire folder changes, with the file's name if it is
 * known. Spec 4.1: only a hint; the caller polls as well.
 */
export function watchWire(
  folder: string,
  options: WatchOptions,
  dirty: (name?: string) => void,
): Watcher {
  const report = (name?: string): void => {
    if (name === undefined || !isTemporary(name)) dirty(name);
  };
  if (options.usePolling) return pollWire(folder, options, report);
  const { onError } = options;
  const { outbox, trustFolder, archive } = wirePaths(folder);
  const below = [outbox, trustFolder, archive].map((path) => basename(path));
  const open = (heard: (name?: string) => void): FolderEvents =>
    watchFolder(folder, { below, report: heard, onError });
  const watcher = watchCalmly(open, report);
  return { close: async () => watcher.close() };
}

function pollWire(
  folder: string,
  { intervalMs, onError }: WatchOptions,
  report: (name?: string) => void,
): Watcher {
  const watcher = poll(folder, {
    ignoreInitial: true,
    depth: 1,
    followSymlinks: false,
    usePolling: true,
    interval: intervalMs,
    ignored: isTemporary,
  });
  watcher.on("all", (_event, path) => report(basename(path)));
  watcher.on("error", onError);
  return watcher;
}

/** Passes on what is reported; of a flood it closes the source and looks for a while. */
function watchCalmly(
  open: (heard: (name?: string) => void) => FolderEvents,
  report: (name?: string) => void,
): FolderEvents {
  const later = afterEvents(report);
  let events: FolderEvents | undefined;
  let looking: NodeJS.Timeout | undefined;
  let resting: NodeJS.Timeout | undefined;
  const isFlood = countReports();

  function begin(): void {
    clearInterval(looking);
    events = open((name) => {
      if (!isFlood()) later.report(name);
      else if (events !== undefined) rest();
    });
  }

  function rest(): void {
    events?.close();
    events = undefined;
    looking = setInterval(report, FLOODED_LOOK_MS);
    resting = setTimeout(begin, FLOODED_REST_MS);
  }

  begin();
  return {
    close() {
      clearTimeout(resting);
      clearInterval(looking);
      later.close();
      events?.close();
    },
  };
}

/**
 * Passes on, each name once, what has been reported when the loop has read all events. It reads them
 * until there is none: a round made between two reads would let a peer that appends in the meantime
 * keep the loop from its timers and its sockets.
 */
function afterEvents(report: (name?: string) => void): {
  report(name?: string): void;
  close(): void;
} {
  const names = new Set<string | undefined>();
  let soon: NodeJS.Immediate | undefined;
  let isClosed = false;

  function passOn(): void {
    soon = undefined;
    const heard = [...names];
    names.clear();
    for (const name of heard) if (!isClosed) report(name);
  }

  return {
    report(name) {
      names.add(name);
      soon ??= setImmediate(passOn);
    },
    close() {
      isClosed = true;
      clearImmediate(soon);
    },
  };
}

/** Counts one report with each call: true when there are too many of them in a moment. */
function countReports(): () => boolean {
  let reports = 0;
  let momentMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs - momentMs > MOMENT_MS) [momentMs, reports] = [nowMs, 0];
    reports += 1;
    return reports > MAX_REPORTS;
  };
}

function isTemporary(path: string): boolean {
  return path.endsWith(".tmp");
}
