import { connect, type Socket } from "node:net";
import { ANSWER_LIMIT_MS, type SocketReply, type SocketRequest } from "../api/socket-messages.ts";
import type { DaemonPaths } from "../storage/paths.ts";
import { openSocketFolder } from "../storage/private/socket-folder.ts";
import { noAnswer } from "./no-answer.ts";
import { SocketRefused } from "./sandbox.ts";
import { makeWaiting } from "./waiting-requests.ts";

/** One connection to a running daemon; requests may overlap, answers are matched by id. */
export interface Connection {
  /** False once either side has ended it. */
  readonly isOpen: boolean;
  /** Throws DeaddropError: what the daemon says, or "timeout" when it says nothing. */
  call(op: string, args: unknown): Promise<unknown>;
  close(): void;
}

/**
 * Connects to the daemon whose private folder that is. Undefined when no daemon listens there.
 * Throws StorageError when the folder is not ours alone: a process that answers there need not be
 * our daemon; SocketRefused when this process may use no socket, whether or not a daemon runs.
 * `limitMs`: how long each call waits for its answer.
 */
export async function connectDaemon(
  place: DaemonPaths,
  limitMs = ANSWER_LIMIT_MS,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Connection | undefined> {
  const folder = openSocketFolder(place.stateDir);
  if (folder === undefined) return undefined;
  try {
    return await connected(
      folder.reach((path) => connect(path)),
      { place, limitMs, env },
    );
  } finally {
    folder.close();
  }
}

function connected(
  socket: Socket,
  about: { place: DaemonPaths; limitMs: number; env: NodeJS.ProcessEnv },
): Promise<Connection | undefined> {
  const { place, limitMs, env } = about;
  return new Promise((resolve, reject) => {
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(converse(socket, place, limitMs));
    });
    const failed = (error: NodeJS.ErrnoException) => {
      // ENOENT: never started. ECONNREFUSED: died without removing it. Both mean "no daemon".
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(undefined);
      // EPERM: of a seccomp filter. EACCES: of a security module.
      else if (error.code === "EPERM" || error.code === "EACCES") {
        reject(new SocketRefused(env, error));
      }
      // Hundreds of clients wait for it already.
      else if (error.code === "EAGAIN") {
        reject(noAnswer({ op: "", begun: false }, place, "takes no more connections"));
      } else reject(error);
    };
    socket.once("error", failed);
  });
}

function converse(socket: Socket, place: DaemonPaths, limitMs: number): Connection {
  const waiting = makeWaiting(place, limitMs);
  let held = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    // The end of a line is looked for in what is new: a long answer comes in hundreds of pieces.
    const [end = "", ...rest] = chunk.split("\n");
    held += end;
    for (const begin of rest) {
      waiting.take(JSON.parse(held) as SocketReply);
      held = begin;
    }
  });
  socket.on("error", () => waiting.end());
  socket.on("close", () => waiting.end());
  return {
    get isOpen() {
      return socket.readyState === "open";
    },
    call(op, args) {
      const { id, until, answer } = waiting.ask(op);
      if (socket.destroyed) waiting.end();
      else socket.write(`${JSON.stringify({ id, op, args, until } satisfies SocketRequest)}\n`);
      return answer;
    },
    close: () => {
      socket.end();
      socket.unref();
    },
  };
}
