import { isDeepStrictEqual } from "node:util";
import { runAudit } from "../../../src/audit/audit.ts";
import { wirePlan } from "../../../src/audit/plan.ts";
import type { Agent } from "../../../src/agent/agent.ts";
import { loadPlace, type AgentConfig } from "../../../src/agent/config/agent-config.ts";
import { MAX_QUARANTINE_BYTES } from "../../../src/storage/files/quarantine.ts";
import { FALSE_ALARMS } from "../../support/scenes/false-alarms.ts";
import { notedVerdicts, verdictDifferences } from "../../support/scenes/line-verdicts.ts";
import { WIRE } from "../../support/scenes/scene-folder.ts";
import {
  incidentsOf,
  requestEndsOf,
  standingOf,
  type Outcome,
} from "../../support/scenes/scene-outcome.ts";
import { Broken, kept } from "./broken.ts";
import { haveMembersChange, HOSTILE, PLAIN } from "../stage/cast.ts";
import { finishMove, isHalfWay } from "../stage/layout-deeds.ts";
import { applyAll, finishChanges, isChangeDue, wireConfig } from "../stage/member-deeds.ts";
import type { Genuine } from "./genuine.ts";
import { carryAll } from "./carry-all.ts";
import { checkRequested } from "./requested.ts";
import { checkDecided } from "./decided.ts";
import { look, type Play } from "../play.ts";
import type { Member } from "../stage/stage.ts";
import { verifyHere } from "../../support/verify-here.ts";

type Standing = Omit<Outcome, "threadCount">;

/** Minutes in the end in which lines may be held back: a hold is for 15, and one of another log may follow. */
const MOST_HELD_BACK = 40;
const MINUTE_MS = 60_000;

/** Disks are well, everybody comes back, time passes: then everything has to be in its place. */
export async function checkFinale(play: Play): Promise<void> {
  await settle(play);
  for (const member of play.honest) play.ledger.checkOwn(member);
  const known = new Set(play.ledger.all.map(({ id }) => id));
  await carryAll(play);
  const handles = play.honest.map(({ handle }) => handle);
  play.inboxes.checkComplete(play.ledger, known, { handles, isLate: lateIn(play) });
  for (const files of play.shared.values()) files.checkMirrors(known);
  for (const member of play.honest) {
    await checkPeers(play, member);
    await checkNotices(play, member);
    checkBounds(play, member);
  }
  await checkDecided(play);
  await checkRequested(play);
  for (const member of play.honest) {
    const live = await standingOf(agentOf(member));
    checkRecorded(play, member, live);
    await checkVerdicts(play, member);
    if (hasReadAll(play, member)) await checkAudit(play, member, live);
    if (canBeReadAgain(play)) await checkReplay(play, member, live);
  }
  look(play);
}

/** Whether a line comes after its author's last one before it left, by what the wire says in the end. */
function lateIn(play: Play): (line: Genuine) => boolean {
  if (!haveMembersChange(play.seed)) return () => false;
  const { left } = wireConfig(play);
  return ({ from, log, seq }) =>
    (left.get(from) ?? []).some(({ atMs, logs, back }) => {
      const first = back?.logs.get(log)?.seq ?? (back === undefined ? Infinity : 0);
      return atMs !== undefined && seq > (logs.get(log)?.seq ?? 0) && seq < first;
    });
}

async function settle(play: Play): Promise<void> {
  const { stage } = play;
  for (const { process } of play.honest) process.heal();
  stage.remote?.joinAll();
  for (let round = 0; round < 6; round += 1) {
    for (const member of play.honest) await stage.start(member);
    await stage.pass(MINUTE_MS);
    look(play);
  }
  const isChanging = haveMembersChange(play.seed);
  if (isChanging) await finishChanges(play);
  // Where clocks differ, lines that are dated ahead are held back for a quarter of an hour first.
  const isLeft = async (): Promise<boolean> =>
    isHalfWay(play) || (await isHeldBack(play)) || (isChanging && (await isChangeDue(play)));
  for (let round = 0; round < MOST_HELD_BACK && (await isLeft()); round += 1) {
    for (const member of play.honest) await stage.start(member);
    await finishMove(play);
    if (isChanging) await applyAll(play);
    await stage.pass(MINUTE_MS);
    look(play);
  }
  stage.isCalm = true;
  if (stage.remote !== undefined) stage.remote.isCalm = true;
  await stage.pass(1_000);
  await carryAll(play);
  for (const { handle, running } of play.honest) {
    kept(12, running !== undefined, () => `${handle} does not start again`);
  }
}

/** Whether somebody holds lines back because of a clock, or is down and cannot say. */
async function isHeldBack({ stage, honest }: Play): Promise<boolean> {
  for (const member of honest) {
    const peers = await stage.ask(member, (agent) => agent.view("peers", undefined));
    if (peers === undefined) return true;
    const waits = peers.flatMap((peer) => peer.waits ?? []);
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
    const mayBeSilent = member.clockWasSet || peer.handle === PLAIN;
    const isSilent = peer.presence === "silent" && !mayBeSilent;
    kept(10, !isSilent, () => `${handle} takes ${peer.handle} for silent`);
    kept(8, !peer.held, () => `${handle} holds ${peer.handle}, who has done nothing`);
  }
}

