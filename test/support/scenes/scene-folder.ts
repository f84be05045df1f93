import type { Logger } from "../../../src/agent/session/world.ts";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { loadPlace } from "../../../src/agent/config/agent-config.ts";
import { makeIdentity } from "../../../src/storage/private/identity.ts";
import { preparePrivateFolders } from "../../../src/storage/private/private-folders.ts";
import { savePinned } from "../../../src/storage/private/private-store.ts";
import { agentPaths, identityPaths, placesFrom, type Places } from "../../../src/storage/paths.ts";
import type { Tier } from "../../../src/trust/tiers.ts";
import { newPeer, type Peer, type TrustStore } from "../../../src/trust/store.ts";
import { serialiseTrustStore } from "../../../src/trust/trust-file.ts";
import { writeMark } from "../../../src/agent/lines/mark.ts";
import { keyId, publicKeyOf } from "../../../src/wire/signature.ts";
import type { Disk } from "../../../src/storage/disk/disk.ts";

/** A Monday morning, UTC: where scenes begin. */
export const BEGIN_MS = Date.UTC(2026, 5, 1, 9);
export const WIRE = "/wire/_coordination";
export const WIRE_ID = "5ce9e0f1a2b3c4d5";
const TIERS = {
  schema_version: "v1",
  tiers: {
    T0_HEADS_DOWN: { cadence_seconds: 30 },
    T1_active: { cadence_seconds: 90 },
    T2_idle: { cadence_seconds: 270 },
    T3_long_idle: { cadence_seconds: 1200 },
  },
  transitions: {},
};

const HOLD = { cause: "key_revoked", detail: "the operator revoked a key of it" };

export interface SceneOptions {
  /** Who of the members does not chain. */
  readonly unchained?: readonly string[];
  /** Who is on the wire at first; all of the roster unless said. The others may join later. */
  readonly members?: readonly string[];
  readonly signing?: { enforce_signed: boolean; allow_unsigned_from: string[] };
  /** Whose unsigned lines the operators take, keys or not; all whom policy lets unless said. */
  readonly unsignedPins?: readonly string[];
  /** Of whom no key is pinned. */
  readonly keyless?: readonly string[];
  /** How an agent rates a peer; TRUSTED unless said: `{ forge: { scribe: "VERIFIED" } }`. */
  readonly tiers?: Readonly<Record<string, Readonly<Record<string, Tier>>>>;
  readonly domains?: object;
  /** Whom an agent's operator holds: `{ quill: ["vane"] }`. */
  readonly holds?: Readonly<Record<string, readonly string[]>>;
  /** Messages a minute that are taken of a peer who is not TRUSTED. */
  readonly rateLimit?: number;
  /** What an audit finds wrong with lines that hostile members write: how many, by rule. */
  readonly violations?: Readonly<Record<string, number>>;
  /** Secret keys by handle, where a test has lines that they have signed; else made up. */
  readonly keys?: Readonly<Record<string, Uint8Array>>;
  readonly wireId?: string;
  /** What the daemons log; nowhere unless said. */
  readonly log?: Logger;
  /** Of the disk: what a power cut takes. */
  readonly seed?: number;
  /** Trouble with the disk and deaths of processes are what the scene is about: nobody is told. */
  readonly withFaults?: boolean;
}

type Seeds = ReadonlyMap<string, Uint8Array>;

/** Where a scene is on its disk. */
export interface SceneGround {
  readonly wireDir: string;
  /** Who has a home there; all of the roster unless said. */
  readonly members?: readonly string[];
  homeOf(handle: string): string;
}

const GROUND: SceneGround = { wireDir: WIRE, homeOf: (handle) => `/home/${handle}` };

/** Makes a wire with everybody's keys and pins; returns where each keeps its own. */
export function makeScene(
  process: Disk,
  roster: readonly string[],
  options: SceneOptions,
  seeds: Seeds,
  ground: SceneGround = GROUND,
): ReadonlyMap<string, Places> {
  const { wireDir, members = roster } = ground;
  const { signing, unchained = [], domains = {}, rateLimit = 600, wireId } = options;
  process.makeFolder(wireDir, 0o700);
  const config = {
    wire_id: wireId ?? WIRE_ID,
    protocol_version: "v3.1",
    roster: options.members ?? roster,
    unchained,
    v3_signing: signing ?? { enforce_signed: true, allow_unsigned_from: [] },
    domains,
    limits: { rate_limit_msg_per_min: rateLimit },
  };
  const write = (path: string, value: object | string): void => {
    const text = typeof value === "string" ? value : `${JSON.stringify(value)}\n`;
    process.replace(path, Buffer.from(text, "utf8"), 0o600);
  };
  write(join(wireDir, "config.json"), config);
  write(join(wireDir, "tiers.json"), TIERS);
  process.makeFolder(join(wireDir, "archive"), 0o700);
  for (const path of ["decisions.jsonl", "incident_log.jsonl"]) {
    process.open(join(wireDir, path), "append").close();
  }
  const all = new Map<string, Places>();
  for (const [handle, seed] of [...seeds].filter(([each]) => members.includes(each))) {
    const home = ground.homeOf(handle);
    const places = placesFrom({ HOME: home }, home);
    const identity = identityPaths(places, handle);
    makeIdentity(process, identity, handle, seed);
    writeMark(process, identity.mark, { seq: 0, id: null });
    // As a join leaves it: the operator has agreed to the policy.
    const paths = agentPaths(places, { wireDir, wireKey: wireId ?? WIRE_ID, handle });
    preparePrivateFolders(process, paths);
    write(paths.trust, serialiseTrustStore(storeOf(handle, seeds, options)));
    all.set(handle, places);
    // Who joins later pins what the wire says then.
    if (!config.roster.includes(handle)) continue;
    savePinned(process, paths, "config", Buffer.from(`${JSON.stringify(config)}\n`, "utf8"));
    loadPlace(process, places, { wireDir, handle });
  }
  return all;
}

function storeOf(handle: string, seeds: Seeds, options: SceneOptions): TrustStore {
  const { tiers, holds, signing, keyless = [] } = options;
  const { unsignedPins = signing?.allow_unsigned_from ?? [] } = options;
  const peers = new Map<string, Peer>();
  for (const [peer, seed] of seeds) {
    if (peer === handle) continue;
    const key = publicKeyOf(seed);
    const tier = tiers?.[handle]?.[peer] ?? "TRUSTED";
    const since = BEGIN_MS - 86_400_000;
    const addedAt = new Date(since).toISOString();
    peers.set(peer, {
      ...newPeer(peer),
      tier,
      tierSetAtMs: since,
      attestedSinceMs: tier === "VERIFIED" || tier === "UNTRUSTED" ? undefined : since,
      keys: keyless.includes(peer) ? [] : [{ keyId: keyId(peer, key), key, addedAt, active: true }],
      mayBeUnsigned: unsignedPins.includes(peer),
      held: holds?.[handle]?.includes(peer) === true ? { ...HOLD, sinceMs: since } : undefined,
    });
  }
  return { version: 1, peers };
}
