import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { TransportError, type TransportHealth } from "../../carriers/carrier.ts";
import type { LookedRemote } from "../../carriers/git/look-at-remote.ts";
import { agentPathsOn, type SetupHost } from "../../setup/host.ts";
import type { SetupReport } from "../../setup/report.ts";
import {
  asDeaddropError,
  configIn,
  explained,
  givenRemote,
  lookAtRemote,
} from "../../setup/transport/look-at-remote.ts";
import {
  exchangeOnce,
  pinRemote,
  presentSettings,
  type WireUser,
} from "../../setup/transport/set-up-transport.ts";
import { findNewcomers, takeWire } from "../../setup/transport/take-wire.ts";
import { wirePaths } from "../../storage/paths.ts";
import { claimedWireId } from "../../wire/claimed-wire-id.ts";
import { rosterOf } from "../../setup/wire/join-wire.ts";
import { readWireConfig } from "../../setup/wire/wire-config.ts";
import type { Cli } from "../context.ts";
import { askTransports } from "./local-daemons.ts";

/** The flags with which a wire is shared through a git repository. */
export interface RemoteFlags {
  remote?: string;
  branch?: string;
}

/** The remote that `init` fills: empty, or holding this very wire. Undefined without `--remote`. */
export async function remoteToFill(
  cli: Cli,
  host: SetupHost,
  { remote, branch }: RemoteFlags,
  { wireDir, handle }: { readonly wireDir: string; readonly handle: string },
): Promise<LookedRemote | undefined> {
  if (remote === undefined) return undefined;
  const url = givenRemote(absolute(cli, remote));
  const looked = await lookAtRemote(host, cli.env, url, branch, handle);
  const here = readWireConfig(host.disk, wireDir)?.wireId;
  const there = configIn(looked)?.wireId;
  if (looked.head === undefined || (there !== undefined && there === here)) return looked;
  looked.close();
  if (looked.prefix !== undefined) {
    throw new DeaddropError("config", `${url.url} holds a wire already`, {
      hint: `join it: deaddrop join ${url.url} --me HANDLE`,
    });
  }
  throw new DeaddropError(
    "config",
    `${url.url} (${looked.branch}) holds something else than a wire`,
    {
      hint: "give an empty repository, or a branch of its own: --branch deaddrop",
    },
  );
}

/** Makes the folder of a wire that is in a remote. The caller closes what it gets. */
export async function wireFromRemote(
  cli: Cli,
  host: SetupHost,
  text: string,
  {
    wireDir,
    handle,
    peers,
    branch,
    dryRun,
  }: {
    readonly wireDir: string;
    readonly handle: string;
    readonly peers: readonly string[];
    readonly branch: string | undefined;
    readonly dryRun: boolean;
  },
): Promise<LookedRemote> {
  const looked = await lookAtRemote(host, cli.env, givenRemote(absolute(cli, text)), branch);
  try {
    if (looked.prefix === undefined) throw noWire(looked);
    // Before a folder is made: who gives a wrong handle tries again with nothing in the way.
    const config = configIn(looked) ?? { roster: [] };
    const newcomers = await findNewcomers(host, looked, config.roster, [handle, ...peers]);
    const roster = rosterOf(config, { handle, peers }, (each) => newcomers.has(each));
    if (!dryRun) await takeWire(host, looked, wireDir, roster);
    return looked;
  } catch (error) {
    looked.close();
    throw error;
  }
}

function noWire({ remote, branch, head }: LookedRemote): DeaddropError {
  return head === undefined
    ? new DeaddropError("config", `${remote.url} has no branch ${branch}, or is empty`, {
        hint: "its maker runs: deaddrop init --remote URL; another branch is given with --branch",
      })
    : new DeaddropError("config", `${remote.url} (${branch}) holds no wire`, {
        hint: "check the URL and the branch (--branch)",
      });
}

/**
 * Makes the wire of this folder in a remote that was empty. Somebody else may have made one there since it was looked
 * at: whose config.json is there first has made the wire. Spec 5.2.
 *
 * @throws DeaddropError
 */
export async function claimRemote(looked: LookedRemote, wireDir: string): Promise<void> {
  if (looked.head !== undefined) return;
  const config = readFileSync(wirePaths(wireDir).config);
  const there = await explained(looked.claim(config));
  if (claimedWireId(there) === claimedWireId(config)) return;
  const { url } = looked.remote;
  throw new DeaddropError("config", `somebody has made another wire in ${url} meanwhile`, {
    hint: `give another repository; or join that wire, in another folder: deaddrop join ${url} --me HANDLE --wire DIR`,
  });
}

/** Pins the remote for this wire, and exchanges what both sides have. Adds what was done to the report. */
export async function shareThrough(
  cli: Cli,
  host: SetupHost,
  looked: LookedRemote,
  report: SetupReport,
): Promise<SetupReport> {
  looked.close();
  const { url } = looked.remote;
  const step = `share the wire through ${url} (${looked.branch})`;
  if (report.dry_run) return { ...report, steps: [...report.steps, { step, outcome: "would" }] };
  const { wire_dir: wireDir, handle, wire_id: wireId, roster } = report;
  const { wireKey } = agentPathsOn(host, { wireDir, handle, wireId });
  const isPinned = presentSettings(host, wireKey)?.remote.url === url;
  pinRemote(host, wireKey, looked);
  const health = await exchange(cli, host, { wireDir, wireKey, handle, roster });
  if (health?.problem !== undefined) {
    const { code, detail, hint } = health.problem;
    throw asDeaddropError(new TransportError(code, detail, { hint }));
  }
  return { ...report, steps: [...report.steps, { step, outcome: isPinned ? "already" : "done" }] };
}

/** The daemons that run are told; without one of ours this command exchanges by itself. */
export async function exchange(
  cli: Cli,
  host: SetupHost,
  user: WireUser,
): Promise<TransportHealth | undefined> {
  const told = await askTransports(host, user, "reopen");
  return told.has(user.handle) ? undefined : exchangeOnce(host, cli.env, user);
}

/** Whether what was given to `join` names a remote and no wire's folder. */
export function isRemote(cli: Cli, text: string): boolean {
  const at = resolve(cli.cwd, text);
  if (isFolder(at)) return isFolder(join(at, "objects")) && isFolder(join(at, "refs"));
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) || /^[\w.-]+@[^/]+:/.test(text);
}

/** A repository on this machine may be given by a relative path. */
function absolute(cli: Cli, text: string): string {
  const isPath = !text.startsWith("-") && !/^[^/]*:/.test(text);
  return isPath ? resolve(cli.cwd, text) : text;
}

/** False for what is closed to us: who opens it says so. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}
