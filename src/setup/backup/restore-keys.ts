import { createHash } from "node:crypto";
import { join } from "node:path";
import { parsedConfig } from "../../agent/config/parsed-config.ts";
import { readAllLines } from "../../carriers/reader.ts";
import { readLine } from "../../protocol/admit/read-line.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import { wirePaths, type AgentPaths } from "../../storage/paths.ts";
import type { Backup } from "../../storage/private/backup-file.ts";
import { quote } from "../../wire/quote.ts";
import { keyId, PUBLIC_KEY_BYTES, publicKeyOf } from "../../wire/signature.ts";
import { listFirstMembers } from "../wire/newcomer.ts";
import { fileIn } from "./backup-contents.ts";
import { listBackupFiles } from "./backup.ts";

/** One change of a restore: a file gets these bytes, or is removed. It is the old or the new one at every instant. */
export interface RestoreStep {
  readonly path: string;
  readonly bytes: Uint8Array | undefined;
}

/** A key here in whose place the backup has another one. */
export interface ReplacedKey {
  readonly path: string;
  /** Where the one here is kept. */
  readonly keptAs: string;
  readonly here: string;
  readonly backup: string;
}

export interface KeyPlan {
  readonly replaced: readonly ReplacedKey[];
  readonly steps: readonly RestoreStep[];
}

const MOST_NAMED = 8;
/** Far above any key. */
const MAX_KEY_FILE_BYTES = 64 * 1024;

/** Whether a name is that of a private key, in use or not. */
export function isKeyName(name: string): boolean {
  return /\.key(\.[^/]*\.old)?$|\.old$/.test(name);
}

/**
 * The keys of a backup, in the order in which they are written: former ones, then those of the wire,
 * then the agent's own, which is the last of all. Nothing signs before it is there, so nothing signs
 * with half of what it has to know. A key here is kept before another one takes its place; a former
 * one stays as it is.
 */
export function planKeys(disk: Disk, paths: AgentPaths, backup: Backup): KeyPlan {
  const replaced: ReplacedKey[] = [];
  const former: RestoreStep[] = [];
  const current: RestoreStep[] = [];
  const own: RestoreStep[] = [];
  for (const { place, name, bytes } of backup.files) {
    if (place === "state" || !isKeyName(name)) continue;
    const path = join(place === "config" ? paths.configDir : paths.identity.folder, name);
    const here = readWhole(disk, path);
    const isEmpty = here === undefined || here.length === 0;
    if (name.endsWith(".old")) {
      if (isEmpty) former.push({ path, bytes });
      continue;
    }
    const steps = place === "config" ? current : own;
    if (!isEmpty && Buffer.compare(here, bytes) !== 0) {
      const keptAs = `${path}.${fingerprintOf(here)}.old`;
      const [was, is] = [here, bytes].map((key) => shownKey(paths.handle, key));
      replaced.push({ path, keptAs, here: was ?? "", backup: is ?? "" });
      steps.push({ path: keptAs, bytes: here });
    }
    steps.push({ path, bytes });
  }
  return { replaced, steps: [...former, ...current, ...withPublicHalf(disk, paths, backup, own)] };
}

/** A crash must not leave halves of two pairs: a missing public half is made again at loading. */
function withPublicHalf(
  disk: Disk,
  { handle, identity: { publicKey: path } }: AgentPaths,
  backup: Backup,
  own: readonly RestoreStep[],
): readonly RestoreStep[] {
  const bytes = fileIn(backup, "identity", `${handle}.pub.json`);
  const here = readWhole(disk, path);
  const fits = here !== undefined && bytes !== undefined && Buffer.compare(here, bytes) === 0;
  const isStale = here !== undefined && !fits;
  return [
    ...(isStale ? [{ path, bytes: undefined }] : []),
    ...own,
    ...(bytes === undefined ? [] : [{ path, bytes }]),
  ];
}

/** As a key id ends; of what is no key, the same of its bytes. */
function fingerprintOf(bytes: Uint8Array): string {
  const named = bytes.length === PUBLIC_KEY_BYTES ? publicKeyOf(bytes) : bytes;
  return createHash("sha256").update(named).digest("hex").slice(0, 8);
}

function shownKey(handle: string, bytes: Uint8Array): string {
  if (bytes.length !== PUBLIC_KEY_BYTES) return `a file of ${bytes.length} bytes`;
  return keyId(handle, publicKeyOf(bytes));
}

/**
 * Keys that our own carriers name and that neither the backup nor this machine has: the backup is older than their
 * rotation. In words.
 */
export function laterKeys(disk: Disk, paths: AgentPaths, backup: Backup): readonly string[] {
  const { wireDir, handle } = paths;
  const config =
    fileIn(backup, "config", "config.json") ??
    readWhole(disk, paths.pinnedConfig) ??
    readWhole(disk, wirePaths(wireDir).config);
  const { wireId = "", roster } = parsedConfig("config.json", config);
  const here = readKeys(disk, paths);
  const seeds = [...backup.files.filter(({ name }) => isKeyName(name)), ...here.keys]
    .map(({ bytes }) => bytes)
    .filter(({ length }) => length === PUBLIC_KEY_BYTES);
  const known = new Set(seeds.map((seed) => keyId(handle, publicKeyOf(seed))));
  const later = new Set<string>();
  for (const { name, owner } of listFirstMembers(disk, { wireDir, handle, roster }).carriers) {
    if (owner !== handle) continue;
    for (const line of readAllLines(disk, join(wireDir, name))) {
      const read = readLine(line, wireId);
      const signer = read.ok && read.line.author === handle ? read.line.signed?.keyId : undefined;
      if (signer !== undefined && !known.has(signer)) later.add(signer);
      if (later.size > MOST_NAMED) break;
    }
  }
  return [
    ...here.unreadable.map((path) => `${path} here cannot be read, so its key is not known`),
    ...[...later].map(
      (id) => `lines of ${handle} are signed with ${quote(id)}, a key not in the backup`,
    ),
  ];
}

/** The files of keys on this machine, former ones too. One that cannot be read is named, and stops nothing. */
function readKeys(
  disk: Disk,
  paths: AgentPaths,
): { readonly keys: readonly { readonly bytes: Uint8Array }[]; readonly unreadable: string[] } {
  const unreadable: string[] = [];
  const keys = listBackupFiles(disk, paths).flatMap(({ name, path }) => {
    if (!isKeyName(name)) return [];
    try {
      const bytes = readWhole(disk, path, MAX_KEY_FILE_BYTES);
      return bytes === undefined ? [] : [{ bytes }];
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      unreadable.push(path);
      return [];
    }
  });
  return { keys, unreadable };
}
