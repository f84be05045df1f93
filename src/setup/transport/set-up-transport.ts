import { loadPlace, type AgentConfig } from "../../agent/config/agent-config.ts";
import { systemClock } from "../../agent/session/clock.ts";
import { lockIdentity } from "../../agent/session/identity-lock.ts";
import { Session } from "../../agent/session/session.ts";
import { silentLogger, type World } from "../../agent/session/world.ts";
import { DeaddropError } from "../../api/errors.ts";
import type { TransportHealth } from "../../carriers/carrier.ts";
import type { LookedRemote } from "../../carriers/git/look-at-remote.ts";
import {
  forgetRemote,
  readTransportSettings,
  saveTransportSettings,
  transportPaths,
  type GitSettings,
} from "../../carriers/transport-settings.ts";
import { carriersWorld } from "../../daemon/transport/carriers-world.ts";
import { makeFailure } from "../../daemon/ticker.ts";
import { verifyAll } from "../../workers/check-pool.ts";
import type { SetupHost } from "../host.ts";
import { configIn } from "./look-at-remote.ts";
import { meetPeers } from "../contact/first-contact.ts";

/** An agent whose wire is exchanged with a remote. */
export interface WireUser {
  readonly wireDir: string;
  readonly wireKey: string;
  readonly handle: string;
  readonly roster: readonly string[];
}

/** Another command of the same agent may run. */
const LOCK_WAIT_MS = 5_000;

/** The repository through which this machine shares a wire; undefined: it is shared by its folder alone. */
export function presentSettings(host: SetupHost, wireKey: string): GitSettings | undefined {
  const read = readTransportSettings(host.disk, transportPaths(host.places, wireKey).settings);
  return read.ok ? read.git : undefined;
}

/**
 * Shares the wire through that remote from now on. Throws DeaddropError when another one is pinned: a wire is
 * moved with `transport switch`.
 */
export function pinRemote(
  host: SetupHost,
  wireKey: string,
  { remote, branch, prefix = "" }: Pick<LookedRemote, "remote" | "branch" | "prefix">,
): void {
  const present = presentSettings(host, wireKey);
  if (present !== undefined && present.remote.url !== remote.url) {
    throw new DeaddropError("config", `this wire is shared through ${present.remote.url} already`, {
      hint: `to move it: deaddrop transport switch git --remote ${remote.url}`,
    });
  }
  const { settings } = transportPaths(host.places, wireKey);
  saveTransportSettings(host.disk, settings, { remote, branch, prefix });
}

/**
 * Pins another remote for a wire, or none, for all agents of this user on it. What was last seen of the
 * old one is forgotten. Spec 5.4. Throws DeaddropError when the remote is another wire.
 */
export function movePin(
  { disk, places }: SetupHost,
  { config, paths }: Pick<AgentConfig, "config" | "paths">,
  looked: LookedRemote | undefined,
): void {
  const there = looked === undefined ? undefined : configIn(looked)?.wireId;
  if (there !== undefined && there !== config.wireId) {
    throw new DeaddropError("config", `${looked?.remote.url ?? ""} is another wire (${there})`, {
      hint: "give an empty repository, or one that holds this wire",
    });
  }
  if (looked?.head !== undefined && looked.prefix === undefined) {
    throw new DeaddropError("config", `${looked.remote.url} holds something else than a wire`, {
      hint: "give an empty repository, or a branch of its own: --branch deaddrop",
    });
  }
  const at = transportPaths(places, paths.wireKey);
  forgetRemote(at);
  saveTransportSettings(
    disk,
    at.settings,
    looked && { remote: looked.remote, branch: looked.branch, prefix: looked.prefix ?? "" },
  );
}

/**
 * One exchange with the remote, by this command itself: where a daemon runs it does that. What comes is taken in, and
 * what was sent before is pushed.
 */
export async function exchangeOnce(
  host: SetupHost,
  env: NodeJS.ProcessEnv,
  { wireDir, handle, roster }: WireUser,
): Promise<TransportHealth | undefined> {
  const { disk, places } = host;
  const peers = roster.filter((each) => each !== handle);
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
