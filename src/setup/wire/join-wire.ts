import { resolve } from "node:path";
import { parsedTiers, parsedConfig } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { wireKeyOf, wirePaths } from "../../storage/paths.ts";
import { forgetWire, resolveWireKey } from "../../storage/private/private-folders.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { requireWire } from "../../storage/wire-folder.ts";
import { acceptKey, pin, type StoreChange } from "../../trust/pins.ts";
import type { WireConfig } from "../../trust/policy/config.ts";
import { isPinned, type TrustStore } from "../../trust/store.ts";
import type { TrustDocument } from "../../trust/trust-file.ts";
import type { SetupHost } from "../host.ts";
import { readWireTrust, setupReport, type SetupReport } from "../report.ts";
import { runSteps, type Step } from "../steps.ts";
import {
  advertiseStep,
  contactStep,
  keyStep,
  ownLogSteps,
  ownPaths,
  privateSteps,
  trustStep,
  type AgentSide,
} from "./agent-steps.ts";
import { excludeSteps, offeredPinSteps, refuseRoster, type PeerKey } from "./init-wire.ts";
import { isProposed, refuseWithoutKey } from "./newcomer.ts";
import {
  holdsPolicy,
  readPolicy,
  requireAgreement,
  NO_AGREEMENT,
  type Agreement,
} from "./policy-to-pin.ts";
import { correctSharingSteps, refuseAnothers } from "./sharing.ts";
import { wireIdStep } from "./wire-id.ts";

export interface JoinRequest {
  readonly wireDir: string;
  readonly handle: string;
  /** Needed where the wire names no roster; otherwise each must be in it. Spec 1.1. */
  readonly peers: readonly string[];
  /** Leave the folder to the project's commits. */
  readonly track?: boolean | undefined;
  readonly peerKeys?: readonly PeerKey[] | undefined;
  /** Pin the keys that the wire advertises for our peers, at UNTRUSTED. */
  readonly acceptWireTrust?: boolean | undefined;
  /** Another wire was at this path before: begin with nothing that was remembered of it. */
  readonly anew?: boolean | undefined;
  /** The handle was on this wire before, and its key is lost. */
  readonly newKey?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
}

/**
 * Takes an agent of this machine onto a wire that is there: key, private copies, own logs. Nobody
 * is pinned but by the operator. Running it again changes nothing that is there. Spec 8.6.
 */
export function joinWire(
  host: SetupHost,
  request: JoinRequest,
  agrees: Agreement = NO_AGREEMENT,
): SetupReport {
  const dryRun = request.dryRun === true;
  requireWire(host.disk, resolve(request.wireDir));
  const wireDir = host.disk.realPath(resolve(request.wireDir));
  const named = runSteps([wireIdStep(host, wireDir)], dryRun).filter(
    ({ outcome }) => outcome !== "already",
  );
  const side = planSide(host, wireDir, request, agrees);
  // Before a key is made: who gives another user's handle by mistake would be two from then on.
  for (const path of ownPaths(side)) refuseAnothers(host.disk, path, side.sharing);
  const steps: Step[] = [
    ...(request.anew === true ? forgetSteps(host, side) : []),
    keyStep(host, side.handle),
    ...correctSharingSteps(host.disk, side),
    ...privateSteps(host, side),
    ...ownLogSteps(host, side),
    advertiseStep(host, side),
    ...offeredPinSteps(host, side, request.peerKeys ?? []),
    ...(request.acceptWireTrust === true ? [wireTrustStep(host, side)] : []),
    contactStep(host, side),
    ...(request.track === true ? [] : excludeSteps(side.wireDir)),
  ];
  return setupReport(host, side, [...named, ...runSteps(steps, dryRun)], dryRun);
}

