import { Buffer } from "node:buffer";
import { DeaddropError } from "../../api/errors.ts";
import type { PinnedRoster } from "../../protocol/asks/roster.ts";
import { readWhole, StorageError, type Disk } from "../../storage/disk/disk.ts";
import {
  agentPaths,
  wirePaths,
  type AgentPaths,
  type Places,
  type WirePaths,
} from "../../storage/paths.ts";
import type { Identity } from "../../storage/private/identity.ts";
import {
  preparePrivateFolders,
  rememberWire,
  resolveWireKey,
} from "../../storage/private/private-folders.ts";
import {
  readPinned,
  readSettings,
  readTrust,
  savePinned,
} from "../../storage/private/private-store.ts";
import {
  earlierIdentities,
  isNextUrgent,
  loadNextIdentity,
  loadSigningIdentity,
} from "../../storage/private/signing-key.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { parseConfig, type WireConfig } from "../../trust/policy/config.ts";
import { defaultPolicyText } from "../../trust/policy/default-policy.ts";
import type { HeartbeatTiers } from "../../trust/policy/heartbeat-tiers.ts";
import { weaknesses } from "../../trust/policy/weak-policy.ts";
import { newPeer, type PinnedKey, type TrustStore } from "../../trust/store.ts";
import { rosterProblems } from "../../wire/handle.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { parsedConfig, parsedTiers } from "./parsed-config.ts";
import { readAgentSettings, type AgentSettings } from "./settings.ts";
import { trustIn } from "./trust-store.ts";

/** Which agent on which wire. `peers` replaces a roster that the wire lacks (1.1). */
export interface PlaceRequest {
  readonly wireDir: string;
  readonly handle: string;
  readonly peers?: readonly string[] | undefined;
}

/** Everything of an agent that the operator decides and that no peer can change. Spec 1.1, 2.1. */
export interface AgentConfig {
  readonly handle: string;
  readonly paths: AgentPaths;
  readonly wire: WirePaths;
  /** What we sign with on this wire. */
  readonly identity: Identity;
  /** The key that a rotation is to bring in. Spec 2.5. */
  readonly nextIdentity: Identity | undefined;
  /** It is to be used at once: the one in use may be in other hands. */
  readonly nextIsUrgent: boolean;
  readonly config: WireConfig;
  readonly tiers: HeartbeatTiers;
  /** The first members of the epoch. Spec 3.11. */
  readonly pinned: PinnedRoster;
  readonly settings: AgentSettings;
  /** The private store, with our own key in it at TRUSTED. */
  readonly store: TrustStore;
}

const THEN = "start again";

/** Loads and checks all of it; throws what the operator has to correct. Spec 3.9. */
export function loadPlace(disk: Disk, places: Places, request: PlaceRequest): AgentConfig {
  requireWire(disk, request.wireDir);
  const wireDir = disk.realPath(request.wireDir);
  const wire = wirePaths(wireDir);
  const wireKey = resolveWireKey(disk, places, request.handle, wireDir, claimedWireId(disk, wire));
  const paths = agentPaths(places, { wireDir, wireKey, handle: request.handle });
  preparePrivateFolders(disk, paths);
  const trustAndKeys = readTrustAndKeys(disk, paths);
  const settings = readAgentSettings(readSettings(disk, paths), paths.settings);
  const hasJoined = readPinned(disk, paths, "config") !== undefined;
  const config = parsedConfig(
    wire.config,
    pinned(disk, paths, "config", wire.config, request),
    THEN,
  );
  const tiers = parsedTiers(wire.tiers, pinned(disk, paths, "tiers", wire.tiers, request), THEN);
  const pinnedRoster = pinnedRosterOf(config, request, settings);
  if (!hasJoined) requireInRoster(pinnedRoster, request.handle);
  // An identity that turns out not to be on this wire has not joined it.
  rememberWire(disk, paths, config.wireId);
  return {
    ...{ handle: request.handle, paths, wire, config, tiers, pinned: pinnedRoster, settings },
    ...trustAndKeys,
  };
}

/** What the operator and rotations change while a daemon runs. */
export type TrustAndKeys = Pick<
  AgentConfig,
  "identity" | "nextIdentity" | "nextIsUrgent" | "store"
>;

/** Our keys, and the private store with them in it. @throws StorageError */
export function readTrustAndKeys(disk: Disk, paths: AgentPaths): TrustAndKeys {
  const identity = loadSigningIdentity(disk, paths);
  const nextIdentity = loadNextIdentity(disk, paths);
  const nextIsUrgent = isNextUrgent(disk, paths);
  return { identity, nextIdentity, nextIsUrgent, store: storeOf(disk, paths, identity) };
}

