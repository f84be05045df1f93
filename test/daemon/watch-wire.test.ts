import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFolder, type FolderEvents } from "../../src/daemon/folder-events.ts";
import { watchWire, type Watcher } from "../../src/daemon/watch-wire.ts";
import { until } from "../support/processes/real-processes.ts";

let root: string;
let folder: string;
let watcher: Watcher;
let heard: (string | undefined)[];
let errors: unknown[];

function begin(usePolling = false): void {
  const onError = (error: unknown) => errors.push(error);
  watcher = watchWire(folder, { usePolling, intervalMs: 20, onError }, (name) => heard.push(name));
}

/** Does it again and again, since a watcher that begins may miss the first; until it was heard. */
async function untilHeard(name: string, act: () => void): Promise<void> {
  heard = [];
  await until(`a report of ${name}`, () => {
    act();
    return heard.includes(name);
  });
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "deaddrop-watch-"));
  folder = join(root, "wire");
  mkdirSync(join(folder, "outbox"), { recursive: true });
  writeFileSync(join(folder, "a_to_b.jsonl"), "");
  [heard, errors] = [[], []];
});

afterEach(async () => {
  await watcher.close();
  rmSync(root, { recursive: true, force: true });
});

for (const [how, usePolling] of [
  ["events of the system", false],
  ["polling", true],
] as const) {
  test(`${how}: what grows, comes and is replaced is reported, here and one level below`, async () => {
    begin(usePolling);
    await untilHeard("a_to_b.jsonl", () => appendFileSync(join(folder, "a_to_b.jsonl"), "x\n"));
    await untilHeard("b.jsonl", () => appendFileSync(join(folder, "outbox", "b.jsonl"), "x\n"));
    await untilHeard("new.json", () => {
      writeFileSync(join(folder, "new.json.tmp"), `${heard.length}`);
      renameSync(join(folder, "new.json.tmp"), join(folder, "new.json"));
    });
    expect(heard.filter((name) => name?.endsWith(".tmp"))).toEqual([]);
    expect(errors).toEqual([]);
  });

  test(`${how}: a folder that comes later is watched, too`, async () => {
    begin(usePolling);
    const trust = join(folder, "trust");
    mkdirSync(trust);
    await untilHeard("b.card.json", () => appendFileSync(join(trust, "b.card.json"), "x"));
    expect(errors).toEqual([]);
  });
}

test("another folder in the place of the first one is watched", async () => {
  begin();
  renameSync(folder, join(root, "away"));
  mkdirSync(folder);
  await untilHeard("c.jsonl", () => appendFileSync(join(folder, "c.jsonl"), "x\n"));
});

test("a folder that is not there is told once, and watched when it comes", async () => {
  rmSync(folder, { recursive: true });
  begin();
  // Each time that it is tried, everything has to be looked at.
  await until("two reports", () => heard.length >= 2);
  expect(new Set(heard)).toEqual(new Set([undefined]));
  expect(errors).toHaveLength(1);
  mkdirSync(folder);
  await untilHeard("c.jsonl", () => appendFileSync(join(folder, "c.jsonl"), "x\n"));
});

test("a flood is not passed on: it is looked at without names, and events are heard again", async () => {
  begin();
  const path = join(folder, "a_to_b.jsonl");
  await until("a report without a name", () => {
    // The system merges events of one file that follow each other.
    for (let n = 0; n < 200; n += 1) {
      appendFileSync(path, "x");
      appendFileSync(join(folder, "b_to_a.jsonl"), "x");
    }
    return heard.includes(undefined);
  });
  await untilHeard("a_to_b.jsonl", () => appendFileSync(path, "x"));
  expect(errors).toEqual([]);
});

test("who is told and closes it hears no more: a flood of names leaves no watcher behind", async () => {
  begin();
  const later: (string | undefined)[] = [];
  const events: FolderEvents = watchFolder(folder, {
    below: ["trust"],
    onError: (error) => errors.push(error),
    report(name) {
      later.push(name);
      events.close();
    },
  });
  mkdirSync(join(folder, "trust"));
  await until("the first report", () => later.length > 0);
  const { length } = later;
  await untilHeard("b.card.json", () => appendFileSync(join(folder, "trust", "b.card.json"), "x"));
  await untilHeard("c.json", () => writeFileSync(join(folder, "c.json"), "x"));
  expect([later.length, errors]).toEqual([length, []]);
});

test("of the folders in it only the wire's own are watched, and no link is followed", async () => {
  const elsewhere = join(root, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, join(folder, "trust"));
  mkdirSync(join(folder, "of somebody"));
  begin();
  writeFileSync(join(elsewhere, "outside.json"), "x");
  writeFileSync(join(folder, "of somebody", "deep.json"), "x");
  await untilHeard("a_to_b.jsonl", () => appendFileSync(join(folder, "a_to_b.jsonl"), "x"));
  expect(heard).not.toContain("outside.json");
  expect(heard).not.toContain("deep.json");
});

test("a name like the folder's own, made in it, stops nothing", async () => {
  begin();
  await untilHeard("wire", () => {
    rmSync(join(folder, "wire"), { force: true });
    writeFileSync(join(folder, "wire"), "x");
  });
  // If the watch had begun again, a report without a name would come first.
  await untilHeard("a_to_b.jsonl", () => appendFileSync(join(folder, "a_to_b.jsonl"), "x"));
  expect(heard).not.toContain(undefined);
});

test("what is written while a change is reported leaves the loop its timers and sockets", async () => {
  const log = join(folder, "a_to_b.jsonl");
  let [reports, inTurn, mostInTurn] = [0, 0, 0];
  const onError = (error: unknown) => errors.push(error);
  // As a peer that appends a line while we take in the one before.
  watcher = watchWire(folder, { usePolling: false, intervalMs: 20, onError }, () => {
    reports += 1;
    inTurn += 1;
    appendFileSync(log, "x\n");
  });
  const turn = (): void => {
    mostInTurn = Math.max(mostInTurn, inTurn);
    inTurn = 0;
    counting = setImmediate(turn);
  };
  let counting = setImmediate(turn);
  try {
    await until("many reports", () => {
      appendFileSync(log, "x\n");
      return reports > 100;
    });
  } finally {
    clearImmediate(counting);
  }
  expect(mostInTurn).toBeLessThan(5);
});
