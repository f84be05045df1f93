import { readWhole, type Disk } from "../storage/disk/disk.ts";
import { wirePaths } from "../storage/paths.ts";
import { readPinned } from "../storage/private/private-store.ts";
import { parseTrustFile, type TrustParse } from "../trust/trust-file.ts";
import type { Tier } from "../trust/tiers.ts";
import { weaknesses } from "../trust/policy/weak-policy.ts";
import { loadSigningIdentity } from "../storage/private/signing-key.ts";
import { agentPathsOn, type SetupHost } from "./host.ts";
import type { AgentSide } from "./wire/agent-steps.ts";
import { fingerprintOf } from "./contact/offered-key.ts";
import { readPrivateTrust } from "../agent/config/trust-store.ts";
import { shownPolicy, type PolicyFiles } from "./wire/policy-to-pin.ts";
import type { StepReport } from "./steps.ts";
import { parsedConfig } from "../agent/config/parsed-config.ts";

/** A public key as people and `--json` see it. */
export interface KeyReport {
  readonly key_id: string;
  /** Raw public key, base64. */
  readonly key: string;
  /** SHA-256 of the raw key, 64 hex. */
  readonly fingerprint: string;
}

/** What we know of a peer, and what the wire merely claims. Spec 2.1. */
export interface PeerReport {
  readonly handle: string;
  readonly tier: Tier | null;
  /** Keys that we believe. */
  readonly pinned: readonly KeyReport[];
  /** Keys that the wire claims; nothing of them is used. */
  readonly advertised: readonly KeyReport[];
}

/** What a set-up came to, for one agent. Null and empty where a dry run made nothing. */
export interface SetupReport {
  readonly dry_run: boolean;
  readonly handle: string;
  readonly wire_dir: string;
  readonly wire_id: string | null;
  readonly roster: readonly string[];
  /** Null in a dry run that would make one. */
  readonly own_key: KeyReport | null;
  readonly peers: readonly PeerReport[];
  /** What was done, in order. */
  readonly steps: readonly StepReport[];
  /** The policy as it is pinned, a line for each setting. Spec 1.1. */
  readonly policy: readonly string[];
  /** In what it is weaker than the defaults. */
  readonly weaker: readonly string[];
}

export function setupReport(
  host: SetupHost,
  side: AgentSide,
  steps: readonly StepReport[],
  dryRun: boolean,
): SetupReport {
  const policy = heldPolicy(host, side);
  const config = parsedConfig("config.json", policy.config);
  const isHere = host.disk.stat(wirePaths(side.wireDir).config) !== undefined;
  return {
    dry_run: dryRun,
    handle: side.handle,
    wire_dir: side.wireDir,
    // A dry run has made no wire, and the real one will make another id.
    wire_id: (isHere ? side.wireId : undefined) ?? null,
    roster: side.roster,
    own_key: ownKeyReport(host, side),
    peers: peerReports(host, side),
    steps,
    policy: shownPolicy(policy),
    weaker: weaknesses(config, side.roster, [side.handle]).map(({ detail }) => detail),
  };
}

/** The private copy, or what would be copied. */
function heldPolicy(host: SetupHost, side: AgentSide): PolicyFiles {
  const { disk } = host;
  const paths = agentPathsOn(host, side);
  return {
    config: readPinned(disk, paths, "config") ?? side.policy.config,
    tiers: readPinned(disk, paths, "tiers") ?? side.policy.tiers,
  };
}

function ownKeyReport(host: SetupHost, side: AgentSide): KeyReport | null {
  const paths = agentPathsOn(host, side);
  if ((host.disk.stat(paths.identity.key)?.size ?? 0) === 0) return null;
  const { publicKey, signer } = loadSigningIdentity(host.disk, paths);
  return keyReport(signer.keyId, publicKey);
}

function peerReports(host: SetupHost, side: AgentSide): PeerReport[] {
  const paths = agentPathsOn(host, side);
  const { peers } = readPrivateTrust(host.disk, paths);
  const advertised = advertisedKeys(host, side.wireDir);
  return side.roster
    .filter((handle) => handle !== side.handle)
    .map((handle) => {
      const peer = peers.get(handle);
      const pinned = peer?.keys.filter((key) => key.active) ?? [];
      return {
        handle,
        tier: peer?.tier ?? null,
        pinned: pinned.map(({ keyId, key }) => keyReport(keyId, key)),
        advertised: advertised.get(handle) ?? [],
      };
    });
}

/** What a wire's trust.json claims; nothing of it is believed. Undefined: there is none. Spec 2.1. */
export function readWireTrust(disk: Disk, path: string): TrustParse | undefined {
  const bytes = readWhole(disk, path);
  return bytes && parseTrustFile(bytes, path, "UNTRUSTED");
}

/** The usable keys that the wire's trust.json claims, by handle. */
export function advertisedKeys(
  { disk }: SetupHost,
  wireDir: string,
): ReadonlyMap<string, readonly KeyReport[]> {
  const claimed = readWireTrust(disk, wirePaths(wireDir).trust);
  if (claimed?.ok !== true) return new Map();
  return new Map(
    [...claimed.document.peers.values()].map(({ handle, keys }) => [
      handle,
      keys.filter((key) => key.active).map(({ keyId, key }) => keyReport(keyId, key)),
    ]),
  );
}

export function keyReport(keyId: string, key: Uint8Array): KeyReport {
  return {
    key_id: keyId,
    key: Buffer.from(key).toString("base64"),
    fingerprint: fingerprintOf(key),
  };
}
