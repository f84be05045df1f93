import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Backup } from "../../storage/private/backup-file.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import type { AgentPaths } from "../../storage/paths.ts";
import { keyId, PUBLIC_KEY_BYTES, publicKeyOf } from "../../wire/signature.ts";
import { isKeyName } from "./restore-here.ts";
import { write, type RestoreStep } from "./restore-step.ts";

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
      if (isEmpty) former.push(write(path, bytes));
      continue;
    }
    const steps = place === "config" ? current : own;
    if (!isEmpty && Buffer.compare(here, bytes) !== 0) {
      const keptAs = `${path}.${fingerprintOf(here)}.old`;
      const [was, is] = [here, bytes].map((key) => shownKey(paths.handle, key));
      replaced.push({ path, keptAs, here: was ?? "", backup: is ?? "" });
      steps.push(write(keptAs, here));
    }
    steps.push(write(path, bytes));
  }
  return { replaced, steps: [...former, ...current, ...withPublicHalf(disk, paths, backup, own)] };
}

/** A crash must not leave halves of two pairs: a missing public half is made again at loading. */
function withPublicHalf(
  disk: Disk,
  paths: AgentPaths,
  backup: Backup,
  own: readonly RestoreStep[],
): readonly RestoreStep[] {
  const { publicKey } = paths.identity;
  const saved = backup.files.find(({ name }) => name === `${paths.handle}.pub.json`)?.bytes;
  const here = readWhole(disk, publicKey);
  const fits = here !== undefined && saved !== undefined && Buffer.compare(here, saved) === 0;
  const stale: readonly RestoreStep[] =
    here === undefined || fits ? [] : [{ do: "remove", path: publicKey }];
  return [...stale, ...own, ...(saved === undefined ? [] : [write(publicKey, saved)])];
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
