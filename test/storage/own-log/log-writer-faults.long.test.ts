import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import {
  Crashed,
  MemoryDisk,
  type Fault,
  type MemoryProcess,
} from "../../support/disk/memory-disk.ts";
import { nextPoint } from "../../support/amounts.ts";
import type { PowerCut } from "../../support/disk/memory-inode.ts";
import { checkOwnLine, ownLine, startWriter } from "./own-lines.ts";

const PLACE = { wire: "/wire", state: "/state" };
const LOGS = ["a", "b"];

/** What the users of an identity were told, over all its processes. */
interface Told {
  readonly promised: Map<string, string>;
  readonly notSent: Set<string>;
}

/** One life of a process: recovers, sends three groups, flushing in between. */
function live(process: MemoryProcess, told: Told, life: number): void {
  const writer = startWriter(process, PLACE, LOGS);
  for (let group = 0; group < 3; group += 1) {
    try {
      writer.recover();
      const lines = LOGS.flatMap((log) => {
        const seq = (writer.head(log)?.seq ?? 0) + 1;
        const content = `life ${life} group ${group}`;
        return [ownLine(log, seq, content), ownLine(log, seq + 1, `${content} again`)];
      });
      for (const answer of writer.append(lines)) {
        if (answer.answer === "not sent") told.notSent.add(answer.id);
        else told.promised.set(answer.id, `${answer.log} ${answer.seq}`);
      }
      if (group === 1) writer.flush();
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
  }
}

function linesOf(disk: MemoryProcess, log: string): string[] {
  const text = textAt(disk, `${PLACE.wire}/${log}.jsonl`);
  return text === "" ? [] : text.split("\n");
}

function textAt(disk: MemoryProcess, path: string): string {
  const size = disk.stat(path)?.size ?? 0;
  return size === 0 ? "" : Buffer.from(disk.open(path, "read").read(size, 0)).toString("utf8");
}

function checkPromises(disk: MemoryProcess, told: Told, seen: Map<string, string>): void {
  for (const log of LOGS) {
    const lines = linesOf(disk, log);
    // A valid prefix: every line ours and whole, the chain without gap or repetition.
    expect(lines.pop() ?? "").toBe("");
    const heads = lines.map((line) => checkOwnLine(log, Buffer.from(line)));
    expect(heads.map((head) => head?.seq)).toEqual(lines.map((_, index) => index + 1));
    for (const [id, place] of told.promised) {
      if (place.startsWith(`${log} `)) expect(heads.map((head) => head?.id)).toContain(id);
    }
    remember(
      log,
      heads.map((head) => head?.id ?? ""),
      seen,
    );
  }
}

/** No place in a chain is ever seen with two different lines. */
function remember(log: string, ids: readonly string[], seen: Map<string, string>): void {
  for (const [index, id] of ids.entries()) {
    const place = `${log} ${index + 1}`;
    expect(seen.get(place) ?? id).toBe(id);
    seen.set(place, id);
  }
}

/** What a peer reads at this moment, synced or not: whole lines only. */
function peerReads(disk: MemoryProcess, seen: Map<string, string>): void {
  for (const log of LOGS) {
    const ids = linesOf(disk, log)
      .slice(0, -1)
      .map((line) => checkOwnLine(log, Buffer.from(line))?.id);
    const damaged = ids.indexOf(undefined);
    remember(log, ids.slice(0, damaged < 0 ? ids.length : damaged) as string[], seen);
  }
}

/** Lives with a fault at operation `at`, loses power, lives again; false when there was no such operation. */
function scene(at: number, fault: Fault, power: PowerCut | "none", seed: number, atLife: number) {
  const world = new MemoryDisk({ seed });
  const told: Told = { promised: new Map(), notSent: new Set() };
  const seen = new Map<string, string>();
  let reached = false;
  for (let life = 0; life < 4; life += 1) {
    const process = world.process();
    if (life === atLife) process.failAt(at, fault);
    try {
      live(process, told, life);
    } catch (error) {
      // A process that cannot start ends; its service starts it again.
      if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
    }
    if (life === atLife) reached = process.operations >= at;
    process.kill();
    peerReads(world.process(), seen);
    if (power !== "none") world.powerCut(power);
  }
  const last = world.process();
  startWriter(last, PLACE, LOGS).recover();
  checkPromises(last, told, seen);
  if (power === "none") {
    const stands = LOGS.flatMap((log) => linesOf(last, log)).join("\n");
    for (const id of told.notSent) expect(stands).not.toContain(id);
  }
  return { reached, told };
}

const FAULTS: readonly Fault[] = ["crash", "EIO", "ENOSPC"];
const POWER: readonly (PowerCut | "none")[] = ["none", "drop", "keep", "tear"];

describe("every storage operation of append, flush and recovery, in turn", () => {
  for (const fault of FAULTS) {
    for (const power of POWER) {
      // The first life begins from nothing; the second recovers what the first left.
      it.each([0, 1])(`${fault} there, then power ${power} (life %i)`, (atLife) => {
        let at = 1;
        for (; at < 500; at = nextPoint(at)) {
          for (let seed = 1; seed <= (power === "tear" ? 6 : 1); seed += 1) {
            const { reached } = scene(at, fault, power, at * 31 + seed, atLife);
            if (seed === 1 && !reached) return expect(at).toBeGreaterThan(30);
          }
        }
        throw new Error("the scene never ends");
      });
    }
  }
});

describe("mending damage that others wrote behind", () => {
  const BY_HAND = '{"from":"a","by":"hand"}';

  function damagedWorld(seed: number): MemoryDisk {
    const world = new MemoryDisk({ seed });
    const process = world.process();
    const writer = startWriter(process, PLACE, ["a"]);
    writer.recover();
    writer.append([ownLine("a", 1), ownLine("a", 2)]);
    process.kill();
    const hand = world.process().open(`${PLACE.wire}/a.jsonl`, "append");
    hand.truncate(ownLine("a", 1).line.length + 1);
    hand.append(Buffer.from(`${"\0".repeat(40)}${BY_HAND}\n`));
    hand.datasync();
    return world;
  }

  it.each(FAULTS)("%s at every operation: nobody's line is lost", (fault) => {
    let reached = 0;
    for (const power of POWER) {
      for (let at = 1; at < 60; at += 1) {
        const world = damagedWorld(at);
        const process = world.process();
        process.failAt(at, fault);
        try {
          startWriter(process, PLACE, ["a"]).recover();
        } catch (error) {
          if (!(error instanceof Crashed) && !(error instanceof StorageError)) throw error;
        }
        if (process.operations >= at) reached += 1;
        process.kill();
        if (power !== "none") world.powerCut(power);
        const last = world.process();
        const again = startWriter(last, PLACE, ["a"]);
        expect(again.recover().damaged).toEqual([]);
        const lines = linesOf(last, "a");
        expect(lines.filter((line) => line === BY_HAND)).toHaveLength(1);
        const ours = lines.map((line) => checkOwnLine("a", Buffer.from(line))?.seq);
        expect(ours.filter((seq) => seq !== undefined)).toEqual([1, 2]);
        expect(again.append([ownLine("a", 3)])).toMatchObject([{ answer: "sent" }]);
      }
    }
    expect(reached).toBeGreaterThan(40);
  });
});

describe("answers", () => {
  it("a full disk at the promise: not sent, and never seen; sending works again", () => {
    const world = new MemoryDisk();
    const process = world.process();
    const writer = startWriter(process, PLACE, LOGS);
    writer.recover();
    writer.append([ownLine("a", 1)]);
    process.failAt(4, "ENOSPC");
    const [answer] = writer.append([ownLine("a", 2, "lost")]);
    expect(answer).toMatchObject({ answer: "queued", error: { code: "disk_full" } });
    expect(writer.recover().restored).toMatchObject([{ seq: 2 }]);
    process.failAt(1, "ENOSPC");
    expect(writer.append([ownLine("a", 3, "never")])).toMatchObject([
      { answer: "not sent", error: { code: "disk_full" } },
    ]);
    writer.recover();
    expect(writer.append([ownLine("a", 3)])).toMatchObject([{ answer: "sent" }]);
    writer.flush();
    expect(linesOf(process, "a").join("\n")).not.toContain("never");
  });

  it("a failed sync of the log keeps the promise: written again, it survives a power cut", () => {
    const world = new MemoryDisk();
    const process = world.process();
    const writer = startWriter(process, PLACE, LOGS);
    writer.recover();
    writer.append([ownLine("a", 1)]);
    process.failAt(1, "EIO");
    expect(() => writer.flush()).toThrow("failed to store");
    writer.recover();
    expect(writer.pendingBytes).toBe(0);
    world.powerCut("drop");
    expect(linesOf(world.process(), "a")).toHaveLength(2);
  });

  it("a promise whose sync failed is made durable before a peer can read it", () => {
    const told: Told = { promised: new Map(), notSent: new Set() };
    // Every place at which the second life can die while it puts the unsure promise into the log.
    for (let at = 1; at < 40; at += 1) {
      const world = new MemoryDisk({ seed: at });
      const first = world.process();
      const writer = startWriter(first, PLACE, ["a"]);
      writer.recover();
      // Pending: append, sync, and the cut that takes the refused promise back.
      first.failAt(2, "EIO");
      first.failAt(3, "crash");
      expect(() => writer.append([ownLine("a", 1, "unsure")])).toThrow(Crashed);
      const second = world.process();
      second.failAt(at, "crash");
      expect(dies(() => startWriter(second, PLACE, ["a"]).recover()) || at > 20).toBe(true);
      const seen = new Map<string, string>();
      peerReads(world.process(), seen);
      world.powerCut("drop");
      const third = world.process();
      const last = startWriter(third, PLACE, ["a"]);
      last.recover();
      if (last.head("a") === undefined) last.append([ownLine("a", 1, "another")]);
      checkPromises(third, told, seen);
    }
  });

  it("waits for another program that holds the log before it cuts anything", () => {
    const world = new MemoryDisk();
    const first = world.process();
    const writer = startWriter(first, PLACE, ["a"]);
    writer.recover();
    writer.append([ownLine("a", 1)]);
    first.kill();
    const other = world.process().open("/wire/a.jsonl", "append");
    other.truncate(20);
    other.lock(0);
    const again = startWriter(world.process(), PLACE, ["a"]);
    expect(again.recover().stuck).toMatchObject([{ code: "locked" }]);
    expect(other.stat().size).toBe(20);
    other.close();
    expect(again.recover().restored).toHaveLength(1);
  });
});

function dies(action: () => void): boolean {
  try {
    action();
  } catch (error) {
    if (error instanceof Crashed) return true;
    throw error;
  }
  return false;
}