/**
 * The id that the folder claims; only names private folders that do not exist yet. A file that is
 * broken or obstructed claims none: once there is a pinned one, that is no problem. Spec 1.1.
 */
function claimedWireId(disk: Disk, wire: WirePaths): string | undefined {
  try {
    const bytes = readWhole(disk, wire.config, MAX_CONFIG_BYTES);
    const parsed = bytes === undefined ? undefined : parseConfig(bytes);
    return parsed?.ok === true ? parsed.config.wireId : undefined;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** Spec 1.1: copied privately at the first start; what peers write there later changes nothing. */
function pinned(
  disk: Disk,
  paths: AgentPaths,
  which: "config" | "tiers",
  wirePath: string,
  request: PlaceRequest,
): Uint8Array {
  const stored = readPinned(disk, paths, which);
  if (stored !== undefined) return stored;
  const bytes =
    readWhole(disk, wirePath, MAX_CONFIG_BYTES) ?? Buffer.from(defaultPolicyText(which));
  // Refused before it is pinned: a broken file must not become our pinned one.
  if (which === "config") refuseWeak(parsedConfig(wirePath, bytes, THEN), request);
  else parsedTiers(wirePath, bytes, THEN);
  savePinned(disk, paths, which, bytes);
  return bytes;
}

/** A policy that is weaker than the defaults is pinned by `init` and `join` alone, which ask. Spec 1.1. */
function refuseWeak(config: WireConfig, { wireDir, handle, peers = [] }: PlaceRequest): void {
  const roster = config.roster.length > 0 ? config.roster : peers;
  const weak = weaknesses(config, roster, [handle]);
  if (weak.length === 0) return;
  const what = weak.map(({ detail }) => detail).join("\n");
  throw new DeaddropError("config", `this wire's policy is weaker than the defaults:\n${what}`, {
    hint: `join the wire first, and agree to each there: deaddrop join ${wireDir} --me ${handle}`,
  });
}

/** The first members, from the configuration or from the peers that are named. Spec 1.1. */
function pinnedRosterOf(
  config: WireConfig,
  request: PlaceRequest,
  settings: AgentSettings,
): PinnedRoster {
  const named = [...(request.peers ?? []), ...settings.peers];
  const roster =
    config.roster.length > 0 ? config.roster : [...new Set([request.handle, ...named])];
  const problems = rosterProblems(roster);
  if (problems.length > 0) throw new DeaddropError("config", problems.join("\n"));
  if (roster.length < 2) {
    throw new DeaddropError("config", "the wire names no peers", {
      hint: "say who is on it: --peer <handle>, once for each",
    });
  }
  const unchained = new Set(config.unchained);
  return {
    roster: new Map(roster.map((handle) => [handle, !unchained.has(handle)])),
    epoch: config.rosterEpoch,
  };
}

/** Members that others have let in later join first; who is one follows from lines. Spec 3.11. */
function requireInRoster({ roster }: PinnedRoster, handle: string): void {
  if (roster.has(handle)) return;
  throw new DeaddropError("config", `"${handle}" is not in the wire's roster`, {
    hint: `the roster is ${[...roster.keys()].join(", ")}; use one of these handles with --as`,
  });
}

/**
 * Our own keys are believed too, so that our log is judged like any other: all keys whose private
 * half is here, not what the store lists for us. The store only notes which of them are retired.
 * Spec 2.5.
 */
function storeOf(disk: Disk, paths: AgentPaths, identity: Identity): TrustStore {
  const store = trustIn(paths, readTrust(disk, paths));
  const { handle } = identity.signer;
  const noted = store.peers.get(handle)?.keys ?? [];
  const held = [identity, ...earlierIdentities(disk, paths)].map(({ signer, publicKey }) => {
    const isNoted = ({ key }: PinnedKey) => Buffer.compare(key, publicKey) === 0;
    const unnoted = { keyId: signer.keyId, key: publicKey, addedAt: "", active: true };
    return noted.find(isNoted) ?? unnoted;
  });
  const own = {
    ...newPeer(handle),
    tier: "TRUSTED" as const,
    tierSetAtMs: 0,
    attestedSinceMs: 0,
    keys: held,
    mayBeUnsigned: store.peers.get(handle)?.mayBeUnsigned ?? false,
  };
  return { ...store, peers: new Map([...store.peers, [handle, own]]) };
}
