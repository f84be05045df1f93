import { createHash } from "node:crypto";
import { join } from "node:path";
import { serialiseBackup, STORE_NAME, type Backup } from "../../storage/private/backup-file.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { wirePaths, type AgentPaths, agentPaths } from "../../storage/paths.ts";
import { serialisePairings } from "../../trust/pairing/pairing-file.ts";
import { restoredPairings } from "../../trust/pairing/pairing-restore.ts";
import type { TrustStore } from "../../trust/store.ts";
import { serialiseTrustStore } from "../../trust/trust-file.ts";
import {
  fileIn,
  isTrouble,
  readContents,
  readPairings,
  readSeenVersion,
  readStore,
} from "./backup-contents.ts";
import type { SetupHost } from "../host.ts";
import {
  isKeyName,
  laterKeys,
  planKeys,
  type ReplacedKey,
  type RestoreStep,
} from "./restore-keys.ts";
import { planTrust } from "./restore-trust.ts";
import { DeaddropError } from "../../api/errors.ts";
import { resolveWireKey } from "../../storage/private/private-folders.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { parseConfig } from "../../trust/policy/config.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";

/** What a restore would do; nothing is written yet. */
export interface RestorePlan {
  readonly paths: AgentPaths;
  /** In this order; what is as it should be already is left out. */
  readonly steps: readonly RestoreStep[];
  /** Why this goes back in time, in words; empty if it does not. */
  readonly older: readonly string[];
  readonly replaced: readonly ReplacedKey[];
  /** Of the backup's document: tells an interrupted restore of the same one. */
  readonly digest: string;
}

/** What is merged with what is here, or written again, instead of being put back as it was. */
const MERGED: ReadonlySet<string> = new Set(["trust.json", "pairing.json", "wire.json"]);

/** Checks all of a backup against this machine and its wire. Throws what has to be done first. */
export function planRestore(host: SetupHost, backup: Backup, wireDir: string): RestorePlan {
  const { disk } = host;
  const contents = readContents(backup, "the backup");
  const paths = restorePlace(host, backup, wireDir);
  const damaged: string[] = [];
  // A damaged file is why somebody restores: it is reported, and stops nothing.
  const readHere = <T>(path: string, parse: (bytes: Uint8Array) => T): T | undefined => {
    const bytes = readWhole(disk, path);
    try {
      return bytes === undefined ? undefined : parse(bytes);
    } catch (error) {
      if (!isTrouble(error)) throw error;
      damaged.push(`${path} here cannot be read, so what it knew beyond the backup is lost`);
      return undefined;
    }
  };
  const store = readHere(paths.trust, (bytes) => readStore(bytes));
  const seen = readHere(paths.trustSeen, readSeenVersion) ?? 0;
  const paired = readHere(paths.pairing, readPairings) ?? new Map();
  const trust = planTrust(store, seen, contents.store);
  const settings = planSettings(disk, paths, backup);
  const later = laterKeys(disk, paths, backup);
  const pairings = restoredPairings(paired, contents.pairings, () => host.random(32));
  const keys = planKeys(disk, paths, backup);
  const steps: RestoreStep[] = [
    // The marks first: nothing is signed before the operator says so, since a restored key has signed what nobody
    // here knows. Spec 1.6.
    ...[paths.mark, paths.identity.mark].map((path) => ({ path, bytes: undefined })),
    ...storeSteps(disk, paths, backup),
    ...trustSteps(paths, trust.store),
    ...(pairings.size === 0
      ? []
      : [{ path: paths.pairing, bytes: Buffer.from(serialisePairings(pairings)) }]),
    ...settings.steps,
    ...keys.steps,
  ];
  return {
    paths,
    steps: steps.filter((step) => !isDone(disk, step)),
    older: [
      ...(trust.older === undefined ? [] : [trust.older]),
      ...damaged,
      ...later,
      ...settings.differing,
    ],
    replaced: keys.replaced,
    digest: createHash("sha256").update(serialiseBackup(backup)).digest("hex"),
  };
}

function isDone(disk: Disk, { path, bytes }: RestoreStep): boolean {
  const stat = disk.stat(path);
  if (bytes === undefined) return stat === undefined;
  const here = stat === undefined || (stat.mode & 0o077) !== 0 ? undefined : readWhole(disk, path);
  return here !== undefined && Buffer.compare(here, bytes) === 0;
}

/** Only where there is none: one that is here knows more, or is filled from the carriers. */
function storeSteps(disk: Disk, paths: AgentPaths, backup: Backup): readonly RestoreStep[] {
  const bytes = fileIn(backup, "state", STORE_NAME);
  if (bytes === undefined || disk.stat(paths.store) !== undefined) return [];
  const beside = ["-wal", "-shm"].map((end) => ({
    path: `${paths.store}${end}`,
    bytes: undefined,
  }));
  return [...beside, { path: paths.store, bytes }];
}

/** The store before its version: a crash between leaves one that is newer than the last seen. */
function trustSteps(paths: AgentPaths, store: TrustStore): readonly RestoreStep[] {
  if (store.version === 0) return [];
  const seen = `${JSON.stringify({ version: store.version })}\n`;
  return [
    { path: paths.trust, bytes: Buffer.from(serialiseTrustStore(store)) },
    { path: paths.trustSeen, bytes: Buffer.from(seen) },
  ];
}

/** Pinned policy, settings, and whatever else was in the folder. */
function planSettings(
  disk: Disk,
  paths: AgentPaths,
  backup: Backup,
): { readonly steps: readonly RestoreStep[]; readonly differing: readonly string[] } {
  const steps: RestoreStep[] = [];
  const differing: string[] = [];
  for (const { place, name, bytes } of backup.files) {
    if (place !== "config" || MERGED.has(name) || isKeyName(name)) continue;
    const path = join(paths.configDir, name);
    const here = readWhole(disk, path);
    steps.push({ path, bytes });
    // Nothing in them tells which is the newer one.
    if (here !== undefined && Buffer.compare(here, bytes) !== 0) {
      differing.push(`${name} here is another one, and would be replaced`);
    }
  }
  return { steps, differing };
}

/**
 * Where the files of a backup belong on this machine. The wire may be at another path than before;
 * but it has to be that wire: pins of one say nothing about another. Spec 1.1.
 */
function restorePlace({ disk, places }: SetupHost, backup: Backup, wireDir: string): AgentPaths {
  requireWire(disk, wireDir);
  const real = disk.realPath(wireDir);
  const claimed = claimedId(disk, wirePaths(real).config);
  const wireKey = resolveWireKey(disk, places, backup.handle, real, claimed);
  // Without ids nothing tells two wires apart but their paths, and the operator's decision.
  const isThatWire =
    wireKey === backup.wireKey || (claimed !== undefined && claimed === backup.wireId);
  if (!isThatWire && (backup.wireId !== undefined || claimed !== undefined)) {
    throw new DeaddropError("refused", `${real} is another wire than that of the backup`, {
      hint: `the backup is of ${backup.handle} on the wire ${backup.wireId ?? "without an id"}, which was at ${backup.wireDir}; this folder says ${claimed ?? "no id"}. Name the right one with --wire`,
    });
  }
  return agentPaths(places, { wireDir: real, wireKey, handle: backup.handle });
}

/** A file that is broken claims none; one that cannot be read says nothing about the wire. */
function claimedId(disk: Disk, path: string): string | undefined {
  const bytes = readWhole(disk, path, MAX_CONFIG_BYTES);
  const parsed = bytes === undefined ? undefined : parseConfig(bytes);
  return parsed?.ok === true ? parsed.config.wireId : undefined;
}
