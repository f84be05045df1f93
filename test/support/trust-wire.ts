import { join } from "node:path";
import { PrivateTrust } from "../../src/agent/config/private-trust.ts";
import type { CorePlace } from "../../src/agent/core.ts";
import type { Duty, Ground } from "../../src/agent/duties/duty.ts";
import { changePrivateTrust } from "../../src/agent/config/trust-store.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { agentPaths, type AgentPaths } from "../../src/storage/paths.ts";
import { makeIdentity } from "../../src/storage/private/identity.ts";
import { preparePrivateFolders } from "../../src/storage/private/private-folders.ts";
import { acceptKey, setTier, type StoreChange } from "../../src/trust/pins.ts";
import { peerNamed, type TrustStore } from "../../src/trust/store.ts";
import type { Tier } from "../../src/trust/tiers.ts";
import { publicKeyOf } from "../../src/wire/signature.ts";
import { CoreWire, secretOf, WIRE_ID, type CoreAgent, type Transports } from "./core-wire.ts";

const real = nodeDisk();
const AT = "2026-06-01T00:00:00.000Z";

/** What the duties of such an agent are made from. */
export interface TrustParts {
  readonly ground: Ground;
  readonly trust: PrivateTrust;
  readonly paths: AgentPaths;
}

/** Agents that believe what their own private trust files say; each has pinned the others at a tier. */
export class TrustWire extends CoreWire {
  readonly #files = new Map<string, PrivateTrust>();

  constructor(
    root: string,
    names: readonly string[],
    options: {
      readonly tier?: Tier;
      readonly duties?: (parts: TrustParts) => readonly Duty[];
      readonly transports?: Transports;
    } = {},
  ) {
    const opened = new Map<string, { trust: PrivateTrust; paths: AgentPaths }>();
    const open = (agent: CoreAgent) => {
      const known = opened.get(agent.name) ?? openTrust(agent, names, options.tier ?? "ATTESTED");
      opened.set(agent.name, known);
      return known;
    };
    super(
      root,
      names,
      options.transports,
      (agent) => (ground) => options.duties?.({ ground, ...open(agent) }) ?? [],
      (agent, place) => trustingPlace(place, open(agent).trust),
    );
    for (const [name, { trust }] of opened) this.#files.set(name, trust);
  }

  trust(name: string): PrivateTrust {
    const trust = this.#files.get(name);
    if (trust === undefined) throw new Error(`nobody is ${name}`);
    return trust;
  }

  paths(name: string): AgentPaths {
    return pathsOf(this.agent(name));
  }
}

function trustingPlace(place: CorePlace, trust: PrivateTrust): CorePlace {
  const { signer: _fixed, ...rest } = place;
  return {
    ...rest,
    get signer() {
      return trust.identity.signer;
    },
    believed: (author) => peerNamed(trust.store, author),
  };
}

function pathsOf({ name, home }: CoreAgent): AgentPaths {
  const places = { configHome: join(home, "config"), stateHome: join(home, "state") };
  return agentPaths(places, { wireDir: home, wireKey: WIRE_ID, handle: name });
}

function openTrust(agent: CoreAgent, names: readonly string[], tier: Tier) {
  const paths = pathsOf(agent);
  preparePrivateFolders(real, paths);
  makeIdentity(real, paths.identity, agent.name, secretOf(agent.name));
  for (const name of names.filter((each) => each !== agent.name))
    changePrivateTrust(real, paths, (store) => pinnedAt(store, name, tier));
  return { trust: new PrivateTrust(real, paths), paths };
}

function pinnedAt(store: TrustStore, name: string, tier: Tier): StoreChange {
  const pinned = acceptKey(store, name, publicKeyOf(secretOf(name)), AT);
  return pinned.ok ? setTier(pinned.store, name, tier, Date.parse(AT)) : pinned;
}
