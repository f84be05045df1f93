import { StorageError } from "../storage/disk/disk.ts";
import type { Agent } from "../agent/agent.ts";
import type { ViewArgs, ViewName } from "../api/views.ts";
import { DeaddropError } from "../api/errors.ts";
import type { Queue } from "../agent/session/queue.ts";
import { asObject, unpackDrafts, unpackIds, unpackPeer, unpackStatus } from "./parse-requests.ts";
import type { Reply } from "../api/socket-messages.ts";
import type { Handle } from "./socket-server.ts";
import type { SendQueue } from "../agent/effects/group-commit.ts";

/**
 * Answers the requests of clients. Sends that wait at the same time go out as one group, with one
 * sync. `acted` is called when something happened that peers or the agent should see soon.
 */
export function requestHandler(
  agent: Agent,
  queue: Queue,
  sends: SendQueue,
  acted: () => void,
): Handle {
  return async ({ op, args }): Promise<Reply> => {
    try {
      const result = await answer(op, args);
      return { ok: true, result: result ?? null };
    } catch (error) {
      if (error instanceof DeaddropError) {
        const { code, message, hint } = error;
        return { ok: false, error: { code, message, hint } };
      }
      if (error instanceof StorageError) {
        return { ok: false, error: { code: "storage", message: error.message, hint: error.hint } };
      }
      throw error;
    }
  };

  async function answer(op: string, args: unknown): Promise<unknown> {
    switch (op) {
      case "send":
        return sends.send(unpackDrafts(args)).finally(acted);
      case "view": {
        const { name, args: viewArgs } = asObject(args);
        return queue(() => agent.view(name as ViewName, viewArgs as ViewArgs[ViewName]));
      }
      case "read":
        return queue(() => agent.markRead(unpackIds(args))).finally(acted);
      case "status":
        return queue(() => agent.setStatus(unpackStatus(args))).finally(acted);
      case "reset_peer":
        return queue(() => agent.resetPeer(unpackPeer(args))).finally(acted);
      case "reclaim":
        return queue(() => agent.reclaim()).finally(acted);
      case "tick":
        return queue(() => agent.tick());
      case "reload":
        return queue(() => agent.reload()).finally(acted);
      default:
        throw new DeaddropError("usage", `the daemon knows no request "${op}"`, {
          hint: "daemon and command are of different versions: restart the daemon",
        });
    }
  }
}
