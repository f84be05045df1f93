import { contextOf, ownLine } from "../../agent/session/environment.ts";
import { loadPlace } from "../../agent/config/agent-config.ts";
import { keepLines, localFolder } from "../../daemon/transport/local-side.ts";
import { DeaddropError } from "../../api/errors.ts";
import { agentPathsOn, type SetupHost } from "../host.ts";
import { GitTransport } from "../../transport/git/git-transport.ts";
import { openHostState } from "../../transport/host-state.ts";
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
  const context = contextOf(place);
  const transport = new GitTransport({
    world: {
      ...{ disk, env },
      clock: { wallMs: () => Date.now(), monoMs: () => performance.now() },
      random: () => Math.random(),
      cadenceMs: () => place.cadences.T0_HEADS_DOWN,
      log: { warn: () => undefined },
      failed: (error) => {
        throw error;
      },
    },
    ...{ settings, paths: place.paths, folder: localFolder(disk, places, place) },
    host: openHostState(disk, paths, settings.remote.url),
    isOurs: (log, line) => ownLine(log, line, context) !== undefined,
    keep: (log, lines) => keepLines(disk, place.paths, log, lines),
  });
  try {
    await transport.turn({ fetch: true, push: true });
    return transport.health();
  } finally {
    await transport.stop();
  }
}
