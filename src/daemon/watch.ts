import { basename } from "node:path";
import { watch as watchFolder } from "chokidar";

/**
 * chokidar's own events come after a look at the folder, and only the first of several changes to a
 * path within 50 ms is reported; what the system says (`raw`) comes at once. Not every system says
 * it, so each report is followed by one more look a little later. The file is the truth; this is
 * only a hint.
 */
const SECOND_LOOK_MS = 60;

export interface Watcher {
  close(): Promise<void>;
}

/**
 * Calls `dirty` soon after anything in the wire folder changes, with the file's name if it is known. Spec 4.1: a hint, never the truth;
 * the caller polls as well. `usePolling` is for filesystems without change events.
 */
export function watchWire(
  folder: string,
  options: { usePolling: boolean; intervalMs: number; onError: (error: unknown) => void },
  dirty: (name?: string) => void,
): Watcher {
  let secondLook: NodeJS.Timeout | undefined;
  const watcher = watchFolder(folder, {
    ignoreInitial: true,
    depth: 1,
    followSymlinks: false,
    usePolling: options.usePolling,
    interval: options.intervalMs,
    ignored: isTemporary,
  });
  watcher.on("raw", (_event, path) => {
    if (!isTemporary(path)) dirty(basename(path));
  });
  watcher.on("all", (_event, path) => {
    dirty(basename(path));
    secondLook ??= setTimeout(() => {
      secondLook = undefined;
      dirty();
    }, SECOND_LOOK_MS);
  });
  watcher.on("error", options.onError);
  return {
    async close() {
      clearTimeout(secondLook);
      await watcher.close();
    },
  };
}

function isTemporary(path: string): boolean {
  return path.endsWith(".tmp");
}
