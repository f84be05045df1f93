import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { waitTurn } from "../../../src/collab/folder/wait-turn.ts";
import type { Disk } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { ScriptedRound } from "../scripted-round.ts";

/** A waiting participant whose folder is looked at when the test says so. */
function waiting(folder: string, participant: string, timeoutMs?: number) {
  let changed = (): void => undefined;
  let isClosed = false;
  let opens = 0;
  const real = nodeDisk();
  const disk: Disk = Object.assign(Object.create(real) as Disk, {
    open: (...args: Parameters<Disk["open"]>) => {
      opens += 1;
      return real.open(...args);
    },
    stat: (path: string) => real.stat(path),
  });
  const said: string[] = [];
  const ended = waitTurn(
    disk,
    (_folder, heard) => {
      changed = heard;
      return { close: () => (isClosed = true) };
    },
    { ...{ folder, participant, timeoutMs, schema: undefined }, say: (line) => said.push(line) },
  );
  return { ended, said, look: () => changed(), opens: () => opens, isClosed: () => isClosed };
}

/** The events of a moment are looked at together. */
const calm = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

describe("waiting for a turn", () => {
  test("looks when something has changed, and at no other time", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const wait = waiting(round.folder, "bob");
    const { ended, said, look, opens } = wait;
    const first = opens();
    expect(said).toEqual(["waiting: waiting for ann after seq 1"]);
    await calm();
    expect(opens()).toBe(first);
    for (let at = 0; at < 50; at += 1) look();
    await calm();
    expect(opens()).toBe(2 * first);
    expect(said).toHaveLength(1);
    await round.say("ann", "proposal_submitted");
    look();
    expect(await ended).toEqual({ ready: true, reason: "bob is listed in waitingFor" });
    expect(wait.isClosed()).toBe(true);
  });

  test("waits out a folder that is replaced, and half a file that a script writes", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const { ended, said, look } = waiting(round.folder, "bob");
    const away = `${round.folder}.away`;
    renameSync(round.folder, away);
    look();
    await calm();
    expect(said.at(-1)).toContain("no such folder");
    renameSync(away, round.folder);
    await round.say("ann", "proposal_submitted");
    const whole = round.read("protocol.json");
    for (const half of ["", whole.slice(0, 40), "[]"]) {
      writeFileSync(join(round.folder, "protocol.json"), half);
      look();
      await calm();
      expect(said.at(-1)).toContain("protocol.json");
    }
    rmSync(join(round.folder, "protocol.json"));
    look();
    await calm();
    expect(said.at(-1)).toContain("is missing");
    writeFileSync(join(round.folder, "protocol.json"), whole);
    look();
    expect(await ended).toMatchObject({ ready: true });
  });

  test("ends when its time is over, with what it waited for last", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const wait = waiting(round.folder, "bob", 1);
    expect(await wait.ended).toEqual({ ready: false, reason: "waiting for ann after seq 1" });
    expect(wait.isClosed()).toBe(true);
  });
});
