import { setTimeout as sleep } from "node:timers/promises";
import { openClient } from "../client/open-client.ts";
import type { Client, SendAnswer } from "../api/client.ts";
import type { DecisionsView, InboxMessage, RequestView, ThreadView } from "../api/views.ts";
import { proposalBody } from "../sending/message.ts";
import { withParties } from "../sending/naming/recipients.ts";
import { fromPlain, type JsonValue } from "../wire/json/json.ts";
import { speakerOf, type Speaker } from "./speaking.ts";

export interface OpenWireOptions {
  /** Who we are: a handle whose key is on this machine. */
  readonly as: string;
  /** Where keys and state are; the process's own environment unless given. */
  readonly env?: NodeJS.ProcessEnv;
  /** The peers, on a wire that declares no roster. */
  readonly peers?: readonly string[];
}

/** What an agent says; `body` is any JSON value. */
export interface Outgoing {
  readonly to: readonly string[];
  readonly type: string;
  readonly subject: string;
  readonly body: unknown;
  readonly refs?: readonly string[];
  readonly priority?: "low" | "medium" | "high";
  readonly correlationId?: string;
  readonly ackRequired?: boolean;
}

/** An agent's view of its wire, through its daemon when one runs. Spec 8.7. */
export interface Wire extends Speaker {
  /** Durable when it resolves. Throws DeaddropError when nothing was sent. */
  send(...messages: readonly Outgoing[]): Promise<SendAnswer>;
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
      const unread = await client.view("inbox", { unread: true, limit: BATCH });
      for (const message of unread) {
        yield message;
        await client.ask("read", { ids: [message._meta.id] });
        if (ended()) return;
      }
      if (unread.length === 0) await pause(signal);
    }
  }

  return {
    ...speakerOf(client),
    requests: () => client.view("requests"),
    send: async (...messages) =>
      client.ask("send", {
        drafts: await Promise.all(
          messages.map(async (message) => ({ ...message, body: await bodyOf(client, message) })),
        ),
      }),
    inbox,
    threads: (id) => client.view("thread", { id }),
    decisions: () => client.view("decisions"),
    close: () => client.close(),
  };
}

/** What asks has the same fields, whatever way it is sent. Spec 3.4. */
async function bodyOf(client: Client, { to, type, subject, body }: Outgoing): Promise<JsonValue> {
  const value = await withParties(client, { type, to, body: fromPlain(body) });
  return type === "proposal" ? proposalBody(client, subject, value, to) : value;
}

async function pause(signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // Ending the wait is what the signal is for; the loop sees it.
    if ((error as Error).name !== "AbortError") throw error;
  }
}
