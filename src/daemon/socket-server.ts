import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "../agent/session/world.ts";
import { errnoOf } from "../storage/disk/errno.ts";
import { LineSplitter } from "../storage/disk/line-splitter.ts";
import type { SocketFolder } from "../storage/private/socket-folder.ts";
import { DeaddropError } from "../api/errors.ts";
import { operationNamed } from "../api/operations.ts";
import type { Asker, Service } from "../api/service.ts";
import { StorageError } from "../storage/disk/disk.ts";
import { monotonicMs, type Reply, type Request } from "../api/socket-messages.ts";

/** Longest request line accepted, in bytes: a full group of messages and its frame. */
const MAX_REQUEST_BYTES = 16 * 1_048_576;

/** How long a client may take for what it was answered last, when the daemon ends. */
const CLOSE_GRACE_MS = 500;

const SERVE_AGAIN_MS = 2_000;
/** A socket is a name in a folder, which a disk may refuse: full, read-only, or in trouble. */
const OF_THE_DISK: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

export type Handle = (request: Request, asker: Asker) => Promise<Reply>;

/**
 * Serves one identity's commands on a Unix socket: one JSON object a line each way, answers carry
 * the request's `id`. The socket is in a folder that only its user can enter (spec 1.1), so who
 * can connect is who may act. The folder stays open as long as it is served, and is closed then.
 */
export function serveSocket(folder: SocketFolder, handle: Handle): Promise<SocketServer> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const left = new AbortController();
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      left.abort();
    });
    socket.on("error", () => socket.destroy());
    readLines(socket, (line) => {
      const say = (message: object) => void socket.write(`${JSON.stringify(message)}\n`);
      answer(line, (request) => handle(request, { gone: left.signal }), say).catch(() =>
        socket.destroy(),
      );
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    folder.reach((path) => server.listen(path));
    server.once("listening", () => {
      server.off("error", reject);
      resolve({
        close: () =>
          new Promise((done) => {
            // Node removes the socket by the path that it was bound with.
            folder.reach(() => server.close(() => done()));
            for (const socket of open) socket.end();
            // A client that is stopped, or reads nothing, would keep the daemon from its last beat.
            setTimeout(() => {
              for (const socket of open) socket.destroy();
            }, CLOSE_GRACE_MS).unref();
            folder.close();
          }),
      });
    });
  });
}

export interface SocketServer {
  close(): Promise<void>;
}

/**
 * Answers the requests of clients. `acted` is called when something happened that peers or the
 * agent should see soon.
 */
export function requestHandler(service: Service, acted: () => void): Handle {
  return async ({ op, args }, asker): Promise<Reply> => {
    try {
      const { parse, run, acts } = operationNamed(op);
      const answered = run(service, parse(args), asker);
      const result = await (acts ? answered.finally(acted) : answered);
      return { ok: true, result: result ?? null };
    } catch (error) {
      if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
      const { message, hint } = error;
      const code = error instanceof DeaddropError ? error.code : "storage";
      return { ok: false, error: { code, message, hint } };
    }
  };
}

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

interface Asked {
  readonly id?: unknown;
  readonly op?: unknown;
  readonly args?: unknown;
  readonly until?: unknown;
}

async function answer(
  line: string,
  handle: (request: Request) => Promise<Reply>,
  say: (message: object) => void,
): Promise<void> {
  let asked: Asked;
  try {
    asked = JSON.parse(line) as Asked;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    say({ id: null, ...failed("usage", "the request is not JSON") });
    return;
  }
  const { id = null, op, args = {}, until } = asked;
  // First this, then the clock: who was not told that we begin may rely on it that we do not.
  if (until !== undefined) say({ id, begun: true });
  const isLate = typeof until === "number" && monotonicMs() > until;
  const reply = isLate
    ? failed("timeout", "the request is too old; it was not done")
    : await handle({ op: String(op), args });
  say({ id, ...reply });
}

function failed(code: string, message: string): Reply {
  return { ok: false, error: { code, message } };
}

/** Splits what arrives into lines; a peer that sends an endless line is cut off. */
function readLines(socket: Socket, take: (line: string) => void): void {
  const splitter = new LineSplitter(0, 0, MAX_REQUEST_BYTES);
  socket.on("data", (chunk: Buffer) => {
    for (const { bytes } of splitter.feed(chunk)) {
      if (bytes === undefined) {
        socket.destroy();
        return;
      }
      take(Buffer.from(bytes).toString("utf8"));
    }
    if (splitter.oversized) socket.destroy();
  });
}
