import { watch } from "chokidar";

/** An editor saves in several steps; they are waited for. */
const SETTLE_MS = 200;

/** Calls `changed` after each burst of changes in a library, until the signal ends it. Spec 7.1. */
export async function watchLibrary(
  library: string,
  signal: AbortSignal,
  changed: () => void,
): Promise<void> {
  const watcher = watch(library, { ignoreInitial: true, followSymlinks: false });
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (signal.aborted) resolve();
      watcher.on("error", reject);
      watcher.on("all", () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          try {
            changed();
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        }, SETTLE_MS);
      });
      // What changed before the watcher was ready.
      watcher.once("ready", changed);
    });
  } finally {
    clearTimeout(timer);
    await watcher.close();
  }
}
