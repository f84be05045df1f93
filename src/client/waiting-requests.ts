import { DeaddropError, isErrorCode } from "../api/errors.ts";
import { monotonicMs, type Failure, type SocketReply } from "../api/socket-messages.ts";
import { noAnswer } from "./no-answer.ts";

/** The requests of one connection that wait for their answers. */
export interface WaitingRequests {
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

export function makeWaiting(place: { readonly lock: string }, limitMs: number): WaitingRequests {
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
