import { dirname, join } from "node:path";
import type { Disk } from "../../storage/disk/disk.ts";
import { loadPlace } from "../../agent/config/agent-config.ts";
import { makeIdentity, noKey } from "../../storage/private/identity.ts";
import { loadSigningIdentity } from "../../storage/private/signing-key.ts";
import {
  agentPaths,
  cardPath,
  identityPaths,
  programFolder,
  wirePaths,
  type Places,
} from "../../storage/paths.ts";
import { preparePrivateFolders, rememberWire } from "../../storage/private/private-folders.ts";
import { readSettings, savePinned, saveSettings } from "../../storage/private/private-store.ts";
import {
  changeInOrder,
  pin,
  setTier,
  type StoreChange,
  type TrustChange,
} from "../../trust/pins.ts";
import { isPinned, type TrustStore } from "../../trust/store.ts";
import { carriersOf } from "../../carriers/folder.ts";
import { advertiseKey, advertises, type AdvertisedKey } from "../contact/advertise.ts";
import { meetPeers } from "../contact/first-contact.ts";
import { agentPathsOn, type SetupHost } from "../host.ts";
import type { OfferedKey } from "../contact/offered-key.ts";
import type { PolicyFiles } from "./policy-to-pin.ts";
import { changePrivateTrust, readPrivateTrust } from "../../agent/config/trust-store.ts";
import { refuseAnothers, share } from "./sharing.ts";
import type { Step } from "../steps.ts";
import type { Sharing } from "../../storage/sharing.ts";

/** One agent of this machine on a wire whose folder is there, at the latest after the steps before. */
export interface AgentSide {
  readonly wireDir: string;
  readonly handle: string;
  readonly wireId: string | undefined;
  /** The first members, and this agent where they have let it in since. */
  readonly roster: readonly string[];
  /** Who of them does not chain. */
  readonly unchained: readonly string[];
  /** The wire's own configuration names no roster: the peers are remembered privately. Spec 1.1. */
  readonly rememberPeers: boolean;
  readonly sharing: Sharing;
  /** The bytes of config.json and tiers.json that were shown, and that are pinned. Spec 1.1. */
  readonly policy: PolicyFiles;
}

/**
 * Makes the key, unless the agent has one: an identity is one for all of its wires. Spec 2.5. A key
 * that was in use and is gone is not replaced without being asked to.
 */
export function keyStep({ disk, places, random }: SetupHost, handle: string): Step {
  const paths = identityPaths(places, handle);
  return {
    what: `make the key ${paths.key}`,
    needed: () => {
      const isThere = (disk.stat(paths.key)?.size ?? 0) > 0;
      if (!isThere && wasOnAWire(disk, places, handle)) throw noKey(disk, paths, handle);
      return !isThere;
    },
    run: () => {
      makeIdentity(disk, paths, handle, random(32));
    },
  };
}

function wasOnAWire(disk: Disk, places: Places, handle: string): boolean {
  const folder = programFolder(places);
  if (disk.stat(folder)?.kind !== "folder") return false;
  return disk.list(folder).some((wireKey) => {
    if (!/^[\w-]+$/.test(wireKey)) return false;
    return disk.stat(agentPaths(places, { wireDir: "", wireKey, handle }).remembered) !== undefined;
  });
}

/** The agent's own key on that wire as others may know it. Throws when it cannot be read. */
function ownKey(host: SetupHost, side: AgentSide): AdvertisedKey {
  const { handle } = side;
  const paths = agentPathsOn(host, side);
  const { key_id: keyId, key } = loadSigningIdentity(host.disk, paths).publicIdentity;
  return { handle, keyId, key, addedAt: new Date(host.nowMs).toISOString() };
}

/** What the agent keeps to itself: folders, and the configuration it holds on to. Spec 1.1. */
export function privateSteps(host: SetupHost, side: AgentSide): Step[] {
  const { disk } = host;
  const paths = () => agentPathsOn(host, side);
  const pinned = (which: "config" | "tiers"): Step => ({
    what: `keep a private copy of ${which}.json for ${side.handle}`,
    needed: () => {
      const { pinnedConfig, pinnedTiers } = paths();
      return disk.stat(which === "config" ? pinnedConfig : pinnedTiers) === undefined;
    },
    run: () => {
      savePinned(disk, paths(), which, side.policy[which]);
    },
  });
  const steps: Step[] = [
    {
      what: `make the private folders of ${side.handle}`,
      needed: () => disk.stat(paths().remembered) === undefined,
      run: () => {
        preparePrivateFolders(disk, paths());
        rememberWire(disk, paths(), side.wireId);
      },
    },
    pinned("config"),
    pinned("tiers"),
  ];
  return side.rememberPeers ? [...steps, peersStep(host, side)] : steps;
}

