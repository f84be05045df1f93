import { statSync, watch } from "node:fs";

const ARRIVAL_LIMIT_MS = 40_000;

/** A file that is watched for what is appended to it. */
export interface Growth {
  /** Milliseconds from before `act` until the file has grown. */
  until(act: () => Promise<void> | void): Promise<number>;
  close(): void;
}

export function watchGrowth(path: string): Growth {
  let size = statSync(path).size;
  let arrived: (() => void) | undefined;
  const watcher = watch(path, () => {
    const now = statSync(path).size;
    if (now > size) arrived?.();
    size = now;
  });
  return {
    until: (act) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(
          () => reject(new Error(`nothing arrives in ${path}`)),
          ARRIVAL_LIMIT_MS,
        );
        const startedMs = performance.now();
        arrived = () => {
          clearTimeout(limit);
          arrived = undefined;
          resolve(performance.now() - startedMs);
        };
        Promise.resolve(act()).catch(reject);
      }),
    close: () => watcher.close(),
  };
}
