import type { Tier } from "../../src/trust/tiers.ts";
import type { SceneOptions } from "../support/scenes/scene-folder.ts";
import { kept } from "./checks/broken.ts";
import { HOSTILE, PLAIN, SEEDS_WITHOUT_CLAIMS } from "./stage/cast.ts";
import { Notary } from "./checks/genuine.ts";
import { Hostile } from "./stage/hostile.ts";
import { Inboxes } from "./checks/inboxes.ts";
import { Ledger } from "./checks/ledger.ts";
import { Luck } from "./stage/luck.ts";
import { PlainMember } from "./stage/plain-member.ts";
import { SharedFiles } from "./checks/shared-files.ts";
import { Stage, type Member } from "./stage/stage.ts";

const NAMES = ["forge", "scribe", "quill", "anvil"] as const;

/** Everything that acts in one run, and everything that watches. */
export interface Play {
  readonly seed: number;
  readonly luck: Luck;
  readonly stage: Stage;
  readonly honest: readonly Member[];
  readonly hostile: Hostile | undefined;
  readonly plain: PlainMember | undefined;
  readonly ledger: Ledger;
  readonly inboxes: Inboxes;
  readonly shared: SharedFiles;
  /** The most storage operations that one round of a daemon has taken. */
  mostOperations: number;
}

/**
 * The cast of a seed: two to five agents, in every third run one of them hostile; beside them, in
 * some pairwise wires, one that does not chain.
 */
export function beginPlay(seed: number): Play {
  const luck = new Luck(seed);
  luck.beginStep(-1);
  const honestNames = NAMES.slice(
    0,
    luck.weighted([
      [60, 2],
      [32, 3],
      [8, 4],
    ]),
  );
  const isHostile = luck.chance(0.35);
  const layout = luck.chance(0.5) ? "outbox" : "pairwise";
  const isPlain = layout === "pairwise" && luck.chance(0.5);
  const others = [...(isHostile ? [HOSTILE] : []), ...(isPlain ? [PLAIN] : [])];
  const roster = [...honestNames, ...others];
  const unsigned = isHostile && luck.chance(0.3) ? [HOSTILE] : [];
  const tier = luck.pick<Tier>(["TRUSTED", "TRUSTED", "ATTESTED", "VERIFIED", "UNTRUSTED"]);
  const options: SceneOptions = {
    layout,
    signing: { enforce_signed: true, allow_unsigned_from: unsigned },
    tiers: Object.fromEntries(honestNames.map((handle) => [handle, { [HOSTILE]: tier }])),
    ...(seed > SEEDS_WITHOUT_CLAIMS ? { domains: domainsOf(honestNames) } : {}),
  };
  const stage = new Stage(roster, options, luck);
  const honest = honestNames.map((handle) => stage.member(handle));
  const notary = new Notary(stage.seeds, unsigned);
  const ledger = new Ledger(stage, notary, honestNames);
  const tierOf = (of: string): Tier => (of === HOSTILE ? tier : "TRUSTED");
  const inboxes = new Inboxes(stage, notary, honestNames, tierOf);
  const shared = new SharedFiles(stage, notary, ledger, honestNames);
  const plain = isPlain ? new PlainMember(stage) : undefined;
  const hostile = isHostile ? new Hostile(stage, HOSTILE, tier) : undefined;
  // Beside a hostile writer a damaged log may have to wait for its operator: looked at in the end.
  if (!isHostile) stage.onStart = (member) => ledger.checkOwn(member);
  const cast = { honest, hostile, plain };
  return { seed, luck, stage, ...cast, ledger, inboxes, shared, mostOperations: 0 };
}

/** The first honest member owns some of what is claimed. */
function domainsOf([owner]: readonly string[]): object {
  return { api: { owner, paths: ["src/api/"] } };
}

/** What can be seen from outside, after every step. */
export function look(play: Play): void {
  play.ledger.look();
  play.shared.look();
  play.inboxes.look();
}

/** One round may take so many storage operations, whoever writes whatever. */
const MOST_OPERATIONS = 4_000;

export async function ringOnce(play: Play): Promise<void> {
  const before = play.honest.map(({ process }) => [process, process.operations] as const);
  await play.stage.ring();
  for (const [process, operations] of before) {
    const taken = process.operations - operations;
    play.mostOperations = Math.max(play.mostOperations, taken);
    kept(11, taken < MOST_OPERATIONS, () => `one round took ${taken} operations`);
  }
}
