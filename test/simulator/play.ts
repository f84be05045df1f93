import type { Tier } from "../../src/trust/tiers.ts";
import type { SceneOptions } from "../support/scenes/scene-folder.ts";
import { kept } from "./checks/broken.ts";
import { Copies } from "./checks/copies.ts";
import { Deadlines } from "./checks/deadlines.ts";
import {
  haveMembersChange,
  HOSTILE,
  mayMove,
  PLAIN,
  SEEDS_WITHOUT_CLAIMS,
  SEEDS_WITHOUT_HOSTS,
} from "./stage/cast.ts";
import { Notary } from "./checks/genuine.ts";
import { Hostile } from "./stage/hostile.ts";
import { Inboxes } from "./checks/inboxes.ts";
import { Ledger } from "./checks/ledger.ts";
import type { Host } from "./stage/hosts.ts";
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
  /** Those who are there: members come and go in some plays. */
  readonly honest: Member[];
  /** Who is no member now, and how often it had been let in when it left. */
  readonly away: Map<string, number>;
  readonly hostile: Hostile | undefined;
  readonly plain: PlainMember | undefined;
  readonly ledger: Ledger;
  readonly inboxes: Inboxes;
  /** For each host. */
  readonly shared: ReadonlyMap<Host, SharedFiles>;
  readonly copies: Copies;
  readonly deadlines: Deadlines;
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
  const drawn = luck.weighted([
    [60, 2],
    [32, 3],
    [8, 4],
  ]);
  const honestNames = NAMES.slice(0, haveMembersChange(seed) ? 4 : drawn);
  // Of those who may come and go one is not there yet.
  const newcomers: readonly string[] = haveMembersChange(seed) ? honestNames.slice(-1) : [];
  const hasHosts = seed > SEEDS_WITHOUT_HOSTS;
  // Who writes into a folder by hand would need a clone of what the hosts share.
  const isChanging = haveMembersChange(seed);
  const isMoving = mayMove(seed);
  const isHostile = luck.chance(0.35) && !hasHosts && !isChanging && !isMoving;
  const isOutbox = (luck.chance(0.5) || isChanging) && !isMoving;
  const layout = isOutbox ? "outbox" : "pairwise";
  // A wire with a member that does not chain cannot move.
  const isPlain = layout === "pairwise" && luck.chance(0.5) && !hasHosts && !isMoving;
  const others = [...(isHostile ? [HOSTILE] : []), ...(isPlain ? [PLAIN] : [])];
  const roster = [...honestNames, ...others];
  const unsigned = isHostile && luck.chance(0.3) ? [HOSTILE] : [];
  const tier = luck.pick<Tier>(["TRUSTED", "TRUSTED", "ATTESTED", "VERIFIED", "UNTRUSTED"]);
  const options: SceneOptions = {
    layout,
    members: roster.filter((handle) => !newcomers.includes(handle)),
    signing: { enforce_signed: true, allow_unsigned_from: unsigned },
    tiers: Object.fromEntries(honestNames.map((handle) => [handle, { [HOSTILE]: tier }])),
    ...(seed > SEEDS_WITHOUT_CLAIMS ? { domains: domainsOf(honestNames) } : {}),
  };
  const stage = new Stage(roster, options, luck, {
    groups: hasHosts ? onHosts(roster, luck) : [roster],
    mayMove: isMoving,
  });
  const there = honestNames.filter((handle) => !newcomers.includes(handle));
  const honest = there.map((handle) => stage.member(handle));
  const notary = new Notary(stage.seeds, unsigned);
  const ledger = new Ledger(stage, notary, honestNames);
  const tierOf = (of: string): Tier => (of === HOSTILE ? tier : "TRUSTED");
  const inboxes = new Inboxes(stage, notary, honestNames, tierOf);
  const witnesses = { notary, ledger, honest: honestNames };
  const shared = new Map(
    stage.hosts.map((host) => [host, new SharedFiles(host, stage, witnesses)] as const),
  );
  const copies = new Copies(stage, notary);
  const deadlines = new Deadlines(stage);
  if (hasHosts) {
    stage.onRing = () => {
      ledger.look();
      copies.look(ledger);
      deadlines.look(ledger);
    };
  }
  const plain = isPlain ? new PlainMember(stage) : undefined;
  const hostile = isHostile ? new Hostile(stage, HOSTILE, tier) : undefined;
  // Beside a hostile writer a damaged log may have to wait for its operator: looked at in the end.
  if (!isHostile) stage.onStart = (member) => ledger.checkOwn(member);
  const cast = { honest, hostile, plain, away: new Map(newcomers.map((handle) => [handle, 0])) };
  const checks = { ledger, inboxes, shared, copies, deadlines };
  return { seed, luck, stage, ...cast, ...checks, mostOperations: 0 };
}

/** Two hosts or three, with somebody on each. */
function onHosts(roster: readonly string[], luck: Luck): string[][] {
  const groups = roster.slice(0, luck.between(2, 4)).map((handle) => [handle]);
  for (const handle of roster.slice(groups.length)) luck.pick(groups).push(handle);
  return groups;
}

/** The first honest member owns some of what is claimed. */
function domainsOf([owner]: readonly string[]): object {
  return { api: { owner, paths: ["src/api/"] } };
}

/** What can be seen from outside, after every step. */
export function look(play: Play): void {
  play.ledger.look();
  for (const files of play.shared.values()) files.look();
  play.inboxes.look();
  play.copies.look(play.ledger);
  play.deadlines.look(play.ledger);
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