function peersStep(host: SetupHost, side: AgentSide): Step {
  const { disk } = host;
  const peers = side.roster.filter((handle) => handle !== side.handle);
  const paths = () => agentPathsOn(host, side);
  const settings = () => (readSettings(disk, paths()) ?? {}) as Record<string, unknown>;
  return {
    what: `remember the peers: ${peers.join(", ")}`,
    needed: () => JSON.stringify(settings()["peers"]) !== JSON.stringify(peers),
    run: () => {
      saveSettings(disk, paths(), { ...settings(), peers });
    },
  };
}

/** The files into which this agent writes. */
export function ownPaths({ wireDir, handle, roster, unchained }: AgentSide): readonly string[] {
  const members = new Map(roster.map((each) => [each, !unchained.includes(each)]));
  return carriersOf(handle, members).map(({ path }) => join(wireDir, path));
}

/** Our own carriers, empty, so that their group and mode are right from the first line on. */
export function ownLogSteps({ disk }: SetupHost, side: AgentSide): Step[] {
  return ownPaths(side).map((path) => {
    return {
      what: `make the log ${path}`,
      needed: () => {
        refuseAnothers(disk, path, side.sharing);
        return disk.stat(path) === undefined;
      },
      run: () => {
        makeOutbox(disk, path, side);
        disk.open(path, "append", side.sharing.logMode).close();
        share(disk, path, side.sharing.logMode, side.sharing);
      },
    };
  });
}

function makeOutbox(disk: Disk, path: string, { wireDir, sharing }: AgentSide): void {
  const { outbox } = wirePaths(wireDir);
  if (dirname(path) !== outbox || disk.stat(outbox) !== undefined) return;
  disk.makeFolder(outbox, sharing.folderMode);
  share(disk, outbox, sharing.folderMode, sharing);
}

/** Our key in the wire's trust.json, which is all that Python peers read. Spec 2.1. */
export function advertiseStep(host: SetupHost, side: AgentSide): Step {
  const path = wirePaths(side.wireDir).trust;
  const hasKey = () => host.disk.stat(identityPaths(host.places, side.handle).key) !== undefined;
  return {
    what: `advertise the key of ${side.handle} in ${path}`,
    needed: () => !hasKey() || !advertises(host.disk, path, ownKey(host, side)),
    run: () => {
      advertiseKey(host.disk, path, ownKey(host, side), side.sharing);
    },
  };
}

/**
 * First contact: our card is in the wire, and a peer that has shown one and is not pinned yet is
 * pinned by it, at UNTRUSTED. Spec 2.2, 8.6.
 */
export function contactStep(host: SetupHost, side: AgentSide): Step {
  const { wireDir, handle, roster } = side;
  const peers = roster.filter((each) => each !== handle);
  const wire = wirePaths(wireDir);
  const paths = () => agentPathsOn(host, side);
  const isStranger = (peer: string): boolean =>
    !isPinned(readPrivateTrust(host.disk, paths()).peers.get(peer));
  const hasCard = (of: string): boolean => host.disk.stat(cardPath(wire, of)) !== undefined;
  return {
    what: `show the card of ${handle}, and look at those of ${peers.join(", ")}`,
    needed: () => {
      refuseAnothers(host.disk, cardPath(wire, handle), side.sharing);
      return !hasCard(handle) || peers.some((peer) => hasCard(peer) && isStranger(peer));
    },
    run: () => {
      meetPeers(host, loadPlace(host.disk, host.places, { wireDir, handle, peers }));
    },
  };
}

/** Pins keys that the operator gave, at a tier; a pin that is there is never replaced. Spec 2.1. */
export function pinStep(
  host: SetupHost,
  side: AgentSide,
  tier: "UNTRUSTED" | "TRUSTED",
  offered: () => readonly OfferedKey[],
  what: string,
): Step {
  return trustStep(host, side, what, (store) =>
    changeInOrder(
      store,
      offered().map((key) => (current) => pinAt(current, key, tier, host.nowMs)),
    ),
  );
}

/** A change of the private trust store, needed unless it changes nothing. */
export function trustStep(
  host: SetupHost,
  side: AgentSide,
  what: string,
  change: TrustChange,
): Step {
  const paths = () => agentPathsOn(host, side);
  return {
    what,
    needed: () => {
      const store = readPrivateTrust(host.disk, paths());
      const changed = change(store);
      return !changed.ok || changed.store !== store;
    },
    run: () => {
      changePrivateTrust(host.disk, paths(), change);
    },
  };
}

/** Pins a key and lifts its agent to the tier: TRUSTED is reached from ATTESTED. Spec 2.3. */
function pinAt(
  store: TrustStore,
  offered: OfferedKey,
  tier: "UNTRUSTED" | "TRUSTED",
  nowMs: number,
): StoreChange {
  const { handle, key } = offered;
  const isLifted = tier === "TRUSTED" && store.peers.get(handle)?.tier !== "TRUSTED";
  const lifts = isLifted ? (["ATTESTED", "TRUSTED"] as const) : [];
  return changeInOrder(store, [
    (current) => pin(current, handle, key, new Date(nowMs).toISOString()),
    ...lifts.map((next) => (current: TrustStore) => setTier(current, handle, next, nowMs)),
  ]);
}
