import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/agent/session/world.ts";
import { changeWatched } from "../../../src/collab/folder/watched-rounds.ts";
import { RoundWatch } from "../../../src/daemon/rounds/round-watch.ts";
import type { Disk } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { newFolder, ScriptedRound } from "../../collab/scripted-round.ts";

/** A daemon's watch over one round for bob, with the file's events and timers in the test's hands. */
function watching(round: ScriptedRound, state = newFolder()) {
  const paths = { rounds: join(state, "rounds.json"), roundsTold: join(state, "told.json") };
  const disk = nodeDisk();
  const watched = { folder: round.folder, participant: "bob" };
  changeWatched(disk, paths.rounds, watched, true);
  let changed = (): void => undefined;
  const timers: (() => void)[] = [];
  let dues = 0;
  let reads = 0;
  const counted = Object.assign(Object.create(disk) as Disk, {
    open: (...args: Parameters<Disk["open"]>) => {
      if (args[0].endsWith("events.jsonl")) reads += 1;
      return disk.open(...args);
    },
    replace: (...args: Parameters<Disk["replace"]>) => disk.replace(...args),
    stat: (path: string) => disk.stat(path),
  });
  const rounds = new RoundWatch({
    disk: counted,
    paths,
    watch: (_folder, heard) => {
      changed = heard;
      return { close: () => undefined };
    },
    wake: (_ms, ring) => {
      timers.push(ring);
      return () => void timers.splice(timers.indexOf(ring), 1);
    },
    due: () => (dues += 1),
    log: silentLogger,
  });
  return {
    rounds,
    state,
    paths,
    watched,
    disk,
    changed: () => changed(),
    ring: () => timers.splice(0).forEach((run) => run()),
    timers,
    dues: () => dues,
    reads: () => reads,
  };
}

const marksOf = (turns: readonly { key: string; seq: number }[]) =>
  Object.fromEntries(turns.map(({ key, seq }) => [key, seq]));

describe("a turn", () => {
  test("is due until it was shown, also over restarts; the next one is another", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const first = watching(round);
    first.rounds.look();
    expect([first.rounds.turns(), first.dues()]).toEqual([[], 0]);
    await round.say("ann", "proposal_submitted");
    first.changed();
    first.ring();
    expect(first.rounds.turns()).toMatchObject([{ seq: 2, participant: "bob" }]);
    expect(first.dues()).toBe(1);
    first.rounds.look();
    expect(first.dues()).toBe(1);

    // It was asked for, and the process died before it was shown.
    const second = watching(round, first.state);
    second.rounds.look();
    expect(second.rounds.turns()).toHaveLength(1);
    second.rounds.told({ ...marksOf(second.rounds.turns()), another: 7 });
    expect(second.rounds.turns()).toEqual([]);

    const third = watching(round, first.state);
    third.rounds.look();
    expect([third.rounds.turns(), third.dues()]).toEqual([[], 0]);
    await round.review();
    await round.say("ann", "proposal_revised");
    await round.say("ann", "question_classified");
    third.rounds.look();
    expect(third.rounds.turns()).toMatchObject([{ seq: 5 }]);
  });

  test("that has passed is due no more", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const { rounds } = watching(round);
    await round.say("ann", "proposal_submitted");
    rounds.look();
    expect(rounds.turns()).toHaveLength(1);
    await round.say("ann", "blocked");
    expect(rounds.look()).toMatchObject([{ phase: "blocked", is_turn: false }]);
    expect(rounds.turns()).toEqual([]);
  });
});

describe("a round that its participants misuse", () => {
  test("is looked at once for many changes", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const { rounds, changed, ring, timers, reads } = watching(round);
    rounds.look();
    const before = reads();
    for (let at = 0; at < 1_000; at += 1) changed();
    expect([timers.length, reads()]).toEqual([1, before]);
    ring();
    expect(reads()).toBe(before + 1);
  });

  test("is not read when it is huge, deep or broken, and its view says why", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const { rounds } = watching(round);
    const whole = round.read("protocol.json");
    const detail = () => rounds.look().map((each) => [each.phase, each.detail]);
    round.write(
      "protocol.json",
      whole.replace("{", `{"deep": ${"[".repeat(1e5)}${"]".repeat(1e5)},`),
    );
    expect(detail()).toEqual([[null, expect.stringContaining("nested deeper") as string]]);
    round.write("protocol.json", " ".repeat(2 * 1_048_576));
    expect(detail()).toEqual([[null, expect.stringContaining("bytes, at most") as string]]);
    round.write("protocol.json", whole);
    appendFileSync(join(round.folder, "events.jsonl"), "x".repeat(3 * 1_048_576));
    expect(detail()).toEqual([[null, expect.stringContaining("bytes, at most") as string]]);
  });
});

describe("our own files", () => {
  test("a damaged list watches nothing, and a command says what to do", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    const { rounds, paths, disk, watched } = watching(round);
    for (const damaged of ["{", "{}", '[{"folder":1}]', "[null]"]) {
      writeFileSync(paths.rounds, damaged);
      expect(rounds.look()).toEqual([]);
      expect(() => changeWatched(disk, paths.rounds, watched, true)).toThrow(
        "is damaged: remove it",
      );
    }
  });

  test("a damaged memory of what was told tells it again", async () => {
    const round = new ScriptedRound(1);
    await round.init();
    await round.say("ann", "proposal_submitted");
    const state = newFolder();
    for (const damaged of ["{", "null", "[]"]) {
      writeFileSync(join(state, "told.json"), damaged);
      const { rounds, paths } = watching(round, state);
      rounds.look();
      expect(rounds.turns()).toHaveLength(1);
      rounds.told(marksOf(rounds.turns()));
      expect(existsSync(paths.roundsTold)).toBe(true);
      expect(rounds.turns()).toEqual([]);
    }
  });
});
