import { openCarriers, type Carriers } from "../../carriers/open-carriers.ts";
import { isAgentHere } from "../../storage/private/private-folders.ts";
import { statePath } from "../../storage/paths.ts";
import { sharingOf } from "../../storage/sharing.ts";
import { Store } from "../../store/store.ts";
import { peerNamed } from "../../trust/store.ts";
import type { AgentConfig } from "../config/agent-config.ts";
import { PrivateTrust } from "../config/private-trust.ts";
import { Core, type CorePlace } from "../core.ts";
import { AgentNotices } from "../duties/agent-notices.ts";
import { DecisionRecord } from "../duties/decision-record.ts";
import type { Duty } from "../duties/duty.ts";
import { evidenceDuty } from "../duties/evidence.ts";
import { fillFolder } from "../duties/fill-folder.ts";
import { incidentLog } from "../duties/incident-log.ts";
import { KeyDuty } from "../duties/keys.ts";
import { operatorIncidents } from "../duties/operator-incidents.ts";
import { policyDrift } from "../duties/policy-drift.ts";
import { TierDuty } from "../duties/tiers.ts";
import { safeModeFile, stateFile } from "../duties/wire-files.ts";
import { OperatorDecisions } from "../lines/operator-decisions.ts";
import { readMark, writeMark, type Mark } from "../lines/mark.ts";
import { parkingDuty } from "../parked.ts";
import type { World } from "./world.ts";

/** Who opens a session. A reader shows what a daemon has committed: it writes nothing and takes nothing in. */
export type Opener = "daemon" | "command" | "reader";

/**
 * An agent with its store and its carriers, for as long as a process has the lock on its identity. A daemon's beats,
 * and carries out what takes longer than a command. Spec 4.1.
 */
export class Session {
  readonly world: World;
  readonly core: Core;
  readonly carriers: Carriers;
  readonly trust: PrivateTrust;
  readonly decisions: OperatorDecisions;
  readonly notices: AgentNotices;
  /** As it was read last. */
  config: AgentConfig;

  /** @throws StorageError */
  constructor(world: World, config: AgentConfig, opener: Opener) {
    const { disk } = world;
    const { paths, wire } = config;
    const isReader = opener === "reader";
    this.world = world;
    this.config = config;
    this.trust = new PrivateTrust(disk, paths);
    const mark = isReader ? readMark(disk, paths.mark) : beginMark(world, config);
    const storePath = world.storeFile?.(paths.store) ?? paths.store;
    const core = new Core(
      { ...world, beats: opener === "daemon" },
      corePlace(config, this.trust),
      isReader ? Store.openToRead(storePath) : Store.open(storePath),
      mark,
    );
    this.core = core;
    this.carriers = openCarriers(
      world.carriers({ wireDir: wire.folder, core: () => core }),
      {
        ...{ wireDir: wire.folder, wireId: core.place.wireId, wireKey: paths.wireKey },
        places: world.places,
        membership: () => core.membership,
      },
      core.ours,
    );
    const { onNotice } = world.hooks ?? {};
    this.notices = new AgentNotices(core, { path: paths.notices, onNotice });
    this.decisions = new OperatorDecisions(core, this.trust, paths.evidence);
    core.use(this.carriers.transports, isReader ? [] : this.#duties());
  }

  /** The operator has changed the configuration, pins or keys. @throws StorageError */
  reload(config: AgentConfig): void {
    this.config = config;
    this.trust.reread();
    this.core.place = corePlace(config, this.trust);
  }

  #duties(): readonly Duty[] {
    const { core, trust, carriers } = this;
    const { disk, places, hooks } = this.world;
    const { wire, paths, handle, settings } = this.config;
    const wireDir = wire.folder;
    return [
      this.notices,
      operatorIncidents(core),
      policyDrift(core, () => this.config),
      new KeyDuty(core, trust, settings["keys.grace_hours"]),
      new TierDuty(core, trust),
      parkingDuty(core, hooks?.stop),
      evidenceDuty(core, paths),
      new DecisionRecord(core, wireDir),
      incidentLog(core, wireDir),
      safeModeFile(core, wireDir),
      stateFile(core, statePath(wire, handle)),
      fillFolder(core, {
        ...{ wireDir, mode: sharingOf(disk, wireDir).logMode },
        isMover: () => carriers.git.view()?.is_mover ?? false,
        isLocal: (other) => other === handle || isAgentHere(disk, places, paths.wireKey, other),
        list: () => carriers.folder.list(),
      }),
    ];
  }
}

/** A wire begins with what the key had signed when it was made. Spec 1.6. */
function beginMark({ disk }: World, { paths }: AgentConfig): Mark | undefined {
  const mark = readMark(disk, paths.mark);
  if (mark !== undefined || disk.stat(paths.store) !== undefined) return mark;
  const made = readMark(disk, paths.identity.mark);
  if (made !== undefined) writeMark(disk, paths.mark, made);
  return made;
}

/** What a configuration says; pins and our key are read anew each time, since decisions and rotations change them. */
export function corePlace(
  { handle, paths, config, pinned, tiers, settings }: AgentConfig,
  trust: Pick<PrivateTrust, "store" | "identity">,
): CorePlace {
  const { signing, limits, domains, protocolVersion } = config;
  return {
    ...{ self: handle, signing, limits, domains, pinned, tiers },
    // A configuration without one is completed before it is pinned.
    wireId: config.wireId ?? paths.wireKey,
    version: protocolVersion === "v3.0" ? "v3.0" : "v3.1",
    ...{ markPath: paths.mark, inboxPath: paths.inbox },
    hidesLastAction: !settings["heartbeat.show_last_action"],
    get signer() {
      return trust.identity.signer;
    },
    believed: (author) => peerNamed(trust.store, author),
  };
}
