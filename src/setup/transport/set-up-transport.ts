import { loadPlace } from "../../agent/config/agent-config.ts";
import { systemClock } from "../../agent/session/clock.ts";
import { lockIdentity } from "../../agent/session/identity-lock.ts";
import { Session } from "../../agent/session/session.ts";
import { silentLogger, type World } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { TransportHealth } from "../../carriers/carrier.ts";
import type { LookedRemote } from "../../carriers/git/look-at-remote.ts";
import {
  readTransportSettings,
  saveTransportSettings,
  transportPaths,
  type GitSettings,
  type TransportPaths,
} from "../../carriers/transport-settings.ts";
import { carriersWorld } from "../../daemon/transport/carriers-world.ts";
import { makeFailure } from "../../daemon/ticker.ts";
import { verifyAll } from "../../workers/check-pool.ts";
import { agentPathsOn, type SetupHost } from "../host.ts";
import { meetPeers } from "../contact/first-contact.ts";
import type { SetupReport } from "../report.ts";

/** Another command of the same agent may run. */
const LOCK_WAIT_MS = 5_000;

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

/**
 * One exchange with the remote, by this command itself: where a daemon runs it does that. What comes is taken in, and
 * what was sent before is pushed.
 */
export async function exchangeOnce(
  host: SetupHost,
  env: NodeJS.ProcessEnv,
  report: Pick<SetupReport, "wire_dir" | "handle" | "roster">,
): Promise<TransportHealth | undefined> {
  const { disk, places } = host;
  const { wire_dir: wireDir, handle } = report;
  const peers = report.roster.filter((each) => each !== handle);
  const broken = makeFailure();
  const inProcess = { disk, env, clock: systemClock, log: silentLogger, failed: broken.fail };
  const world: World = {
    ...{ disk, places, verifyAll, clock: systemClock, log: silentLogger },
    random: () => Math.random(),
    carriers: (user) => carriersWorld(inProcess, user),
  };
  const config = loadPlace(disk, places, { wireDir, handle, peers });
  const lock = lockIdentity("command", world, config, LOCK_WAIT_MS);
  try {
    const { carriers, core } = new Session(world, config, "command");
    try {
      const { transport } = carriers.git;
      await transport?.turn({ fetch: true, push: false });
      while (await core.round());
      // The remote's documents are here now, without what this agent says in those of everybody.
      if (transport !== undefined) meetPeers(host, config);
      await transport?.turn({ fetch: false, push: true });
      return transport?.health();
    } finally {
      await carriers.stop();
      core.close();
    }
  } finally {
    lock.release();
  }
}
