import { resolve } from "node:path";
import { parsedTiers } from "../../agent/config/parsed-config.ts";
import { DeaddropError } from "../../api/errors.ts";
import { readWhole, type Disk } from "../../storage/disk/disk.ts";
import { identityPaths, wirePaths } from "../../storage/paths.ts";
import { forgetWire } from "../../storage/private/private-folders.ts";
import { ONE_USER, type Sharing, sharedByGroup, sharingOf } from "../../storage/sharing.ts";
import { createWire, isWire } from "../../storage/wire-folder.ts";
import { DEFAULT_CONFIG, parseConfig } from "../../trust/policy/config.ts";
import { rosterProblems } from "../../wire/handle.ts";
import { MAX_CONFIG_BYTES } from "../../wire/limits.ts";
import { readOfferedKey } from "../contact/offered-key.ts";
import { randomWireId, type SetupHost } from "../host.ts";
import { setupReport, type SetupReport } from "../report.ts";
import { runSteps, type Step } from "../steps.ts";
import {
  advertiseStep,
  contactStep,
  keyStep,
  ownLogSteps,
  pinStep,
  privateSteps,
  type AgentSide,
} from "./agent-steps.ts";
import { addExclude, gitExcludeFor, isExcluded } from "./git-exclude.ts";
import {
  holdsPolicy,
  readPolicy,
  requireAgreement,
  type PolicyFiles,
  NO_AGREEMENT,
  type Agreement,
} from "./policy-to-pin.ts";
import { protocolDocument } from "./protocol-document.ts";
import { correctSharingSteps } from "./sharing.ts";
import { ownGroupId } from "./unix-groups.ts";
import { shippedTiersText } from "../program.ts";
import { newConfigText, protocolSubject, readWireConfig } from "./wire-config.ts";

/** A key that the operator gives for a peer: base64, or the path of its .pub.json. */
export interface PeerKey {
  readonly handle: string;
  readonly source: string;
}

export interface InitRequest {
  readonly wireDir: string;
  /** The agents of this machine; the first is "we". Two for `--local-pair`. */
  readonly handles: readonly string[];
  readonly peers: readonly string[];
  readonly group?: string | undefined;
  /** Leave the folder to the project's commits. */
  readonly track?: boolean | undefined;
  readonly peerKeys?: readonly PeerKey[] | undefined;
  readonly dryRun?: boolean | undefined;
}

/**
 * Makes a wire, or completes one that is there already: folder, configuration, keys, private
 * copies, pins. Running it again changes nothing that is there. Spec 1.1, 8.6.
 */
export function initWire(
  host: SetupHost,
  request: InitRequest,
  agrees: Agreement = NO_AGREEMENT,
): readonly SetupReport[] {
  const plan = planWire(host, request, agrees);
  const sides = request.handles.map((handle): AgentSide => ({ ...plan, handle }));
  const steps: Step[] = [
    ...request.handles.map((handle) => keyStep(host, handle)),
    wireStep(host, plan, request.handles),
    ...correctSharingSteps(host.disk, plan),
    ...sides.flatMap((side) => [
      ...privateSteps(host, side),
      ...ownLogSteps(host, side),
      advertiseStep(host, side),
      ...offeredPinSteps(host, side, request.peerKeys ?? []),
    ]),
    ...(request.handles.length > 1 ? mutualPins(host, sides) : []),
    ...sides.map((side) => contactStep(host, side)),
    ...(request.track === true ? [] : excludeSteps(plan.wireDir)),
  ];
  const dryRun = request.dryRun === true;
  const reports = runSteps(steps, dryRun);
  return sides.map((side) => setupReport(host, side, reports, dryRun));
}

/**
 * Makes a wire with all of its agents on this machine, under this user: keys for each, and each
 * pins the others at TRUSTED, since one operator holds all the keys. A report for each. Spec 8.6.
 */
export function initLocalPair(
  host: SetupHost,
  request: Omit<InitRequest, "handles" | "peerKeys">,
  handle: string,
  agrees: Agreement = NO_AGREEMENT,
): readonly SetupReport[] {
  if (request.group !== undefined) {
    throw new DeaddropError("usage", "--local-pair and --group exclude each other", {
      hint: "with --group each agent is a user of its own: run init as one, join as the other",
    });
  }
  return initWire(host, { ...request, handles: [handle, ...request.peers], peers: [] }, agrees);
}

type WirePlan = Omit<AgentSide, "handle"> & { readonly configText: string };

function planWire(host: SetupHost, request: InitRequest, agrees: Agreement): WirePlan {
  const wireDir = resolve(request.wireDir);
  const named = [...request.handles, ...request.peers];
  refuseRoster(named);
  const config = readWireConfig(host.disk, wireDir);
  if (config === undefined) refuseForeignWire(host, wireDir);
  parsedTiers(wirePaths(wireDir).tiers, readPolicy(host, wireDir).tiers);
  if (config !== undefined && config.roster.length === 0) throw joinInstead(wireDir);
  const outside = named.find((handle) => config !== undefined && !config.roster.includes(handle));
  if (outside !== undefined) {
    throw new DeaddropError(
      "config",
      `${wireDir} is a wire already, of ${config?.roster.join(", ")}; "${outside}" is not among them`,
      { hint: "use these handles, or give another folder for a new wire" },
    );
  }
  const wireId = config === undefined ? randomWireId(host) : config.wireId;
  const roster = config?.roster ?? named;
  const configText = newConfigText(wireId ?? "", roster);
  const policy = policyOf(host, wireDir, config === undefined ? configText : undefined);
  const pinning = request.handles.filter(
    (handle) => !holdsPolicy(host, { wireDir, handle, wireId }),
  );
  // One operator holds all of these handles: only what is others' is foreign.
  if (config !== undefined && request.dryRun !== true && pinning.length > 0) {
    requireAgreement(config, roster, request.handles, agrees);
  }
  const sharing = sharingFor(host, wireDir, request.group);
  const unchained = config?.unchained ?? [];
  return { wireDir, wireId, roster, unchained, rememberPeers: false, sharing, policy, configText };
}

