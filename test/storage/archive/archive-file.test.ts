import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { archiveFile } from "../../../src/storage/archive/archive-file.ts";
import { compressSegments } from "../../../src/storage/archive/compress.ts";
import { segmentPlaces } from "../../../src/storage/archive/segments.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { readWhole, StorageError, type Disk } from "../../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { randomFrom } from "../../support/random.ts";
import { attempt, FAULTS, POWER_CUTS } from "../../support/disk/faults.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const LOG = "/wire/a_to_b.jsonl";
const ARCHIVE = "/wire/archive";
const FILE = { name: "a_to_b", path: LOG };

/** How a step may fail, and what a power cut right after it takes. */
const WAYS = FAULTS.flatMap((fault) => POWER_CUTS.map((cut) => [fault, cut] as const));

/**
 * Lets the work fail at each of its storage operations, in each way; returns how often it was tried. What
 * is left is checked by another process.
 */
function everywhere(scene: {
  prepare(disk: MemoryProcess): unknown;
  work(disk: MemoryProcess): unknown;
  check(disk: MemoryProcess, where: string): void;
}): number {
  let tried = 0;
  for (const [fault, cut] of WAYS) {
    for (let at = 1, isThrough = false; !isThrough; at += 1) {
      const world = new MemoryDisk({ seed: at });
      const disk = world.process();
      disk.makeFolder("/wire/archive", 0o700);
      append(disk, line(2026, 1));
      disk.syncFolder("/wire");
      scene.prepare(disk);
      const before = disk.operations;
      disk.failAt(at, fault);
      attempt(() => scene.work(disk));
      isThrough = disk.operations - before < at;
      disk.kill();
      if (cut !== "none") world.powerCut(cut);
      scene.check(world.process(), `${fault}, ${cut}, at ${at}`);
      tried += 1;
    }
  }
  return tried;
}

function line(year: number, number: number): string {
  return `{"timestamp":"${year}-05-05T15:00:00Z","n":${number}}\n`;
}

function append(disk: Disk, text: string, path = LOG): void {
  const file = disk.open(path, "append");
  file.append(Buffer.from(text));
  file.datasync();
  file.close();
}

function newDisk(text = ""): MemoryProcess {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire/archive", 0o700);
  append(disk, text);
  return disk;
}

function textOf(disk: Disk): string {
  return Buffer.from(readWhole(wholeLogs(disk, "/wire"), LOG) ?? []).toString();
}

function segments(disk: Disk): string[] {
  return segmentPlaces(disk, ARCHIVE, "a_to_b").map(({ path }) => path.slice(ARCHIVE.length + 1));
}

