import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeDisk } from "../storage/disk/node-disk.ts";
import { agentPaths, placesFrom, type Places } from "../storage/paths.ts";
import { resolveWireKey } from "../storage/private/private-folders.ts";
import { readWhole, StorageError, type Disk } from "../storage/disk/disk.ts";
import type { Client, ClientPlace, ReclaimAnswer, SendAnswer } from "../api/client.ts";
import type { HoldsView } from "../api/holds.ts";
import type { ViewArgs, ViewName, ViewParameters, Views } from "../api/views.ts";
import { DeaddropError } from "../api/errors.ts";
import { connectDaemon, type Connection } from "./socket-client.ts";
import { MAX_CONFIG_BYTES } from "../wire/limits.ts";

/** How long a call waits for other processes of the same identity, the start of its daemon included. */
const PATIENCE_MS = 30_000;
const TRY_AGAIN_MS = 50;

/**
 * Opens the way to an agent: its daemon's socket when one runs, else the agent itself in this
 * process, under the identity's lock for the moment of each call. A daemon that starts or ends
 * later is noticed by the next call. Spec 4.1, Locks.
 */
export async function openClient(at: ClientPlace): Promise<Client> {
  const env = at.env ?? process.env;
  const places = placesFrom(env, env["HOME"] ?? homedir());
  const stateDir = stateDirOf(places, at);
  let current: Client | undefined;
  let connection: Connection | undefined;
  let finding: Promise<Client> | undefined;

  /** The daemon, as soon as there is one; without it the agent in this process. */
  async function reached(): Promise<Client> {
    if (current !== undefined && connection?.isOpen === true) return current;
    finding ??= find().finally(() => (finding = undefined));
    return finding;
  }

  async function find(): Promise<Client> {
    connection = stateDir === undefined ? undefined : await connectDaemon(stateDir);
    if (connection !== undefined) {
      current?.close();
      current = viaDaemon(connection, at);
    } else if (current === undefined || current.viaDaemon) {
      // Without a daemon the whole agent is needed; with one, none of its code is loaded.
      const { openDirectClient } = await import("./direct-client.ts");
      current = openDirectClient(places, at);
    }
    return current;
  }

  /** A lock that another holds is not waited for blindly: its holder may be a daemon that starts. */
  async function calling<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await call(await reached());
      } catch (error) {
        const isBusy = error instanceof DeaddropError && error.code === "already_running";
        if (!isBusy || performance.now() > end) throw error;
        await sleep(TRY_AGAIN_MS);
      }
    }
  }

  await reached();
  return {
    handle: at.handle,
    wireDir: at.wireDir,
    get viaDaemon() {
      return current?.viaDaemon === true;
    },
    send: (drafts) => calling((client) => client.send(drafts)),
    view: (name, ...args) => calling((client) => client.view(name, ...args)),
    markRead: (ids) => calling((client) => client.markRead(ids)),
    setStatus: (status) => calling((client) => client.setStatus(status)),
    resetPeer: (peer) => calling((client) => client.resetPeer(peer)),
    reclaim: () => calling((client) => client.reclaim()),
    tick: () => calling((client) => client.tick()),
    reload: () => calling((client) => client.reload()),
    close: () => current?.close(),
  };
}

function stateDirOf(places: Places, { wireDir, handle }: ClientPlace): string | undefined {
  const disk = nodeDisk();
  try {
    const real = disk.realPath(wireDir);
    const wireKey = resolveWireKey(disk, places, handle, real, claimedWireId(disk, real));
    return agentPaths(places, { wireDir: real, wireKey, handle }).stateDir;
  } catch (error) {
    // Whatever is wrong with the place is said by who opens the agent itself.
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** What the folder says of itself; it only helps to find private folders, and is never believed. */
function claimedWireId(disk: Disk, wireDir: string): string | undefined {
  try {
    const bytes = readWhole(disk, join(wireDir, "config.json"), MAX_CONFIG_BYTES);
    const { wire_id: id } = JSON.parse(Buffer.from(bytes ?? "{}").toString("utf8")) as {
      wire_id?: unknown;
    };
    return typeof id === "string" ? id : undefined;
  } catch (error) {
    // Broken, or no plain file: peers can write there, and the remembered folders are found without.
    if (error instanceof SyntaxError || error instanceof StorageError) return undefined;
    throw error;
  }
}

function viaDaemon(connection: Connection, { wireDir, handle }: ClientPlace): Client {
  const call = async <T>(op: string, args: unknown): Promise<T> =>
    (await connection.call(op, args)) as T;
  return {
    handle,
    wireDir,
    viaDaemon: true,
    send: async (drafts) => {
      const { packDrafts } = await import("./draft-codec.ts");
      return call<SendAnswer>("send", packDrafts(drafts));
    },
    view: <N extends ViewName>(name: N, ...[args]: ViewParameters<N>) =>
      call<Views[N]>("view", { name, args: args as ViewArgs[N] }),
    markRead: (ids) => call<{ read: number }>("read", { ids }),
    setStatus: (status) => call<undefined>("status", status).then(() => undefined),
    resetPeer: (peer) => call<HoldsView>("reset_peer", { peer }),
    reclaim: () => call<ReclaimAnswer>("reclaim", {}),
    tick: () => call<undefined>("tick", {}).then(() => undefined),
    reload: () => call<undefined>("reload", {}).then(() => undefined),
    close: () => connection.close(),
  };
}
