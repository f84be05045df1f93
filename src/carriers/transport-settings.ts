import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { readWhole, type Disk } from "../storage/disk/disk.ts";
import { programFolder, stateFolder, type Places } from "../storage/paths.ts";
import { readRemoteUrl, type RemoteUrl } from "./git/remote-url.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../storage/disk/file-modes.ts";

/** How a wire is shared with other machines, as its operator has said on this one. Private. Spec 5.2. */
export interface GitSettings {
  readonly remote: RemoteUrl;
  readonly branch: string;
  /** Where in the repository the wire is: "" for its top, otherwise with "/" at the end. */
  readonly prefix: string;
}

export type ReadSettings =
  | { readonly ok: true; readonly git: GitSettings | undefined }
  | { readonly ok: false; readonly problem: string };

/** Where the settings of a wire's transport are, and what its daemons on this machine share. */
export interface TransportPaths {
  readonly settings: string;
  readonly folder: string;
}

export function transportPaths(places: Places, wireKey: string): TransportPaths {
  return {
    settings: join(programFolder(places), ".transports", `${wireKey}.json`),
    folder: join(stateFolder(places), wireKey, ".transport"),
  };
}

const MAX_TRANSPORT_BYTES = 65_536;
const BRANCH = /^(?!-)(?!.*\.\.)(?!.*\/\/)[A-Za-z0-9._/-]{1,200}(?<!\/)(?<!\.lock)$/;
const PREFIX = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*\/)*$/;

/** No file: the wire is shared by its folder alone. */
export function readTransportSettings(disk: Disk, path: string): ReadSettings {
  const bytes = readWhole(disk, path, MAX_TRANSPORT_BYTES);
  if (bytes === undefined) return { ok: true, git: undefined };
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return { ok: false, problem: "it is no JSON" };
  }
  const git = fieldsOf(fieldsOf(value)["git"]);
  if (fieldsOf(value)["git"] === undefined) return { ok: true, git: undefined };
  const { remote, branch = "main", prefix = "" } = git;
  if (typeof remote !== "string") return { ok: false, problem: "git.remote is missing" };
  const read = readRemoteUrl(remote);
  if (!read.ok) return { ok: false, problem: `git.remote: ${read.problem}` };
  if (typeof branch !== "string" || !isBranch(branch)) {
    return { ok: false, problem: "git.branch is no name of a branch" };
  }
  if (typeof prefix !== "string" || !PREFIX.test(prefix)) {
    return { ok: false, problem: "git.prefix is no folder" };
  }
  return { ok: true, git: { remote: read.remote, branch, prefix } };
}

/** A name that means a branch and nothing else, in every program that it is given to. */
export function isBranch(name: string): boolean {
  return BRANCH.test(name);
}

/** Undefined: by its folder alone. */
export function saveTransportSettings(
  disk: Disk,
  path: string,
  git: GitSettings | undefined,
): void {
  if (git === undefined) {
    disk.remove(path);
    return;
  }
  const { remote, branch, prefix } = git;
  disk.makeFolder(dirname(path), PRIVATE_FOLDER);
  const fields = { version: 1, git: { remote: remote.url, branch, prefix } };
  disk.replace(path, Buffer.from(`${JSON.stringify(fields, null, 2)}\n`, "utf8"), PRIVATE_FILE);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * Forgets all that was fetched and seen of a remote: the operator says that the wire has moved. No transport uses
 * it meanwhile. Spec 5.4.
 */
export function forgetRemote({ folder }: TransportPaths): void {
  for (const name of ["mirror.json", "mirror", "repository"])
    rmSync(join(folder, name), { recursive: true, force: true });
}
