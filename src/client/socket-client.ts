import { connect, type Socket } from "node:net";
import { DeaddropError, isErrorCode } from "../api/errors.ts";
import { openSocketFolder } from "../storage/private/socket-folder.ts";
import type { Failure, Reply } from "../api/socket-messages.ts";

/** One connection to a running daemon; requests may overlap, answers are matched by id. */
export interface Connection {
  /** False once either side has ended it. */
  readonly isOpen: boolean;
  call(op: string, args: unknown): Promise<unknown>;
  close(): void;
}

/**
 * Connects to the daemon whose private folder that is. Undefined when no daemon listens there.
 * Throws StorageError when the folder is not ours alone: a process that answers there need not be
 * our daemon.
 */
export async function connectDaemon(stateDir: string): Promise<Connection | undefined> {
  const folder = openSocketFolder(stateDir);
  if (folder === undefined) return undefined;
  try {
    return await connected(folder.reach((path) => connect(path)));
  } finally {
    folder.close();
  }
}

function connected(socket: Socket): Promise<Connection | undefined> {
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(converse(socket));
    });
    const failed = (error: NodeJS.ErrnoException) => {
      // ENOENT: never started. ECONNREFUSED: died without removing it. Both mean "no daemon".
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(undefined);
      else reject(error);
    };
    socket.once("error", failed);
  });
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

function converse(socket: Socket): Connection {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let held = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    held += chunk;
    for (let end = held.indexOf("\n"); end !== -1; end = held.indexOf("\n")) {
      answerRequest(waiting, held.slice(0, end));
      held = held.slice(end + 1);
    }
  });
  const broken = () => {
    for (const each of waiting.values()) each.reject(gone());
    waiting.clear();
  };
  socket.on("error", broken);
  socket.on("close", broken);
  return {
    get isOpen() {
      return socket.readyState === "open";
    },
    call(op, args) {
      const id = nextId++;
      return new Promise((resolve, reject) => {
        if (socket.destroyed) {
          reject(gone());
          return;
        }
        waiting.set(id, { resolve, reject });
        socket.write(`${JSON.stringify({ id, op, args })}\n`);
      });
    },
    close: () => {
      socket.end();
      socket.unref();
    },
  };
}

function answerRequest(waiting: Map<number, Waiting>, line: string): void {
  const reply = JSON.parse(line) as Reply & { id: number };
  const each = waiting.get(reply.id);
  if (each === undefined) return;
  waiting.delete(reply.id);
  if (reply.ok) each.resolve(reply.result);
  else each.reject(asError(reply.error));
}

/** A newer daemon may answer with a code that this version does not know. */
function asError({ code, message, hint }: Failure): DeaddropError {
  return new DeaddropError(isErrorCode(code) ? code : "internal", message, { hint });
}

function gone(): DeaddropError {
  return new DeaddropError(
    "storage",
    "the daemon ended before it answered; what was asked may or may not have been done",
    { hint: "run `deaddrop sent` to see which messages are stored, then repeat what is missing" },
  );
}
