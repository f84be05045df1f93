import type { MemoryProcess } from "../../support/disk/memory-disk.ts";
import { ownLogs } from "../../../src/wire/layout.ts";
import type { Play } from "../play.ts";
import { SEEDS_WITHOUT_HOSTS, SEEDS_WITHOUT_LOGS_PUT_BACK } from "./cast.ts";
import type { Member } from "./stage.ts";

const FAULTS = ["crash", "crash", "EIO", "ENOSPC"] as const;
const CUTS = ["drop", "tear", "keep"] as const;
const HOUR_MS = 3_600_000;

/** The nth operation of a process from now on fails, or is its last. */
function breakSoon(play: Play, process: MemoryProcess, within: number): void {
  process.failAt(play.luck.between(1, within), play.luck.pick(FAULTS));
}

async function breakDisk(play: Play, who: Member): Promise<void> {
  breakSoon(play, who.process, 60);
  return Promise.resolve();
}

async function kill(play: Play, who: Member): Promise<void> {
  play.stage.kill(who);
  return Promise.resolve();
}

async function cutPower(play: Play, { host }: Member): Promise<void> {
  play.stage.powerCut(host, play.luck.pick(CUTS));
  for (const member of play.stage.on(host)) play.inboxes.forget(member);
  return Promise.resolve();
}

async function leave(play: Play, who: Member): Promise<void> {
  await play.stage.leave(who);
}

/** Derived state can be deleted at any time. */
async function loseState(play: Play, who: Member): Promise<void> {
  play.stage.kill(who);
  const paths = play.stage.paths(who);
  if (play.luck.chance(0.3)) {
    who.host.disk.process().remove(paths.inbox);
    play.inboxes.forget(who);
  } else {
    who.host.disk.process().remove(paths.checkpoint);
  }
  return Promise.resolve();
}

async function jumpClock(play: Play, who: Member): Promise<void> {
  const offMs = play.luck.weighted([
    [5, 0],
    [5, play.luck.between(-140_000, 140_000)],
    [1, play.luck.pick([HOUR_MS, -HOUR_MS])],
  ]);
  for (const each of clockOf(play, who)) {
    each.clockWasSet ||= Math.abs(offMs - each.clockOffMs) > 60_000;
    each.clockOffMs = offMs;
    // Several small steps back count, too.
    each.mostAheadMs = Math.max(each.mostAheadMs, offMs);
    each.clockSetBack ||= offMs < each.mostAheadMs - 60_000;
  }
  return Promise.resolve();
}

/** Agents that share one folder have clocks of their own; a host among several has one. */
function clockOf({ stage }: Play, who: Member): readonly Member[] {
  return stage.remote === undefined ? [who] : stage.on(who.host);
}

/** The host sleeps: nobody is woken meanwhile. */
async function suspend(play: Play): Promise<void> {
  play.stage.timers.skip(play.luck.pick([5_000, 60_000, HOUR_MS]));
  return Promise.resolve();
}

/** Somebody puts an older copy of a log back, into the file or in its place, whether its writer runs or not. */
async function putLogBack({ stage, luck, hostile }: Play, who: Member): Promise<void> {
  const path = stage.path(luck.pick(ownLogs(stage.layout, who.handle)));
  const inode = who.host.disk.lookUp(path);
  // Before our lines return, rubbish could get in their place, and they other numbers: decision 029.
  if (inode === undefined || hostile !== undefined) return;
  const text = Buffer.from(inode.read(inode.size, 0));
  // One that is just starting has restored its log, and would be checked before it sees this.
  if (luck.chance(0.5) || who.running === undefined) stage.kill(who);
  const ends = [...text.keys()].filter((at) => text[at] === 0x0a).map((at) => at + 1);
  const older = text.subarray(0, luck.pick([0, ...ends.slice(-12, -1)]));
  const process = who.host.disk.process();
  if (luck.chance(0.5)) process.replace(path, older, 0o640);
  else {
    const file = process.open(path, "append");
    file.truncate(older.length);
    file.datasync();
    file.close();
  }
  who.logWasPutBack = true;
  return Promise.resolve();
}

export async function comeBack(play: Play): Promise<void> {
  if (play.stage.remote !== undefined && play.luck.chance(0.5)) play.stage.remote.joinAll();
  for (const who of play.honest) {
    if (who.running !== undefined || play.luck.chance(0.2)) continue;
    const process = who.host.disk.process();
    if (play.luck.chance(0.25)) breakSoon(play, process, 80);
    await play.stage.start(who, process);
  }
}

type Trouble = (play: Play, who: Member) => Promise<void>;

const TROUBLES: readonly (readonly [weight: number, trouble: Trouble])[] = [
  [8, breakDisk],
  [4, kill],
  [3, cutPower],
  [2, leave],
  [2, loseState],
  [2, jumpClock],
  [1, suspend],
];

/** A host reaches nobody, or none does. */
async function cutOff({ stage, luck }: Play, { host }: Member): Promise<void> {
  for (const { name } of luck.chance(0.3) ? stage.hosts : [host]) stage.remote?.cutOff(name);
  return Promise.resolve();
}

const MORE_TROUBLES: typeof TROUBLES = [...TROUBLES, [6, putLogBack]];
const HOST_TROUBLES: typeof TROUBLES = [...MORE_TROUBLES, [24, cutOff], [8, suspend]];

/** What can go wrong in the play of a seed, and how often each does. */
export function troublesOf(seed: number): typeof TROUBLES {
  if (seed > SEEDS_WITHOUT_HOSTS) return HOST_TROUBLES;
  return seed > SEEDS_WITHOUT_LOGS_PUT_BACK ? MORE_TROUBLES : TROUBLES;
}