describe("a file is archived", () => {
  test("when it begins in that year or before; else it stays", () => {
    const disk = newDisk();
    expect(archiveFile(disk, ARCHIVE, FILE, 2026)).toEqual({ outcome: "empty" });
    append(disk, line(2027, 1));
    expect(archiveFile(disk, ARCHIVE, FILE, 2026)).toEqual({ outcome: "not due" });
    expect(archiveFile(disk, ARCHIVE, FILE, 2027)).toMatchObject({ outcome: "archived" });
    expect(segments(disk)).toEqual(["2027/a_to_b.jsonl"]);
    expect(disk.stat(LOG)?.size).toBe(0);
    expect(archiveFile(disk, ARCHIVE, { name: "x", path: "/wire/x.jsonl" }, 2026)).toEqual({
      outcome: "empty",
    });
  });

  test("by the first line that has a date; without one it stays", () => {
    const disk = newDisk(`rubbish\n{"no":"date"}\n`);
    expect(archiveFile(disk, ARCHIVE, FILE, 2026)).toEqual({ outcome: "not due" });
    append(disk, `{"ratified_at":"2026-01-01T00:00:00Z"}\n{"timestamp":"3"`);
    expect(archiveFile(disk, ARCHIVE, FILE, 2026)).toMatchObject({ outcome: "archived" });
    expect(textOf(disk).endsWith(`{"timestamp":"3"\n`)).toBe(true);
  });

  test("by lines of its owner: what others put there says nothing of its year", () => {
    const disk = newDisk(line(2020, 1) + line(2027, 2));
    const ours = {
      ...FILE,
      isAuthors: (bytes: Uint8Array) => !Buffer.from(bytes).includes('"n":1}'),
    };
    expect(archiveFile(disk, ARCHIVE, ours, 2026)).toEqual({ outcome: "not due" });
    expect(archiveFile(disk, ARCHIVE, ours, 2027)).toMatchObject({ outcome: "archived" });
  });

  test("by one agent of several that try at once: the others find it empty", () => {
    const world = new MemoryDisk();
    const disk = world.process();
    disk.makeFolder("/wire/archive", 0o700);
    append(disk, line(2026, 1));
    const other = world.process();
    // The other one is quicker between our open and our lock.
    const late: Disk = {
      ...({} as Disk),
      stat: (path) => disk.stat(path),
      list: (path) => disk.list(path),
      open: (path, how, mode) => {
        const file = disk.open(path, how, mode);
        const lock = file.lock.bind(file);
        return Object.assign(file, {
          lock: (waitMs: number) => {
            archiveFile(other, ARCHIVE, FILE, 2026);
            return lock(waitMs);
          },
        });
      },
    };
    expect(archiveFile(late, ARCHIVE, FILE, 2026)).toEqual({ outcome: "empty" });
    expect(textOf(disk)).toBe(line(2026, 1));
  });

  test("always behind what is archived already, whatever the clocks say", () => {
    const disk = newDisk(line(2027, 1));
    archiveFile(disk, ARCHIVE, FILE, 2028);
    // The clock has gone back over the year, and comes to the turn of it again.
    append(disk, line(2026, 2));
    archiveFile(disk, ARCHIVE, FILE, 2026);
    append(disk, line(2026, 3) + line(2029, 4));
    archiveFile(disk, ARCHIVE, FILE, 2028);
    expect(segments(disk)).toEqual([
      "2027/a_to_b.jsonl",
      "2027/a_to_b.2.jsonl",
      "2028/a_to_b.jsonl",
    ]);
    expect(textOf(disk)).toBe(line(2027, 1) + line(2026, 2) + line(2026, 3) + line(2029, 4));
  });

  test("and who may read and write it stays as it was", () => {
    const disk = newDisk();
    disk.remove(LOG);
    disk.open(LOG, "append", 0o660).close();
    append(disk, line(2026, 1));
    archiveFile(disk, ARCHIVE, FILE, 2026);
    expect(disk.stat(LOG)?.mode).toBe(0o660);
    expect(disk.stat("/wire/archive/2026/a_to_b.jsonl")?.mode).toBe(0o660);
  });

  test("or leaves nothing behind where only its owner may rename it", () => {
    const disk = newDisk(line(2026, 1));
    const sticky = Object.assign(disk, {
      renameExclusive: (from: string, to: string): never => {
        disk.open(to, "append").close();
        throw new StorageError("denied", from, "operation not permitted", { hint: "" });
      },
    });
    expect(() => archiveFile(sticky, ARCHIVE, FILE, 2026)).toThrow("not permitted");
    expect(segments(disk)).toEqual([]);
    expect(textOf(disk)).toBe(line(2026, 1));
  });

  test("not while another program has it locked", () => {
    const world = new MemoryDisk();
    const disk = world.process();
    disk.makeFolder("/wire", 0o700);
    append(disk, line(2026, 1));
    const other = world.process().open(LOG, "append");
    expect(other.lock(0)).toBe(true);
    expect(() => archiveFile(disk, ARCHIVE, FILE, 2026)).toThrow("another program writes");
    other.close();
    expect(archiveFile(disk, ARCHIVE, FILE, 2026).outcome).toBe("archived");
    expect(disk.openFiles).toBe(0);
  });

  test("wherever the disk fails, the process dies or the power goes: every line is there once", () => {
    const tried = everywhere({
      prepare: () => undefined,
      work: (disk) => archiveFile(disk, ARCHIVE, FILE, 2026),
      check: (disk, where) => {
        expect(textOf(disk), where).toBe(line(2026, 1));
        append(disk, line(2026, 2));
        archiveFile(disk, ARCHIVE, FILE, 2026);
        append(disk, line(2027, 3));
        expect(textOf(disk), where).toBe(line(2026, 1) + line(2026, 2) + line(2027, 3));
      },
    });
    expect(tried).toBeGreaterThan(10 * WAYS.length);
  });
});

