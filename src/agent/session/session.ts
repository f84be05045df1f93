import { openCarriers, type Carriers } from "../../carriers/open-carriers.ts";
import type { OwnLines } from "../../carriers/carrier.ts";
import { isAgentHere } from "../../storage/private/agents-here.ts";
import { statePath } from "../../storage/paths.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { Store } from "../../store/store.ts";
import { believedIn } from "../config/believed.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { PrivateTrust } from "../config/private-trust.ts";
import { Core, type CorePlace, type CoreWorld } from "../core.ts";
import { AgentNotices } from "../duties/agent-notices.ts";
import { DecisionRecord } from "../duties/decision-record.ts";
import type { Duty, Ground } from "../duties/duty.ts";
import { EvidenceDuty } from "../duties/evidence.ts";
import { FillFolder } from "../duties/fill-folder.ts";
import { IncidentLog } from "../duties/incident-log.ts";
import { KeyDuty } from "../duties/keys.ts";
import { OperatorIncidents } from "../duties/operator-incidents.ts";
import { Parking } from "../duties/parking.ts";
import { PolicyDrift } from "../duties/policy-drift.ts";
import { SafeModeFile } from "../duties/safe-mode-file.ts";
import { StateFile } from "../duties/state-file.ts";
import { TierDuty } from "../duties/tiers.ts";
import { TransportTroubles } from "../duties/transport-troubles.ts";
import { OperatorDecisions } from "../lines/operator-decisions.ts";
import { readMark, writeMark, type Mark } from "../lines/mark.ts";
import type { World } from "./world.ts";

/** An agent with its store and its carriers, for as long as a process has the lock on its identity. */
export interface Session {
  readonly world: World;
  /** As it is now: an operator may change it meanwhile. */
  readonly config: AgentConfig;
  readonly core: Core;
  readonly carriers: Carriers;
  readonly trust: PrivateTrust;
  readonly decisions: OperatorDecisions;
  readonly notices: AgentNotices;
}

/** The configuration of an agent, which is loaded again when its operator says so. */
export interface ConfigNow {
  config: AgentConfig;
}

/**
 * Opens the store, and the carriers of one agent. `isDaemon`: it beats, and carries out what takes longer than a
 * command. Spec 4.1.
 *
 * @throws StorageError
 */
export function openSession(world: World, now: ConfigNow, isDaemon: boolean): Session {
  const { disk } = world;
  const { paths, handle, wire } = now.config;
  const trust = new PrivateTrust(disk, paths);
  const mark = beginMark(world, now.config);
  const opened: { carriers?: Carriers; notices?: AgentNotices } = {};
  const transports = (ours: OwnLines) => {
    const place = {
      ...{ wireDir: wire.folder, wireId: wireIdOf(now.config), wireKey: paths.wireKey },
      places: world.places,
      membership: () => core.membership,
    };
    const user = { wireDir: wire.folder, core: () => core };
    opened.carriers = openCarriers(world.carriers(user), place, ours);
    return opened.carriers.transports;
  };
  const duties = (ground: Ground): readonly Duty[] => {
    opened.notices = new AgentNotices(ground, {
      path: paths.notices,
      onNotice: world.hooks?.onNotice,
    });
    return [
      opened.notices,
      ...dutiesOf(world, now, { ground, trust, carriers: carriersIn(opened) }),
    ];
  };
  const store = Store.open(storeFile(world, now.config));
  const core: Core = new Core(
    coreWorld(world, isDaemon),
    corePlace(now, trust),
    store,
    mark,
    transports,
    duties,
  );
  const { notices } = opened;
  if (notices === undefined) throw new Error(`${handle} has no duties`);
  const files = {
    get store() {
      return trust.store;
    },
    change: trust.change.bind(trust),
    evidence: paths.evidence,
  };
  return {
    world,
    get config() {
      return now.config;
    },
    ...{ core, carriers: carriersIn(opened), trust, notices },
    decisions: new OperatorDecisions(core, files),
  };
}

