import { connectDaemon } from "../client/socket-client.ts";
import { loadPlace, type AgentConfig } from "../agent/config/agent-config.ts";
import { setupHost, type SetupHost } from "../setup/host.ts";
import { knownMembership } from "../agent/config/known-handles.ts";
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
  const { handles } = knownMembership(host.disk, place);
  const peers = handles.filter((handle) => handle !== place.handle);
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
