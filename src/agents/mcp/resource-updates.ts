import type { Client } from "../../api/client.ts";
import { DeaddropError } from "../../api/errors.ts";
import { StorageError } from "../../storage/disk/disk.ts";
import { DECISIONS_URI, INBOX_URI, INCIDENTS_URI, THREAD_URI } from "./resources.ts";

/** How often subscribed resources are looked at; a client without subscriptions costs nothing. */
const UPDATES_EVERY_MS = 2_000;
const MAX_SUBSCRIPTIONS = 64;
const RESOURCE = /^deaddrop:\/\/[\w/.-]{1,200}$/;

/** Tells a client that a resource which it has subscribed to has changed. Spec 8.1. */
export interface ResourceUpdates {
  /** A message of the client: it may begin or end a subscription, in either generation. */
  heard(message: unknown): void;
  stop(): void;
}

export function resourceUpdates(
  client: () => Promise<Client>,
  tell: (uri: string) => Promise<void>,
): ResourceUpdates {
  const seen = new Map<string, string | undefined>();
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    for (const [uri, before] of seen) {
      const now = await markOf(await client(), uri);
      // Ended meanwhile.
      if (!seen.has(uri)) continue;
      seen.set(uri, now);
      if (before !== undefined && before !== now) await tell(uri);
    }
  }

  function plan(): void {
    if (timer !== undefined || seen.size === 0) return;
    timer = setTimeout(() => {
      look()
        .catch((error: unknown) => {
          // The next look may find the wire again.
          if (!(error instanceof DeaddropError) && !(error instanceof StorageError)) throw error;
        })
        .finally(() => {
          timer = undefined;
          plan();
        });
    }, UPDATES_EVERY_MS);
  }

  return {
    heard(message) {
      const { method, params } = message as { readonly method?: string; readonly params?: unknown };
      if (method === "resources/unsubscribe") for (const uri of urisIn(params)) seen.delete(uri);
      if (method !== "resources/subscribe" && method !== "subscriptions/listen") return;
      for (const uri of urisIn(params)) {
        if (seen.size < MAX_SUBSCRIPTIONS && !seen.has(uri)) seen.set(uri, undefined);
      }
      plan();
    },
    stop() {
      seen.clear();
      clearTimeout(timer);
    },
  };
}

/** The two generations name them in different places. */
function urisIn(params: unknown): string[] {
  if (typeof params === "string") return RESOURCE.test(params) ? [params] : [];
  if (typeof params !== "object" || params === null) return [];
  return Object.values(params).flatMap(urisIn);
}

/** What tells one state of a resource from another. */
async function markOf(client: Client, uri: string): Promise<string> {
  return JSON.stringify(await factsOf(client, uri));
}

async function factsOf(client: Client, uri: string): Promise<unknown> {
  if (uri === INBOX_URI) return client.view("mail");
  if (uri === DECISIONS_URI) {
    const { in_force: inForce } = await client.view("decisions");
    return inForce.map(({ decision_id: id }) => id);
  }
  if (uri === INCIDENTS_URI) {
    const incidents = await client.view("incidents");
    return incidents.map(({ event_id: id, status }) => [id, status]);
  }
  const threads = await client.view("thread", { id: uri.slice(THREAD_URI.length), by: "event_id" });
  return threads.map(({ status, messages }) => [status, messages.length]);
}
