import { isDeepStrictEqual } from "node:util";
import { runAudit } from "../../src/audit/audit.ts";
import { wirePlan } from "../../src/audit/plan.ts";
import type { Agent } from "../../src/daemon/agent.ts";
import { loadPlace } from "../../src/daemon/place.ts";
import { MAX_QUARANTINE_BYTES } from "../../src/storage/quarantine.ts";
import { FALSE_ALARMS } from "../support/false-alarms.ts";
import { WIRE } from "../support/scene-folder.ts";
import { incidentsOf, standingOf, type Outcome } from "../support/scene-outcome.ts";
import { Broken, kept } from "./broken.ts";
import { HOSTILE } from "./cast.ts";
import { look, type Play } from "./play.ts";
import type { Member } from "./stage.ts";

type Standing = Omit<Outcome, "threadCount">;

/** Minutes in the end in which lines may be held back: a hold is for 15, and one of another log may follow. */
const MOST_HELD_BACK = 40;
const MINUTE_MS = 60_000;

/** Disks are well, everybody comes back, time passes: then everything has to be in its place. */
export async function checkFinale(play: Play): Promise<void> {
  await settle(play);
  for (const member of play.honest) play.ledger.checkOwn(member);
  play.inboxes.checkComplete(play.ledger);
  play.shared.checkMirrors();
  for (const member of play.honest) {
    await checkPeers(play, member);
    await checkNotices(play, member);
    checkBounds(play, member);
  }
  for (const member of play.honest) {
    const live = await standingOf(agentOf(member));
    checkRecorded(play, member, live);
    if (play.hostile === undefined) checkAudit(play, member, live);
    // What an author has taken back cannot be read again.
    if (play.hostile?.hasCut !== true) await checkReplay(play, member, live);
  }
  look(play);
}

async function settle(play: Play): Promise<void> {
  const { stage } = play;
  for (const { process } of play.honest) process.heal();
  for (let round = 0; round < 6; round += 1) {
    for (const member of play.honest) await stage.start(member);
    await stage.pass(MINUTE_MS);
    look(play);
  }
  // Where clocks differ, lines that are dated ahead are held back for a quarter of an hour first.
  for (let round = 0; round < MOST_HELD_BACK && (await isHeldBack(play)); round += 1) {
    await stage.pass(MINUTE_MS);
    look(play);
  }
  stage.isCalm = true;
  await stage.pass(1_000);
  for (const { handle, running } of play.honest) {
    kept(12, running !== undefined, () => `${handle} does not start again`);
  }
}

/** Whether somebody holds lines back because of a clock. */
async function isHeldBack({ stage, honest }: Play): Promise<boolean> {
  for (const member of honest) {
    const peers = await stage.ask(member, (agent) => agent.view("peers", undefined));
    const waits = (peers ?? []).flatMap((peer) => peer.waits ?? []);
    if (waits.some(({ because }) => because === "ahead")) return true;
  }
  return false;
}

async function answered<T>(member: Member, ask: Promise<T | undefined>): Promise<T> {
  const answer = await ask;
  if (answer === undefined) throw new Broken(12, `${member.handle} gives no answer`);
  return answer;
}

/** A sender's clock may be an hour off: who beats is here. */
async function checkPeers(play: Play, member: Member): Promise<void> {
  const peers = await answered(
    member,
    play.stage.ask(member, (agent) => agent.view("peers", undefined)),
  );
  for (const peer of peers.filter(({ handle: of }) => of !== HOSTILE)) {
    const { handle } = member;
    const isSilent = peer.presence === "silent" && !member.clockWasSet;
    kept(10, !isSilent, () => `${handle} takes ${peer.handle} for silent`);
    kept(8, !peer.held, () => `${handle} holds ${peer.handle}, who has done nothing`);
  }
}

async function checkNotices(play: Play, member: Member): Promise<void> {
  const notices = await answered(
    member,
    play.stage.ask(member, (agent) => agent.view("notices", undefined)),
  );
  const wrong = notices.find(({ cause, peer }) => FALSE_ALARMS.has(cause) && peer !== HOSTILE);
  kept(8, wrong === undefined, () => `${member.handle} was told what is not true: ${wrong?.cause}`);
}

function checkBounds(play: Play, member: Member): void {
  const { quarantine } = play.stage.paths(member);
  const size = play.stage.disk.lookUp(quarantine)?.size ?? 0;
  kept(11, size <= MAX_QUARANTINE_BYTES, () => `${member.handle}'s quarantine has ${size} bytes`);
}

/** What is ratified between honest agents is recorded. */
function checkRecorded(play: Play, { handle }: Member, outcome: Standing): void {
  for (const { id } of outcome.ratified) {
    const proposal = play.ledger.byId.get(id);
    const parties = [proposal?.from, ...((proposal?.body["required"] ?? []) as string[])];
    if (parties.includes(HOSTILE)) continue;
    const isRecorded = play.shared.recorded.has(id);
    kept(5, isRecorded, () => `${handle} sees ${id.slice(0, 8)} ratified; it is not recorded`);
  }
}

async function checkReplay(play: Play, member: Member, live: Standing): Promise<void> {
  play.stage.kill(member);
  play.stage.disk.process().remove(play.stage.paths(member).checkpoint);
  await play.stage.start(member);
  const again = await standingOf(agentOf(member));
  kept(
    12,
    isDeepStrictEqual(again, live),
    () => `${member.handle}'s replay differs: ${difference(live, again)}`,
  );
}

function agentOf({ handle, running }: Member): Agent {
  if (running === undefined) throw new Broken(12, `${handle} does not start again`);
  return running.agent;
}

function difference(live: Standing, again: Standing): string {
  const keys = Object.keys(live) as (keyof Standing)[];
  const key = keys.find((each) => !isDeepStrictEqual(live[each], again[each]));
  if (key === undefined) return "nowhere";
  return `${key} was ${JSON.stringify(live[key])}, is ${JSON.stringify(again[key])}`.slice(0, 800);
}

/** The logs alone say the same. */
function checkAudit(play: Play, { handle, process, places }: Member, live: Standing): void {
  const place = loadPlace(process, places, { wireDir: WIRE, handle });
  const { config, tiers, layout, store } = place;
  const by = { config, tiers, roster: layout.roster, journal: undefined };
  const report = runAudit(wirePlan(process, WIRE, { from: "pinned", store }, by));
  kept(8, report.violations.length === 0, () => `audit: ${JSON.stringify(report.violations[0])}`);
  const ids = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id).toSorted();
  const ratified = report.decisions.map(({ proposal_id: id }) => ({ id }));
  kept(
    5,
    isDeepStrictEqual(ids(ratified), ids(live.ratified)),
    () => `${handle} sees other decisions than the audit`,
  );
  kept(
    12,
    isDeepStrictEqual(incidentsOf(report.incidents), live.incidents),
    () => `${handle} sees other incidents than the audit`,
  );
}
