import type { AgentConfig } from "../../agent/config/agent-config.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Places } from "../../storage/paths.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import type { ReplicaOptions } from "../../transport/copies/replica.ts";
import { GitTransport } from "../../transport/git/git-transport.ts";
import { openHostState, type HostState } from "../../transport/host-state.ts";
import { transportPaths, type GitSettings } from "../../transport/transport-settings.ts";
import type { TransportWorld } from "../../transport/world.ts";
import { keepLines, localFolder } from "./local-side.ts";

/** Who uses the transport, and where. */
export interface GitUser {
  readonly disk: Disk;
  readonly places: Places;
  readonly place: Pick<AgentConfig, "paths" | "handle" | "layout">;
  readonly isOurs: ReplicaOptions["isOurs"];
}

export interface BuiltGit {
  readonly transport: GitTransport;
  readonly host: HostState;
  readonly folder: LocalFolder;
}

/** The git transport of one agent, for its daemon or for one command. Spec 5.2. */
export function buildGit(
  { disk, places, place, isOurs }: GitUser,
  settings: GitSettings,
  world: Pick<TransportWorld, "env" | "cadenceMs" | "log" | "failed"> & { monoMs(): number },
): BuiltGit {
  const { paths } = place;
  const host = openHostState(disk, transportPaths(places, paths.wireKey), settings.remote.url);
  const folder = localFolder(disk, places, place);
  const transport = new GitTransport({
    world: {
      ...{ disk, env: world.env, log: world.log },
      clock: { wallMs: () => Date.now(), monoMs: () => world.monoMs() },
      random: () => Math.random(),
      cadenceMs: () => world.cadenceMs(),
      failed: (error) => world.failed(error),
    },
    ...{ settings, host, folder, paths, isOurs },
    keep: (log, lines) => keepLines(disk, paths, log, lines),
  });
  return { transport, host, folder };
}
