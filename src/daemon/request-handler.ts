import { StorageError } from "../storage/disk/disk.ts";
import { DeaddropError } from "../api/errors.ts";
import { operationNamed } from "../api/operations.ts";
import type { Asker, Service } from "../api/service.ts";
import type { Reply, Request } from "../api/socket-messages.ts";
import type { Handle } from "./socket-server.ts";

/**
 * Answers the requests of clients. `acted` is called when something happened that peers or the
 * agent should see soon.
 */
export function requestHandler(service: Service, acted: () => void): Handle {
  return async (request, asker): Promise<Reply> => {
    try {
      const result = await answer(service, request, asker, acted);
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
}

async function answer(
  service: Service,
  { op, args }: Request,
  asker: Asker,
  acted: () => void,
): Promise<unknown> {
  const { parse, run, acts } = operationNamed(op);
  const answered = run(service, parse(args), asker);
  return acts ? answered.finally(acted) : answered;
}