/** The same over what a daemon has committed: nothing is written, and nothing is taken in. @throws StorageError */
export function openToRead(world: World, now: ConfigNow): Session {
  const { paths, wire } = now.config;
  const trust = new PrivateTrust(world.disk, paths);
  const opened: { carriers?: Carriers } = {};
  const transports = (ours: OwnLines) => {
    const place = {
      ...{ wireDir: wire.folder, wireId: wireIdOf(now.config), wireKey: paths.wireKey },
      places: world.places,
      membership: () => core.membership,
    };
    opened.carriers = openCarriers(
      world.carriers({ wireDir: wire.folder, core: () => core }),
      place,
      ours,
    );
    return opened.carriers.transports;
  };
  let notices: AgentNotices | undefined;
  const core: Core = new Core(
    coreWorld(world, false),
    corePlace(now, trust),
    Store.openToRead(storeFile(world, now.config)),
    readMark(world.disk, paths.mark),
    transports,
    (ground) => {
      notices = new AgentNotices(ground, { path: paths.notices });
      return [];
    },
  );
  if (notices === undefined) throw new Error("an agent without duties");
  return {
    world,
    get config() {
      return now.config;
    },
    ...{ core, carriers: carriersIn(opened), trust, notices },
    decisions: new OperatorDecisions(core, {
      store: trust.store,
      change: trust.change.bind(trust),
      evidence: paths.evidence,
    }),
  };
}

function carriersIn({ carriers }: { readonly carriers?: Carriers }): Carriers {
  if (carriers === undefined) throw new Error("an agent without carriers");
  return carriers;
}

function wireIdOf({ config, paths }: AgentConfig): string {
  // A configuration without one is completed before it is pinned.
  return config.wireId ?? paths.wireKey;
}

function storeFile(world: World, { paths }: AgentConfig): string {
  return world.storeFile?.(paths.store) ?? paths.store;
}

/** A wire begins with what the key had signed when it was made. Spec 1.6. */
function beginMark({ disk }: World, { paths }: AgentConfig): Mark | undefined {
  const mark = readMark(disk, paths.mark);
  if (mark !== undefined || disk.stat(paths.store) !== undefined) return mark;
  const made = readMark(disk, paths.identity.mark);
  if (made !== undefined) writeMark(disk, paths.mark, made);
  return made;
}

function coreWorld({ disk, clock, verifyAll, random, log }: World, isDaemon: boolean): CoreWorld {
  return { disk, clock, verifyAll, random, beats: isDaemon, log };
}

/** Everything is read anew each time: operators and rotations change it. */
export function corePlace(
  now: ConfigNow,
  trust: Pick<PrivateTrust, "store" | "identity">,
): CorePlace {
  const { handle, paths } = now.config;
  return {
    self: handle,
    wireId: wireIdOf(now.config),
    markPath: paths.mark,
    inboxPath: paths.inbox,
    get version() {
      return now.config.config.protocolVersion === "v3.0" ? "v3.0" : "v3.1";
    },
    get signing() {
      return now.config.config.signing;
    },
    get limits() {
      return now.config.config.limits;
    },
    get answerTimes() {
      return now.config.config.answerTimes;
    },
    get domains() {
      return now.config.config.domains;
    },
    get pinned() {
      return now.config.pinned;
    },
    get tiers() {
      return now.config.tiers;
    },
    get signer() {
      return trust.identity.signer;
    },
    get hidesLastAction() {
      return !now.config.settings.showLastAction;
    },
    believed: (author) => believedIn(trust.store, author),
  };
}

interface Parts {
  readonly ground: Ground;
  readonly trust: PrivateTrust;
  readonly carriers: Carriers;
}

function dutiesOf(world: World, now: ConfigNow, { ground, trust, carriers }: Parts): Duty[] {
  const { disk, places } = world;
  const { wire, paths, handle, settings } = now.config;
  const wireDir = wire.folder;
  return [
    new OperatorIncidents(ground),
    new PolicyDrift(ground, disk, () => now.config),
    new TransportTroubles(ground, () => carriers.transports),
    new KeyDuty(ground, trust, settings.keyGraceHours),
    new TierDuty(ground, trust),
    new Parking(ground, world.hooks?.stop),
    new EvidenceDuty(ground, paths),
    new DecisionRecord(ground, { wireDir }),
    new IncidentLog(ground, { wireDir }),
    new SafeModeFile(ground, { wireDir }),
    new StateFile(ground, statePath(wire, handle)),
    new FillFolder(ground, {
      ...{ wireDir, mode: sharingOf(disk, wireDir).logMode },
      isMover: () => carriers.git.view()?.is_mover ?? false,
      isLocal: (other) => other === handle || isAgentHere(disk, places, paths.wireKey, other),
      handles: () => ground.roster.handles,
      list: () => carriers.folder.list(),
    }),
  ];
}
