import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { appendEvent, type Wish } from "../../../src/collab/folder/append-event.ts";
import { planInit } from "../../../src/collab/folder/init-plan.ts";
import { initRound } from "../../../src/collab/folder/init-round.ts";
import { readRound } from "../../../src/collab/folder/read-round.ts";
import { RoundRefused } from "../../../src/collab/refused.ts";
import { stateOf } from "../../../src/collab/rules/round.ts";
import { findingsOf } from "../../../src/collab/rules/validate.ts";
import { StorageError, type Disk, type DiskFile } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { newFolder } from "../scripted-round.ts";

const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const DISK = nodeDisk();

/** A round of ann and bob in schema 1. */
function newRound(): string {
  const folder = join(newFolder(), "round");
  const wish = {
    ...{ folder, participants: ["ann", "bob"], objective: "Choose.", completion: ["It is chosen"] },
    ...{ schema: 1 as const, type: undefined, file: undefined, checks: [], mode: undefined },
    ...{ dir: undefined, repoRoot: undefined },
  };
  initRound(DISK, planInit(DISK, wish, "/"), NOW_MS);
  return folder;
}

const PROPOSED: Wish = { from: "ann", event: "proposal_submitted", summary: "Here.", replyTo: 1 };
const BLOCKED: Wish = { from: "bob", event: "blocked", summary: "No.", replyTo: 1 };

/** Appends, and says which seq it had to complete before. */
function append(
  folder: string,
  wish: Wish,
  disk = DISK,
  nowMs = NOW_MS,
  left = (error: StorageError): void => {
    throw error;
  },
): number[] {
  const completed: number[] = [];
  appendEvent(disk, folder, wish, {
    ...{ nowMs, schema: undefined },
    completed: (seq) => completed.push(seq),
    left,
  });
  return completed;
}

function refusal(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof RoundRefused) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

const text = (folder: string, name: string): string => readFileSync(join(folder, name), "utf8");
const lines = (folder: string): string[] => text(folder, "events.jsonl").split("\n").slice(0, -1);

class Died extends Error {}

/** Does something before each call on a disk and its files; a call that throws is not made. */
function beforeEach(disk: Disk, before: (call: string, path: string) => void): Disk {
  const watched = <T extends object>(target: T, path: string): T =>
    new Proxy(target, {
      get(object, name) {
        const value: unknown = Reflect.get(object, name);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]) => {
          const at = path === "" ? String(args[0]) : path;
          // A process that dies closes its files.
          if (name !== "close") before(String(name), at);
          const answer: unknown = Reflect.apply(value, object, args);
          return name === "open" ? watched(answer as DiskFile, String(args[0])) : answer;
        };
      },
    });
  return watched(disk, "");
}

test("a process that dies at any operation: the next command completes it, and says so", () => {
  let deaths = 0;
  const ends = new Set<string>();
  for (let dies = 0; ; dies += 1) {
    const folder = newRound();
    let calls = 0;
    const dying = beforeEach(DISK, () => {
      if (calls === dies) throw new Died();
      calls += 1;
    });
    try {
      append(folder, PROPOSED, dying);
      break;
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      deaths += 1;
    }
    const isWritten = lines(folder).length === 2;
    const isKnown = text(folder, "protocol.json").includes("reviewing");
    ends.add(`${isWritten} ${isKnown}`);
    // Where it came to nothing, it is said again.
    const completed = isWritten ? append(folder, BLOCKED) : append(folder, PROPOSED);
    expect(completed).toEqual(isWritten && !isKnown ? [2] : []);
    const { round } = readRound(DISK, folder);
    expect(findingsOf(round)).toEqual([]);
    expect(round.events.events.map(({ seq }) => seq)).toEqual(isWritten ? [1, 2, 3] : [1, 2]);
    expect(round.protocol.recorded).toEqual(stateOf(round));
  }
  expect(deaths).toBeGreaterThan(20);
  expect([...ends].toSorted()).toEqual(["false false", "true false"]);
});

describe("a disk that is full", () => {
  const full = (path: string) => new StorageError("disk_full", path, "disk full", { hint: "-" });

  test("half of the line that it took is taken back", () => {
    const folder = newRound();
    const before = text(folder, "events.jsonl");
    const disk = beforeEach(DISK, (call, path) => {
      if (call !== "append") return;
      appendFileSync(path, '{"seq":2,"from":"ann"');
      throw full(path);
    });
    expect(() => append(folder, PROPOSED, disk)).toThrow("disk full");
    expect(text(folder, "events.jsonl")).toBe(before);
    append(folder, PROPOSED);
  });

  test("what another program wrote behind it is never cut", () => {
    const folder = newRound();
    const disk = beforeEach(DISK, (call, path) => {
      if (call !== "append") return;
      appendFileSync(path, '{"seq":2,"fr{"seq":2}\n');
      throw full(path);
    });
    expect(() => append(folder, PROPOSED, disk)).toThrow("disk full");
    expect(text(folder, "events.jsonl")).toContain('{"seq":2}\n');
  });

  test("an event without its protocol.json is said to be in the log", () => {
    const folder = newRound();
    const disk = beforeEach(DISK, (call, path) => {
      if (call === "replace") throw full(path);
    });
    const left: string[] = [];
    append(folder, PROPOSED, disk, NOW_MS, ({ code }) => left.push(code));
    expect([left, lines(folder).length]).toEqual([["disk_full"], 2]);
    expect(append(folder, { ...BLOCKED, replyTo: 2 })).toEqual([2]);
  });
});