/** What is pinned: what we write now, not what somebody puts there while we make the wire. */
function policyOf(host: SetupHost, wireDir: string, configText: string | undefined): PolicyFiles {
  const { config } = readPolicy(host, wireDir);
  const tiers = readWhole(host.disk, wirePaths(wireDir).tiers, MAX_CONFIG_BYTES);
  return {
    config: configText === undefined ? config : Buffer.from(configText),
    tiers: tiers ?? Buffer.from(shippedTiersText()),
  };
}

/** Throws every fault of a roster at once. Spec 1.1. */
export function refuseRoster(roster: readonly string[]): void {
  const problems = rosterProblems(roster);
  if (problems.length > 0) throw new DeaddropError("config", problems.join("\n"));
  if (roster.length < 2) {
    throw new DeaddropError("usage", "a wire needs two agents at least", {
      hint: "name the other side: --peer <handle>, once for each",
    });
  }
}

/** A folder with logs that others wrote, but no configuration, is theirs: it is joined, not made. */
function refuseForeignWire({ disk }: SetupHost, wireDir: string): void {
  if (!isWire(disk, wireDir)) return;
  const written = disk
    .list(wireDir)
    .find((name) => name.endsWith(".jsonl") && (disk.stat(`${wireDir}/${name}`)?.size ?? 0) > 0);
  if (written !== undefined) throw joinInstead(wireDir);
}

function joinInstead(wireDir: string): DeaddropError {
  return new DeaddropError("config", `${wireDir} is a wire that others have made`, {
    hint: `join it: deaddrop join ${wireDir} --me <handle> --peer <handle>`,
  });
}

function sharingFor(host: SetupHost, wireDir: string, group: string | undefined): Sharing {
  if (group !== undefined) return sharedByGroup(ownGroupId(group));
  return host.disk.stat(wireDir) === undefined ? ONE_USER : sharingOf(host.disk, wireDir);
}

function wireStep(host: SetupHost, plan: WirePlan, handles: readonly string[]): Step {
  const { disk, places } = host;
  const { wireDir, roster, sharing, configText } = plan;
  const made = wirePaths(wireDir);
  const needed = [
    ...[made.config, made.tiers, made.protocol, made.decisions, made.incidents],
    ...[made.trustFolder, made.archive],
  ];
  return {
    what: `make the wire ${wireDir}`,
    needed: () => needed.some((path) => disk.stat(path) === undefined),
    run: () => {
      const isNew = disk.stat(made.config) === undefined;
      const config = isNew ? parseConfig(Buffer.from(configText)) : undefined;
      const shown =
        config?.ok === true ? config.config : (readWireConfig(disk, wireDir) ?? DEFAULT_CONFIG);
      createWire(
        disk,
        wireDir,
        {
          config: configText,
          tiers: shippedTiersText(),
          protocol: protocolDocument(protocolSubject(shown)),
          logs: [],
          hasOutbox: roster.length !== 2,
        },
        sharing,
      );
      if (!isNew) return;
      refuseAnothersWire(disk, wireDir, configText);
      // Another wire was at this path once: its pins and heads are not this one's.
      for (const handle of handles) forgetWire(disk, places, handle, disk.realPath(wireDir));
    },
  };
}

/** Two may make a wire at once: the id is whose file is there. Spec 1.1. */
function refuseAnothersWire(disk: Disk, wireDir: string, configText: string): void {
  const there = readWhole(disk, wirePaths(wireDir).config, MAX_CONFIG_BYTES);
  if (there !== undefined && Buffer.from(there).equals(Buffer.from(configText))) return;
  throw new DeaddropError("config", `somebody else has made a wire in ${wireDir} meanwhile`, {
    hint: "repeat the command, which takes what is there; or give another folder",
  });
}

/** A step for each key that the operator gave; the keys are read and checked before any step runs. */
export function offeredPinSteps(
  host: SetupHost,
  side: AgentSide,
  peerKeys: readonly PeerKey[],
): Step[] {
  return peerKeys.map(({ handle, source }) => {
    if (!side.roster.includes(handle) || handle === side.handle) {
      throw new DeaddropError("usage", `--peer-key: "${handle}" is no peer on this wire`, {
        hint: `the peers of ${side.handle} are ${side.roster.filter((each) => each !== side.handle).join(", ")}`,
      });
    }
    const offered = readOfferedKey(host.disk, handle, source);
    return pinStep(host, side, "UNTRUSTED", () => [offered], `pin the key ${offered.keyId}`);
  });
}

/** All sides are this operator's own: each is told of the others' keys directly. Spec 8.6. */
function mutualPins(host: SetupHost, sides: readonly AgentSide[]): Step[] {
  return sides.map((side) => {
    const others = sides.map(({ handle }) => handle).filter((handle) => handle !== side.handle);
    const offered = () =>
      others.map((handle) =>
        readOfferedKey(host.disk, handle, identityPaths(host.places, handle).publicKey),
      );
    const what = `pin ${others.join(", ")} for ${side.handle} at TRUSTED`;
    return pinStep(host, side, "TRUSTED", offered, what);
  });
}

export function excludeSteps(wireDir: string): Step[] {
  const exclude = gitExcludeFor(wireDir);
  if (exclude === undefined) return [];
  return [
    {
      what: `keep ${exclude.pattern} out of commits (${exclude.file})`,
      needed: () => !isExcluded(exclude),
      run: () => {
        addExclude(exclude);
      },
    },
  ];
}
