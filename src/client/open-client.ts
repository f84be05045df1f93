import { homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { placesFrom } from "../storage/paths.ts";
import type { AgentReach, Client, ClientPlace } from "../api/client.ts";
import type { Answer, Arguments, Ask, OperationName } from "../api/operations.ts";
import type { ViewName, ViewParameters, Views } from "../api/views.ts";
import { DeaddropError } from "../api/errors.ts";
import { ANSWER_LIMIT_MS, monotonicMs } from "../api/socket-messages.ts";
import { daemonPathsOf } from "./daemon-paths.ts";
import { SocketRefused } from "./sandbox.ts";
import { connectDaemon, type Connection } from "./socket-client.ts";

const TRY_AGAIN_MS = 50;

/**
 * Opens the way to an agent: its daemon's socket when one runs, else the agent itself in this
 * process, under the identity's lock for the moment of each call. A daemon that starts or ends
 * later is noticed by the next call. Spec 4.2, Locks.
 *
 * `limitMs`: how long a call waits for other processes of the same identity, the start of its daemon
 * included; and how long for the daemon's answer. Spec 4.2.
 */
export async function openClient(at: ClientPlace, limitMs = ANSWER_LIMIT_MS): Promise<Client> {
  const env = at.env ?? process.env;
  const places = placesFrom(env, env["HOME"] ?? homedir());
  const paths = daemonPathsOf(places, at);
  let current: AgentReach | undefined;
  let connection: Connection | undefined;
  let finding: Promise<AgentReach> | undefined;

  /** The daemon, as soon as there is one; without it the agent in this process. */
  async function reached(): Promise<AgentReach> {
    if (current !== undefined && connection?.isOpen === true) return current;
    finding ??= find().finally(() => (finding = undefined));
    return finding;
  }

  async function find(): Promise<AgentReach> {
    try {
      connection =
        paths === undefined
          ? undefined
          : await connectDaemon(paths, limitMs, at.env ?? process.env);
    } catch (error) {
      if (!(error instanceof SocketRefused) || paths === undefined) throw error;
      const { isHeld } = await import("./direct-client.ts");
      if (isHeld(paths)) return await readOnly(error, paths.lock);
    }
    if (connection !== undefined) {
      current?.close();
      current = reachDaemon(connection);
    } else if (current === undefined || current.viaDaemon) {
      // Without a daemon the whole agent is needed; with one, none of its code is loaded.
      const { reachDirectly } = await import("./direct-client.ts");
      current = reachDirectly(places, at);
    }
    return current;
  }

  /** The daemon writes, and cannot be asked: what its files say is still to be read. */
  async function readOnly(why: SocketRefused, lock: string): Promise<AgentReach> {
    if (current?.readOnly !== undefined) return current;
    const { reachReadOnly } = await import("./direct-client.ts");
    current?.close();
    current = reachReadOnly(places, { ...at, lock }, why);
    return current;
  }

  /**
   * While another process holds the lock, looks for a daemon again and again: the holder may be one
   * that starts.
   */
  async function calling<T>(call: (reach: AgentReach) => Promise<T>): Promise<T> {
    const end = monotonicMs() + limitMs;
    for (;;) {
      try {
        return await call(await reached());
      } catch (error) {
        const isBusy = error instanceof DeaddropError && error.code === "already_running";
        if (!isBusy || monotonicMs() > end) throw error;
        await sleep(TRY_AGAIN_MS);
      }
    }
  }

  const ask: Ask = (name, ...args) => calling((reach) => reach.ask(name, ...args));

  await reached();
  return {
    handle: at.handle,
    wireDir: at.wireDir,
    get viaDaemon() {
      return current?.viaDaemon === true;
    },
    get readOnly() {
      return current?.readOnly;
    },
    ask,
    view: async <N extends ViewName>(name: N, ...[args]: ViewParameters<N>) =>
      (await ask("view", { name, args })) as Views[N],
    close: () => current?.close(),
  };
}

function reachDaemon(connection: Connection): AgentReach {
  return {
    viaDaemon: true,
    ask: async <N extends OperationName>(name: N, ...[args]: readonly unknown[]) => {
      return (await connection.call(name, await asJson(name, args ?? {}))) as Answer<N>;
    },
    close: () => connection.close(),
  };
}

/** Drafts are no plain JSON. What packs them is loaded only then: commands start quickly. */
async function asJson(name: OperationName, args: unknown): Promise<unknown> {
  if (name !== "send") return args;
  const { drafts, ...rest } = args as Arguments<"send">;
  const { packDrafts } = await import("../api/drafts.ts");
  return { drafts: packDrafts(drafts), ...rest };
}