async function checkNotices(play: Play, member: Member): Promise<void> {
  const notices = await answered(
    member,
    play.stage.ask(member, (agent) => agent.view("notices", undefined)),
  );
  // Anybody can put a second copy of an unchained line into a log of its author.
  const isCopied = ({ cause, peer }: { cause: string; peer: string | null }): boolean =>
    cause === "replayed" && peer === PLAIN && play.hostile !== undefined;
  const wasPutBack = ({ cause, peer }: { cause: string; peer: string | null }): boolean =>
    cause === "log_behind" && play.honest.some((of) => of.handle === peer && of.logWasPutBack);
  const wrong = notices.find(
    (notice) =>
      FALSE_ALARMS.has(notice.cause) &&
      notice.peer !== HOSTILE &&
      !isCopied(notice) &&
      !wasPutBack(notice),
  );
  kept(8, wrong === undefined, () => `${member.handle} was told what is not true: ${wrong?.cause}`);
}

function checkBounds(play: Play, member: Member): void {
  const { quarantine } = play.stage.paths(member);
  const size = member.host.disk.lookUp(quarantine)?.size ?? 0;
  kept(11, size <= MAX_QUARANTINE_BYTES, () => `${member.handle}'s quarantine has ${size} bytes`);
}

/** What is ratified between honest agents is recorded. */
function checkRecorded(play: Play, { handle, host }: Member, outcome: Standing): void {
  for (const { id } of outcome.ratified) {
    const proposal = play.ledger.byId.get(id);
    const parties = [proposal?.from, ...((proposal?.body["required"] ?? []) as string[])];
    if (parties.includes(HOSTILE)) continue;
    // Nobody who would record it is left.
    if (!play.honest.some((each) => parties.includes(each.handle))) continue;
    const isRecorded = play.shared.get(host)?.recorded.has(id) === true;
    kept(5, isRecorded, () => `${handle} sees ${id.slice(0, 8)} ratified; it is not recorded`);
  }
}

async function checkReplay(play: Play, member: Member, live: Standing): Promise<void> {
  play.stage.kill(member);
  member.host.disk.process().remove(play.stage.paths(member).checkpoint);
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

function placeOf({ handle, process, places }: Member): AgentConfig {
  return loadPlace(process, places, { wireDir: WIRE, handle });
}

/** A power cut takes back lines of those who do not sync, and some cut their logs: then others stand there. */
function isAsItWasRead({ hostile, stage }: Play): boolean {
  return hostile === undefined || !(hostile.hasCut || stage.powerCuts > 0);
}

/**
 * What an author has taken back cannot be read again, and neither can what a power cut took after a
 * sync of it had failed: the kernel takes it for written. Honest authors restore both.
 */
function canBeReadAgain({ hostile, stage }: Play): boolean {
  if (hostile === undefined) return true;
  const isLost = hostile.logs.some((log) => (stage.log(log)?.failedSyncs ?? 0) > 0);
  return !hostile.hasCut && !(isLost && stage.powerCuts > 0);
}

/** Every line got the verdict that an audit gives it, with the journal and by the logs alone. */
async function checkVerdicts(play: Play, member: Member): Promise<void> {
  if (!isAsItWasRead(play)) return;
  const [first] = await verdictDifferences(member.process, placeOf(member));
  kept(12, first === undefined, () => `${member.handle} and the audit differ on ${first ?? ""}`);
}

/** Nothing stands in any log that is held back from it. */
function hasReadAll(play: Play, member: Member): boolean {
  if (!isAsItWasRead(play)) return false;
  const noted = notedVerdicts(member.process, placeOf(member));
  return play.stage.logs.every((log) => {
    const lines = member.host.text(play.stage.path(log)).split("\n").length - 1;
    return lines === 0 || noted.has(`${log.name}:${lines}`);
  });
}

/** The logs alone say the same. */
async function checkAudit(play: Play, member: Member, live: Standing): Promise<void> {
  const { handle, process } = member;
  const { config, tiers, layout, store } = placeOf(member);
  const by = { config, tiers, roster: layout.roster, journal: undefined, self: handle };
  const report = await runAudit(wirePlan(process, WIRE, { from: "pinned", store }, by), verifyHere);
  // Who was removed may not have known it yet.
  const faults = report.violations.filter(({ rule }) => rule !== "left_member");
  const wrong = play.hostile === undefined ? faults[0] : undefined;
  kept(8, wrong === undefined, () => `audit: ${JSON.stringify(wrong)}`);
  const ids = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id).toSorted();
  const ratified = report.decisions.map(({ proposal_id: id }) => ({ id }));
  kept(
    5,
    isDeepStrictEqual(ids(ratified), ids(live.ratified)),
    () => `${handle} sees other decisions than the audit`,
  );
  kept(
    12,
    isDeepStrictEqual(requestEndsOf(report.requests), live.requests),
    () => `${handle} sees other ends of requests than the audit`,
  );
  kept(
    12,
    isDeepStrictEqual(incidentsOf(report.incidents), live.incidents),
    () => `${handle} sees other incidents than the audit`,
  );
}
