import { DeaddropError } from "../api/errors.ts";
import { connectDaemon } from "../client/socket-client.ts";
import { loadPlace, type AgentConfig } from "../agent/config/agent-config.ts";
import { setupHost, type SetupHost } from "../setup/host.ts";
import type { AgentPaths } from "../storage/paths.ts";
import { findHandle, findWire, type Cli, type GlobalFlags } from "./context.ts";

/** An agent's configuration, keys and pins, for commands that change them without its daemon. */
export interface AgentPlace {
  readonly host: SetupHost;
  readonly place: AgentConfig;
  readonly peers: readonly string[];
}

export function agentPlace(cli: Cli, flags: GlobalFlags): AgentPlace {
  const host = setupHost(cli.env, cli.clock.nowMs());
  const place = loadPlace(host.disk, host.places, {
    wireDir: findWire(cli, flags),
    handle: findHandle(cli, flags),
    peers: flags.peer,
  });
  const peers = place.layout.roster.filter((handle) => handle !== place.handle);
  return { host, place, peers };
}

/** Has a running daemon read again what was changed; false when none runs. */
export async function reloadDaemon(paths: AgentPaths): Promise<boolean> {
  const daemon = await connectDaemon(paths);
  if (daemon === undefined) return false;
  try {
    await daemon.call("reload", {});
    return true;
  } finally {
    daemon.close();
  }
}

/**
 * A running daemon has the newest heads in memory, and writes them when it reloads. One that does not
 * answer holds up nobody: what it wrote last is at most 30 s old. Spec 4.1.
 */
export async function haveHeadsSaved(paths: AgentPaths): Promise<void> {
  try {
    await reloadDaemon(paths);
  } catch (error) {
    if (!(error instanceof DeaddropError)) throw error;
  }
}
