import { StorageError } from "../storage/disk/disk.ts";
import { errnoOf } from "../storage/disk/errno.ts";
import type { Logger } from "../agent/session/world.ts";
import type { SocketServer } from "./socket-server.ts";

const SERVE_AGAIN_MS = 2_000;
/** A socket is a name in a folder, which a disk may refuse: full, read-only, or in trouble. */
const OF_THE_DISK: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/**
 * Serves the daemon's socket, at once or as soon as the disk has room for its name. A daemon runs
 * without it meanwhile: peers do not need it. Spec 4.11, Storage trouble.
 */
export async function serveWhenPossible(
  serve: () => Promise<SocketServer>,
  log: Logger,
): Promise<SocketServer> {
  let server: SocketServer | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function attempt(isFirst: boolean): Promise<void> {
    try {
      server = await serve();
      if (!isFirst) log.info({}, "commands can reach the daemon now");
    } catch (error) {
      if (!OF_THE_DISK.has(errnoOf(error)) && !(error instanceof StorageError)) throw error;
      if (isFirst) log.error({ detail: String(error) }, "no command can reach the daemon yet");
      timer = setTimeout(() => {
        attempt(false).catch((failure: unknown) => {
          log.error({ detail: String(failure) }, "no command can reach the daemon");
        });
      }, SERVE_AGAIN_MS);
    }
  }

  await attempt(true);
  return {
    async close() {
      clearTimeout(timer);
      await server?.close();
    },
  };
}
