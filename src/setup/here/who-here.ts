import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { calling } from "../../storage/disk/errno.ts";
import { nodeDisk } from "../../storage/disk/node-disk.ts";
import { placesFrom, programFolder, wireKeyOf, type Places } from "../../storage/paths.ts";
import { boundAbove, type BoundFolder } from "../../storage/private/bound-folders.ts";
import { listIdentities } from "../../storage/private/identities.ts";
import { joinedWires } from "../../storage/private/private-folders.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { claimedRoster, claimedWireId } from "../../wire/claimed-wire-id.ts";
import { wireAbove } from "./wire-above.ts";

/** A process of this user: what it was started with, and where. */
export interface Here {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** A wire and an identity as they are named on a command line. */
export interface Named {
  readonly wire?: string | undefined;
  readonly as?: string | undefined;
}

/**
 * The wire's folder, absolute: the one that is named, else the nearest `_coordination/` upward, else
 * the only wire that this user has joined. Throws DeaddropError when there is none. Spec 8.6.
 */
export function findWire(here: Here, asked: Named): string {
  const found = wireNamedOrAbove(here, asked);
  if (found !== undefined) return found;
  const wires = wiresElsewhere(here, asked);
  const [only, another] = wires.keys();
  if (only !== undefined && another === undefined) return only;
  throw noWireHere(here, wires);
}

/** The same without the last: for commands that set up a wire which may not be joined yet. */
export function requireWireHere(here: Here, asked: Named): string {
  const found = wireNamedOrAbove(here, asked);
  if (found === undefined) throw noWireHere(here, wiresElsewhere(here, asked));
  return found;
}

function wireNamedOrAbove(here: Here, asked: Named): string | undefined {
  const named = asked.wire ?? here.env["DEADDROP_WIRE"];
  if (named === undefined || named === "") {
    return wireAbove(here.cwd, homeOf(here.env), placesOf(here.env));
  }
  const folder = resolve(here.cwd, named);
  if (isFolder(folder)) return folder;
  throw new DeaddropError("config", `${folder}: no such folder`, {
    hint: `${asked.wire === undefined ? "DEADDROP_WIRE" : "--wire"} names the folder that the agents share; run \`deaddrop init\` to make one`,
  });
}

/** The wires that this user has joined, as the named identity where one is; and as whom. */
function wiresElsewhere(here: Here, asked: Named): Map<string, string[]> {
  const named = handleNamed(here, asked)?.handle;
  const wires = new Map<string, string[]>();
  for (const { handle, wireDir } of joinedWires(nodeDisk(), placesOf(here.env))) {
    if ((named !== undefined && named !== handle) || !isFolder(wireDir)) continue;
    wires.set(wireDir, [...(wires.get(wireDir) ?? []), handle]);
  }
  return wires;
}

function noWireHere(here: Here, wires: ReadonlyMap<string, readonly string[]>): DeaddropError {
  const listed = [...wires].map(([folder, handles]) => `  ${folder}  (${handles.join(", ")})`);
  const hint =
    listed.length === 0
      ? "name it with --wire or DEADDROP_WIRE, or run `deaddrop init` to make one"
      : ["your wires:", ...listed, "name one with --wire, or run this in its project"].join("\n");
  const message = `no wire here: no _coordination/ in ${here.cwd} or above it`;
  return new DeaddropError("config", message, { hint });
}

function isFolder(path: string): boolean {
  const stat = calling(path, "looking", () => statSync(path, { throwIfNoEntry: false }));
  return stat?.isDirectory() ?? false;
}

/** An identity, and what says that it is ours. */
export interface WhoHere {
  readonly handle: string;
  readonly by: string;
}

/** Which of this user's identities is meant cannot be told; the hint says how to name one. */
export class UnclearIdentity extends DeaddropError {}

/** Who we are on this machine. Throws DeaddropError when that is not clear. Spec 8.6. */
export function findHandle(here: Here, asked: Named): string {
  return whoHere(here, asked).handle;
}

/** The same, and why. Nobody's identity is ever guessed: of two, neither is taken. */
export function whoHere(here: Here, asked: Named): WhoHere {
  const named = handleNamed(here, asked);
  if (named !== undefined) return named;
  const handles = localHandles(here.env);
  const [first] = handles;
  if (first === undefined) {
    throw new DeaddropError("config", "no identity on this machine", {
      hint: `looked in ${programFolder(placesOf(here.env))}: is XDG_CONFIG_HOME what it was when yours was made? With a backup, \`deaddrop backup restore <backup>\`; for a new one, \`deaddrop init\` or \`deaddrop join\``,
    });
  }
  if (handles.length === 1) return { handle: first, by: "being the only identity of this user" };
  const wireDir = wireIfAny(here, asked);
  const onWire = wireDir === undefined ? handles : handlesOnWire(here.env, wireDir, handles);
  const [only, another] = onWire;
  if (only === undefined) {
    throw new UnclearIdentity("config", `none of your identities is on ${wireDir ?? "this wire"}`, {
      hint: `they are ${handles.join(", ")}; join it first: deaddrop join ${wireDir ?? ""} --me <handle>`,
    });
  }
  if (another === undefined) {
    return { handle: only, by: "being the only identity of this user on this wire" };
  }
  throw new UnclearIdentity("config", `several identities here: ${onWire.join(", ")}`, {
    hint: "ask your operator who you are, then say it once for this folder: deaddrop as <handle> (or each time with --as or DEADDROP_AS)",
  });
}

/** The identity that is named by a flag, by the environment or by the binding of the folder. */
function handleNamed(here: Here, asked: Named): WhoHere | undefined {
  const explicit = handleGiven(here, asked);
  if (explicit !== undefined) return explicit;
  const bound = boundHere(here);
  return bound && { handle: bound.handle, by: `deaddrop as in ${bound.folder}` };
}

export function handleGiven(here: Here, asked: Named): WhoHere | undefined {
  if (asked.as !== undefined && asked.as !== "") return { handle: asked.as, by: "--as" };
  const { DEADDROP_AS: named } = here.env;
  if (named !== undefined && named !== "") return { handle: named, by: "DEADDROP_AS" };
  return undefined;
}

function wireIfAny(here: Here, asked: Named): string | undefined {
  try {
    return findWire(here, asked);
  } catch (error) {
    if (error instanceof DeaddropError) return undefined;
    throw error;
  }
}

/**
 * Those of this user's identities that have joined the wire, or are in the roster that it shows. On a
 * wire without a roster any identity may begin to speak, so all count where none has joined.
 */
function handlesOnWire(
  env: NodeJS.ProcessEnv,
  wireDir: string,
  handles: readonly string[],
): readonly string[] {
  const disk = nodeDisk();
  const joined = joinedHandles(env, wireDir);
  const roster = claimedRoster(configBytes(disk, wireDir));
  const onWire = handles.filter((each) => joined.includes(each) || roster.includes(each));
  return onWire.length === 0 && roster.length === 0 ? handles : onWire;
}

/** The identities of this user that have a private folder for that wire. */
export function joinedHandles(env: NodeJS.ProcessEnv, wireDir: string): readonly string[] {
  const disk = nodeDisk();
  const real = disk.realPath(wireDir);
  const key = wireKeyOf(claimedWireId(configBytes(disk, wireDir)), real);
  const joined = joinedWires(disk, placesOf(env))
    .filter((each) => each.wireDir === real || each.wireKey === key)
    .map(({ handle }) => handle);
  return [...new Set(joined)];
}

/** What cannot be read is told when the agent is opened. */
function configBytes(disk: Disk, wireDir: string): Uint8Array | undefined {
  try {
    return readWhole(disk, join(wireDir, "config.json"), MAX_CONFIG_BYTES);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

export function boundHere(here: Here): BoundFolder | undefined {
  const disk = nodeDisk();
  return boundAbove(disk, placesOf(here.env), disk.realPath(here.cwd));
}

/** The identities of this user. */
export function localHandles(env: NodeJS.ProcessEnv): string[] {
  return listIdentities(nodeDisk(), programFolder(placesOf(env)));
}

/** The user's own base folders. */
export function placesOf(env: NodeJS.ProcessEnv): Places {
  return placesFrom(env, homeOf(env));
}

export function homeOf(env: NodeJS.ProcessEnv): string {
  return env["HOME"] ?? homedir();
}