describe("a segment is compressed", () => {
  const text = Array.from({ length: 60_000 }, (_, at) => line(2026, at)).join("");

  test("into a file that gzip reads, of which any piece is read without the rest", () => {
    const folder = mkdtempSync(join(tmpdir(), "deaddrop-archive-"));
    try {
      const disk = nodeDisk();
      const log = join(folder, "a_to_b.jsonl");
      mkdirSync(join(folder, "archive"));
      writeFileSync(log, text);
      const archive = join(folder, "archive");
      archiveFile(disk, archive, { name: "a_to_b", path: log }, 2026);
      const [packed] = [...compressSegments(disk, archive, "a_to_b")];
      expect(packed?.before).toBe(text.length);
      expect(packed?.after).toBeLessThan(text.length / 5);
      const listed = spawnSync("gzip", ["-dc", packed?.path ?? ""], { maxBuffer: 64_000_000 });
      expect(listed.stdout.toString() === text).toBe(true);
      expect(gunzipSync(readWhole(disk, packed?.path ?? "") ?? "").toString() === text).toBe(true);
      const file = wholeLogs(disk, folder).open(log, "read");
      const random = randomFrom(7);
      for (let turn = 0; turn < 200; turn += 1) {
        const at = Math.floor(random() * text.length);
        const length = Math.floor(random() * 3_000);
        expect(Buffer.from(file.read(length, at)).toString()).toBe(text.slice(at, at + length));
      }
      expect(Buffer.from(file.read(text.length, 0)).toString() === text).toBe(true);
      file.close();
      expect([...compressSegments(disk, archive, "a_to_b")]).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("wherever the disk fails or the process dies: every line is there once", () => {
    const tried = everywhere({
      prepare: (disk) => archiveFile(disk, ARCHIVE, FILE, 2026),
      work: (disk) => [...compressSegments(disk, ARCHIVE, "a_to_b")],
      check: (disk, where) => {
        expect(textOf(disk), where).toBe(line(2026, 1));
        const left = [...compressSegments(disk, ARCHIVE, "a_to_b")];
        expect(left.length, where).toBeLessThan(2);
        expect(segments(disk), where).toEqual(["2026/a_to_b.jsonl.gz"]);
        expect(textOf(disk), where).toBe(line(2026, 1));
      },
    });
    expect(tried).toBeGreaterThan(5 * WAYS.length);
  });

  test("not while somebody has it locked: two that compress it could each remove what the other left", () => {
    const world = new MemoryDisk();
    const disk = world.process();
    disk.makeFolder("/wire/archive", 0o700);
    append(disk, line(2026, 1));
    archiveFile(disk, ARCHIVE, FILE, 2026);
    const other = world.process().open("/wire/archive/2026/a_to_b.jsonl", "append");
    expect(other.lock(0)).toBe(true);
    expect(() => [...compressSegments(disk, ARCHIVE, "a_to_b")]).toThrow("another program");
    other.close();
    expect(segments(disk)).toEqual(["2026/a_to_b.jsonl"]);
    expect([...compressSegments(disk, ARCHIVE, "a_to_b")]).toHaveLength(1);
  });
});
