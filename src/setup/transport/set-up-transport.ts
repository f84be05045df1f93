import { join } from "node:path";
import { isSignedLine } from "../../agent/session/environment.ts";
import { loadPlace, type AgentConfig } from "../../agent/config/agent-config.ts";
import { openIfThere, type Disk } from "../../storage/disk/disk.ts";
import { silentLogger } from "../../agent/session/world.ts";
import { buildGit } from "../../daemon/transport/build-git.ts";
import { DeaddropError } from "../../api/errors.ts";
import { agentPathsOn, type SetupHost } from "../host.ts";
import type { TransportHealth } from "../../transport/port.ts";
import {
  readTransportSettings,
  saveTransportSettings,
  transportPaths,
  type GitSettings,
  type TransportPaths,
} from "../../transport/transport-settings.ts";
import type { SetupReport } from "../report.ts";
import type { LookedRemote } from "./look-at-remote.ts";

/** Where the transport of a wire is set up on this machine. */
export function transportPlace(
  host: SetupHost,
  {
    wire_dir: wireDir,
    handle,
    wire_id: wireId,
  }: Pick<SetupReport, "wire_dir" | "handle" | "wire_id">,
): TransportPaths {
  const { wireKey } = agentPathsOn(host, wireDir, handle, wireId ?? undefined);
  return transportPaths(host.places, wireKey);
}

/** What was set up before; undefined: nothing. */
export function presentSettings(host: SetupHost, paths: TransportPaths): GitSettings | undefined {
  const read = readTransportSettings(host.disk, paths.settings);
  return read.ok ? read.git : undefined;
}

/**
 * From now on the wire is shared through that remote. Says so when another one is pinned: a wire is
 * moved with `transport switch`.
 */
export function pinRemote(
  host: SetupHost,
  report: Pick<SetupReport, "wire_dir" | "handle" | "wire_id">,
  { remote, branch, prefix = "" }: Pick<LookedRemote, "remote" | "branch" | "prefix">,
): void {
  const paths = transportPlace(host, report);
  const present = presentSettings(host, paths);
  if (present !== undefined && present.remote.url !== remote.url) {
    throw new DeaddropError("config", `this wire is shared through ${present.remote.url} already`, {
      hint: `to move it: deaddrop transport switch git --remote ${remote.url}`,
    });
  }
  saveTransportSettings(host.disk, paths.settings, { remote, branch, prefix });
}

/** One fetch and one push, by this command itself; where a daemon runs it does that. */
export async function exchangeOnce(
  host: SetupHost,
  env: NodeJS.ProcessEnv,
  report: Pick<SetupReport, "wire_dir" | "handle" | "wire_id" | "roster">,
): Promise<TransportHealth | undefined> {
  const paths = transportPlace(host, report);
  const settings = presentSettings(host, paths);
  if (settings === undefined) return undefined;
  const { disk, places } = host;
  const peers = report.roster.filter((each) => each !== report.handle);
  const place = loadPlace(disk, places, {
    ...{ wireDir: report.wire_dir, handle: report.handle, peers },
  });
  const user = {
    ...{ disk, places, place },
    isSigned: (log: string, line: Uint8Array) => isSignedLine(log, line, place),
    isWhole: (log: string) => hasNoHole(disk, place, log),
  };
  const { transport } = buildGit(user, settings, {
    ...{ env, log: silentLogger },
    monoMs: () => performance.now(),
    cadenceMs: () => place.cadences.T0_HEADS_DOWN,
    failed: (error) => {
      throw error;
    },
  });
  try {
    await transport.turn({ fetch: true, push: true });
    return transport.health();
  } finally {
    await transport.stop();
  }
}

/** No line holds a zero byte: a power cut has left those, and the agent's daemon restores the log first. */
function hasNoHole(
  disk: Disk,
  { layout, wire }: Pick<AgentConfig, "layout" | "wire">,
  name: string,
): boolean {
  const path = layout.logs.get(name)?.path;
  const file = path === undefined ? undefined : openIfThere(disk, join(wire.folder, path));
  if (file === undefined) return true;
  try {
    return !file.read(file.stat().size, 0).includes(0);
  } finally {
    file.close();
  }
}
