import { connect, type Socket } from "node:net";
import { DeaddropError, isErrorCode } from "../api/errors.ts";
import {
  ANSWER_LIMIT_MS,
  monotonicMs,
  type Failure,
  type SocketReply,
  type SocketRequest,
} from "../api/socket-messages.ts";
import type { DaemonPaths } from "../storage/paths.ts";
import { openSocketFolder } from "../storage/private/socket-folder.ts";
import { noAnswer } from "./no-answer.ts";
import { SocketRefused } from "./sandbox.ts";

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

/** The requests of one connection that wait for their answers. */
interface WaitingRequests {
  /** Its id, the time after which the daemon must not begin with it, and what comes of it. */
  ask(op: string): { readonly id: number; readonly until: number; answer: Promise<unknown> };
  take(reply: SocketReply): void;
  /** The daemon has gone: none of them is answered any more. */
  end(): void;
}

interface Waiting {
  readonly op: string;
  readonly giveUp: NodeJS.Timeout;
  begun: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The daemon begins within this share of the limit; the rest is for the news of it to reach us. */
const BEGIN_SHARE = 0.9;

function makeWaiting(place: { readonly lock: string }, limitMs: number): WaitingRequests {
  const waiting = new Map<number, Waiting>();
  let nextId = 1;

  function settle(id: number): Waiting | undefined {
    const each = waiting.get(id);
    waiting.delete(id);
    clearTimeout(each?.giveUp);
    return each;
  }

  function giveUp(id: number): void {
    const each = settle(id);
    const seconds = Math.round(limitMs / 100) / 10;
    each?.reject(noAnswer(each, place, `did not answer within ${seconds} s`));
  }

  return {
    ask(op) {
      const id = nextId++;
      const answer = new Promise<unknown>((resolve, reject) => {
        // What has arrived while this process was not running is read first.
        const timer = setTimeout(() => setImmediate(() => giveUp(id)), limitMs);
        waiting.set(id, { op, giveUp: timer, begun: false, resolve, reject });
      });
      return { id, until: monotonicMs() + limitMs * BEGIN_SHARE, answer };
    },
    take(reply) {
      if ("begun" in reply) {
        const each = waiting.get(reply.id);
        if (each !== undefined) each.begun = true;
        return;
      }
      const each = settle(reply.id);
      if (reply.ok) each?.resolve(reply.result);
      else each?.reject(asError(reply.error));
    },
    end() {
      for (const id of [...waiting.keys()]) settle(id)?.reject(gone());
    },
  };
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