function planSide(
  host: SetupHost,
  wireDir: string,
  request: JoinRequest,
  agrees: Agreement,
): AgentSide {
  const { disk } = host;
  const policy = readPolicy(host, wireDir);
  const config = parsedConfig(wirePaths(wireDir).config, policy.config);
  parsedTiers(wirePaths(wireDir).tiers, policy.tiers);
  const { handle } = request;
  const { newKey = false } = request;
  const roster = rosterOf(config, request, (newcomer) =>
    isProposed(disk, { wireDir, roster: config.roster, handle: newcomer }),
  );
  refuseWithoutKey(host, { wireDir, roster, handle, newKey });
  if (request.anew !== true) refuseAnotherWire(host, handle, wireDir, config);
  const isPinned = holdsPolicy(host, { wireDir, handle, wireId: config.wireId }, request.anew);
  if (!isPinned && request.dryRun !== true) {
    requireAgreement(config, roster, [handle], agrees);
  }
  return {
    wireDir,
    handle,
    policy,
    wireId: config.wireId,
    roster,
    unchained: config.unchained,
    rememberPeers: config.roster.length === 0,
    sharing: sharingOf(disk, wireDir),
  };
}

/** Who is on the wire. Throws DeaddropError for who is not, and where nobody says it. */
export function rosterOf(
  config: Pick<WireConfig, "roster">,
  { handle, peers }: Pick<JoinRequest, "handle" | "peers">,
  isLetIn: (handle: string) => boolean,
): readonly string[] {
  if (config.roster.length === 0) {
    if (peers.length === 0) {
      throw new DeaddropError("usage", "this wire does not say who is on it", {
        hint: "name the other side: --peer <handle>, once for each",
      });
    }
    const roster = [handle, ...peers];
    refuseRoster(roster);
    return roster;
  }
  const roster = [...new Set([...config.roster, handle, ...peers])];
  refuseRoster(roster);
  const stranger = [handle, ...peers].find(
    (each) => !config.roster.includes(each) && !isLetIn(each),
  );
  if (stranger !== undefined) {
    throw new DeaddropError(
      "config",
      `"${stranger}" is not in the roster of this wire: ${config.roster.join(", ")}`,
      {
        hint: `join as one of these; or have a member let it in: deaddrop member add ${stranger}`,
      },
    );
  }
  return roster;
}

/** Pins and heads of one wire must not be taken for another's that is at the same path. */
function refuseAnotherWire(
  { disk, places }: SetupHost,
  handle: string,
  wireDir: string,
  { wireId }: WireConfig,
): void {
  const remembered = resolveWireKey(disk, places, handle, wireDir, wireId);
  if (wireId === undefined || remembered === wireKeyOf(wireId, wireDir)) return;
  throw new DeaddropError(
    "config",
    `${wireDir} has the wire id ${wireId}, but ${handle} knew the wire there as ${remembered}`,
    {
      hint: "if this is a new wire, join with --anew: what was remembered of the old one is then ignored; otherwise somebody changed config.json",
    },
  );
}

function forgetSteps({ disk, places }: SetupHost, side: AgentSide): Step[] {
  const { handle, wireDir, wireId } = side;
  return [
    {
      what: `leave what ${handle} remembered of an older wire at ${wireDir}`,
      needed: () =>
        resolveWireKey(disk, places, handle, wireDir, wireId) !== wireKeyOf(wireId, wireDir),
      run: () => {
        forgetWire(disk, places, handle, wireDir);
      },
    },
  ];
}

function wireTrustStep(host: SetupHost, side: AgentSide): Step {
  const file = wirePaths(side.wireDir).trust;
  return trustStep(
    host,
    side,
    `pin what ${file} advertises for the peers, at UNTRUSTED`,
    (store) => {
      const claimed = readWireTrust(host.disk, file);
      if (claimed?.ok !== true) return claimed ?? { ok: true, store };
      return pinAdvertised(store, claimed.document, side, host.nowMs);
    },
  );
}

/** Peers of the roster only, and only those of whom nothing is pinned: a pin is never added to. */
function pinAdvertised(
  store: TrustStore,
  { peers }: TrustDocument,
  { roster, handle: self }: AgentSide,
  nowMs: number,
): StoreChange {
  const now = new Date(nowMs).toISOString();
  let current = store;
  for (const handle of roster) {
    if (handle === self || isPinned(store.peers.get(handle))) continue;
    const active = peers.get(handle)?.keys.filter((key) => key.active) ?? [];
    for (const [at, { key, addedAt }] of active.entries()) {
      const add = at === 0 ? pin : acceptKey;
      const added = add(current, handle, key, addedAt || now);
      if (!added.ok) return added;
      current = added.store;
    }
  }
  return { ok: true, store: current };
}
