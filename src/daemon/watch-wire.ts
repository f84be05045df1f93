import { basename } from "node:path";
import { watch as watchFolder, type FSWatcher } from "chokidar";

/**
 * chokidar looks at the folder before it reports, and of several changes to a path within 50 ms it
 * reports only the first. The system's own events (`raw`) come at once, but not on every system. So
 * each report is followed by one more look a little later. The file is the truth; this is only a
 * hint.
 */
const SECOND_LOOK_MS = 60;

/**
 * More reports than this in a moment tell nothing new, and each costs time: a peer that appends a
 * byte a time would keep us busy with them. So the watcher is closed for a while, and we poll.
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
 * known. Spec 4.1: a hint, never the truth; the caller polls as well.
 */
export function watchWire(
  folder: string,
  options: WatchOptions,
  dirty: (name?: string) => void,
): Watcher {
  let watcher: FSWatcher | undefined;
  let secondLook: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let resting: NodeJS.Timeout | undefined;
  const isFlood = countReports();

  function rest(): void {
    watcher?.close().catch(options.onError);
    watcher = undefined;
    clearInterval(looking);
    looking = setInterval(() => dirty(), FLOODED_LOOK_MS);
    resting = setTimeout(() => {
      const begun = begin();
      watcher = begun;
      // Flooded again before it was ready: the polling goes on.
      begun.once("ready", () => {
        if (watcher === begun) clearInterval(looking);
      });
    }, FLOODED_REST_MS);
  }

  function begin(): FSWatcher {
    const begun = watchFolder(folder, {
      ignoreInitial: true,
      depth: 1,
      followSymlinks: false,
      usePolling: options.usePolling,
      interval: options.intervalMs,
      ignored: isTemporary,
    });
    begun.on("raw", (_event, path) => {
      // What a flood reports is found by looking.
      if (isFlood()) {
        if (watcher !== undefined) rest();
      } else if (!isTemporary(path)) dirty(basename(path));
    });
    begun.on("all", (_event, path) => {
      dirty(basename(path));
      secondLook ??= setTimeout(() => {
        secondLook = undefined;
        dirty();
      }, SECOND_LOOK_MS);
    });
    begun.on("error", options.onError);
    return begun;
  }

  watcher = begin();
  return {
    async close() {
      clearTimeout(secondLook);
      clearTimeout(resting);
      clearInterval(looking);
      await watcher?.close();
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
