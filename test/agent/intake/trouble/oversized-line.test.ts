import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  searchLineEnd,
  type LineEndSearch,
} from "../../../../src/agent/intake/trouble/oversized-line.ts";
import { type LogIntake } from "../../../../src/agent/state/agent-state.ts";
import { nodeDisk } from "../../../../src/storage/disk/node-disk.ts";
import { readNewLines } from "../../../../src/storage/files/tail.ts";
import { pause } from "../../../support/processes/real-processes.ts";

const MIB = 1_048_576;
const disk = nodeDisk();
let folder: string;
let path: string;
let intake: LogIntake;
let slot: { search?: LineEndSearch | undefined };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-line-end-"));
  path = join(folder, "log.jsonl");
  intake = { log: { name: "log" }, cursor: undefined } as LogIntake;
  slot = {};
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** One look, as a daemon takes it: what it reads, unless it waits for a search. */
function look() {
  if (searchLineEnd(disk, path, intake, slot)) return "searching";
  const read = readNewLines(disk, path, intake.cursor, 16_384);
  intake.cursor = read.cursor;
  return read;
}

/** Looks until nothing more waits; the kinds of what was read. */
async function lookOn(): Promise<string[]> {
  const kinds: string[] = [];
  for (;;) {
    const read = look();
    if (read === "searching") await pause(1);
    else {
      kinds.push(...read.lines.map(({ kind }) => kind));
      if (!read.more) return kinds;
    }
  }
}

it("finds the end of a line of many megabytes beside everything else, and reads on after it", async () => {
  writeFileSync(path, "");
  truncateSync(path, 40 * MIB);
  appendFileSync(path, "end\n{}\n");
  expect(await lookOn()).toEqual(["oversized", "line"]);
  expect(intake.cursor).toMatchObject({ offset: 40 * MIB + 7, lines: 2, scanned: 0 });
});

it("waits for more of a line that has no end, and searches only what is new", async () => {
  writeFileSync(path, "");
  truncateSync(path, 20 * MIB);
  expect(await lookOn()).toEqual([]);
  expect(intake.cursor).toMatchObject({ offset: 0, scanned: 20 * MIB });
  truncateSync(path, 30 * MIB);
  expect([await lookOn(), intake.cursor?.scanned]).toEqual([[], 30 * MIB]);
  appendFileSync(path, "\n{}\n");
  expect(await lookOn()).toEqual(["oversized", "line"]);
});

it("begins again in another file that is there meanwhile", async () => {
  writeFileSync(path, "");
  truncateSync(path, 20 * MIB);
  look();
  expect(look()).toBe("searching");
  const other = join(folder, "other");
  writeFileSync(other, `{}\n${"x".repeat(20 * MIB)}\n{}\n`);
  renameSync(other, path);
  expect(await lookOn()).toEqual(["line", "oversized", "line"]);
});

it("searches one log at a time", () => {
  writeFileSync(path, "");
  truncateSync(path, 20 * MIB);
  look();
  expect(look()).toBe("searching");
  const { search } = slot;
  const second = { log: { name: "second" }, cursor: intake.cursor } as LogIntake;
  expect(searchLineEnd(disk, path, second, slot)).toBe(true);
  expect(slot.search).toBe(search);
  // One that is inside no such line is not held up.
  const third = { log: { name: "third" }, cursor: undefined } as LogIntake;
  expect(searchLineEnd(disk, path, third, slot)).toBe(false);
});

it("leaves a file that cannot be opened to the read that says so", () => {
  writeFileSync(path, "");
  truncateSync(path, 20 * MIB);
  look();
  rmSync(path);
  expect(look()).toMatchObject({ anomaly: undefined, lines: [] });
});
