import { setTimeout as sleep } from "node:timers/promises";
import { openClient } from "../client/open-client.ts";
import type { Client } from "../api/client.ts";
import type { DecisionsView, InboxMessage, RequestView, ThreadView } from "../api/views.ts";
import { speakingOf, type Speaking } from "./speaking.ts";

export interface OpenWireOptions {
  /** Who we are: a handle whose key is on this machine. */
  readonly as: string;
  /** Where keys and state are; the process's own environment unless given. */
  readonly env?: NodeJS.ProcessEnv;
  /** The peers, on a wire that declares no roster. */
  readonly peers?: readonly string[];
}

/** An agent's view of its wire, through its daemon when one runs. Spec 8.7. */
export interface Wire extends Speaking {
  /**
   * Messages that are not marked read, as they come, without end; each is marked read when the
   * loop asks for the next one. `signal` ends it.
   */
  inbox(options?: { readonly signal?: AbortSignal }): AsyncGenerator<InboxMessage>;
  /** The requests that are remembered, ours and those to us, oldest first. Spec 3.8. */
  requests(): Promise<RequestView[]>;
  /** The threads of a correlation id, or of the message with that event id. */
  threads(id: string): Promise<ThreadView[]>;
  decisions(): Promise<DecisionsView>;
  /** Any view, once; their names, arguments and fields are those of `src/api/views.ts`. */
  readonly view: Client["view"];
  close(): void;
}

const POLL_MS = 250;
const BATCH = 100;

/** Opens the wire in `dir`. Throws DeaddropError or StorageError that say what to correct. */
export async function openWire(dir: string, options: OpenWireOptions): Promise<Wire> {
  const { as, env, peers } = options;
  const client = await openClient({
    wireDir: dir,
    handle: as,
    ...(env === undefined ? {} : { env }),
    ...(peers === undefined ? {} : { peers }),
  });

  async function* inbox({ signal }: { readonly signal?: AbortSignal } = {}) {
    const ended = (): boolean => signal?.aborted === true;
    while (!ended()) {
      if (!client.viaDaemon) await client.ask("tick");
      const { messages } = await client.view("inbox", { unread: true, limit: BATCH });
      for (const message of messages) {
        yield message;
        await client.ask("read", { ids: [message._meta.id] });
        if (ended()) return;
      }
      if (messages.length === 0) await pause(signal);
    }
  }

  return {
    ...speakingOf(client),
    view: (...asked) => client.view(...asked),
    requests: () => client.view("requests"),
    inbox,
    threads: (id) => client.view("thread", { id }),
    decisions: () => client.view("decisions"),
    close: () => client.close(),
  };
}

async function pause(signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // Ending the wait is what the signal is for; the loop sees it.
    if ((error as Error).name !== "AbortError") throw error;
  }
}
