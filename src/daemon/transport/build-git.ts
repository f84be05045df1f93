import type { AgentConfig } from "../../agent/config/agent-config.ts";
import type { Disk } from "../../storage/disk/disk.ts";
import type { Places } from "../../storage/paths.ts";
import type { LocalFolder } from "../../transport/copies/local-folder.ts";
import type { OwnSide } from "../../transport/copies/foreign-lines.ts";
import { GitRemote } from "../../transport/git/git-remote.ts";
import { openHostState, type HostState } from "../../transport/host-state.ts";
import { RemoteTransport } from "../../transport/remote-transport.ts";
import { transportPaths, type GitSettings } from "../../transport/transport-settings.ts";
import type { TransportWorld } from "../../transport/world.ts";
import { keepLines, localFolder } from "./local-side.ts";

/** Who uses the transport, and where. */
export interface GitUser extends OwnSide {
  readonly disk: Disk;
  readonly places: Places;
  readonly place: Pick<AgentConfig, "paths" | "handle" | "layout" | "config">;
}

export interface BuiltGit {
  readonly transport: RemoteTransport;
  readonly host: HostState;
  readonly folder: LocalFolder;
}

/** The git transport of one agent, for its daemon or for one command. Spec 5.2. */
export function buildGit(
  user: GitUser,
  settings: GitSettings,
  world: Pick<TransportWorld, "cadenceMs" | "log" | "failed"> & {
    readonly env: NodeJS.ProcessEnv;
    monoMs(): number;
  },
): BuiltGit {
  const { disk, places, place } = user;
  const { paths } = place;
  const host = openHostState(disk, transportPaths(places, paths.wireKey), settings.remote.url);
  const folder = localFolder(disk, places, place);
  const wallMs = (): number => Date.now();
  const remote = new GitRemote({ disk, env: world.env, wallMs, settings, paths, folder });
  const transport = new RemoteTransport(
    {
      world: {
        log: world.log,
        clock: { wallMs, monoMs: () => world.monoMs() },
        after: afterInProcess,
        random: () => Math.random(),
        cadenceMs: () => world.cadenceMs(),
        failed: (error) => world.failed(error),
      },
      ...{ host, folder },
      isSigned: (log, line) => user.isSigned(log, line),
      isWhole: (log) => user.isWhole(log),
      keep: (log, lines) => keepLines(disk, paths, log, lines),
    },
    remote,
  );
  return { transport, host, folder };
}

function afterInProcess(inMs: number, act: () => void): () => void {
  // A command that waits within its turn must not end there.
  const timer = setTimeout(act, inMs);
  return () => clearTimeout(timer);
}