describe("a script that takes no lock appends", () => {
  const foreign = `${JSON.stringify({ seq: 2, from: "bob", event: "blocked", at: "2026-11-21T12:00:00Z", summary: "No.", reply_to: 1 })}\n`;

  /** Appends its line once, right before a call on the log. */
  function meeting(folder: string, call: string): Disk {
    let isLeft = true;
    return beforeEach(DISK, (name, path) => {
      if (!isLeft || name !== call || basename(path) !== "events.jsonl") return;
      // The log is opened twice to be read, and then to be written.
      isLeft = false;
      appendFileSync(join(folder, "events.jsonl"), foreign);
    });
  }

  test("before our write: nothing is written, and it is told", () => {
    const folder = newRound();
    let opened = 0;
    const disk = beforeEach(DISK, (name, path) => {
      if (name !== "open" || basename(path) !== "events.jsonl") return;
      opened += 1;
      if (opened === 3) appendFileSync(join(folder, "events.jsonl"), foreign);
    });
    expect(refusal(() => append(folder, PROPOSED, disk))).toContain("read again");
    expect(lines(folder)).toHaveLength(2);
    expect(append(folder, { ...BLOCKED, replyTo: 2 })).toEqual([2]);
  });

  test("with our write: it is told, and what is there twice is named and left", () => {
    const folder = newRound();
    const said = refusal(() => append(folder, PROPOSED, meeting(folder, "append")));
    expect(said).toContain("another program has appended");
    const before = text(folder, "events.jsonl");
    expect(lines(folder)).toHaveLength(3);
    expect(refusal(() => append(folder, BLOCKED))).toContain("seq must be 3, not 2");
    const found = findingsOf(readRound(DISK, folder).round).map((each) => each.text);
    expect(found.join("\n")).toContain("seq must be 3, not 2");
    expect(text(folder, "events.jsonl")).toBe(before);
  });

  test("half a line: it is named, and nothing is written", () => {
    const folder = newRound();
    appendFileSync(join(folder, "events.jsonl"), foreign.slice(0, 30));
    const before = text(folder, "events.jsonl");
    expect(refusal(() => append(folder, PROPOSED))).toContain("torn line");
    expect(text(folder, "events.jsonl")).toBe(before);
  });

  test("a line without its newline counts, and ours begins a line of its own", () => {
    const folder = newRound();
    appendFileSync(join(folder, "events.jsonl"), foreign.trimEnd());
    expect(append(folder, { ...BLOCKED, replyTo: 2 })).toEqual([2]);
    expect(lines(folder).map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([
      1, 2, 3,
    ]);
  });
});

describe("what is written", () => {
  test("keys in their order, compact, non-ASCII as it is, the line ends of Python escaped", () => {
    const folder = newRound();
    append(folder, { ...BLOCKED, summary: "ä\u2028\u2029\u0085\u000b\u000c\u001c\u001d\u001e😀" });
    const line = lines(folder)[1] ?? "";
    expect(line).toBe(
      '{"seq":2,"from":"bob","event":"blocked","at":"2026-11-21T12:00:00Z","summary":"ä\\u2028\\u2029\\u0085\\u000b\\f\\u001c\\u001d\\u001e😀","reply_to":1}',
    );
  });

  test("its time is never before that of the last event", () => {
    const folder = newRound();
    append(folder, PROPOSED, DISK, NOW_MS - 3_600_000);
    append(folder, { ...BLOCKED, replyTo: 2 }, DISK, NOW_MS + 1_000);
    const times = lines(folder).map((line) => (JSON.parse(line) as { at: string }).at);
    expect(times.slice(1)).toEqual(["2026-11-21T12:00:00Z", "2026-11-21T12:00:01Z"]);
  });

  test("protocol.json: sorted, and what we do not know stays, to the digit", () => {
    const folder = newRound();
    const path = join(folder, "protocol.json");
    const unknown = '{"zeta": {"b": 1e400, "a": 12345678901234567890}, "Alpha": [1.0, []],';
    writeFileSync(path, text(folder, "protocol.json").replace("{", unknown));
    append(folder, PROPOSED);
    const after = text(folder, "protocol.json");
    expect(after).toContain('  "Alpha": [\n    1.0,\n    []\n  ],\n  "completionGates"');
    expect(after).toContain('    "a": 12345678901234567890,\n    "b": 1e400\n');
    expect(
      after.endsWith('  "zeta": {\n    "a": 12345678901234567890,\n    "b": 1e400\n  }\n}\n'),
    ).toBe(true);
    expect(readdirSync(folder)).toHaveLength(8);
  });
});
