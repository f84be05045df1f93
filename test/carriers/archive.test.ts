import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveFile, compressPart, listArchive, PartNames } from "../../src/carriers/archive.ts";
import { carrierLines } from "../../src/carriers/packed.ts";
import { publish, type OwnChain } from "../../src/carriers/publisher.ts";
import { readWhole, StorageError, type Disk } from "../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";
import { attempt, FAULTS, POWER_CUTS } from "../support/disk/faults.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { randomFrom } from "../support/random.ts";

const LIVE = "outbox/forge.jsonl";
const PATH = `/wire/${LIVE}`;
const NAMES = new PartNames([
  LIVE,
  "forge_to_ann.jsonl",
  "outbox/forge.2.jsonl",
  "decisions.jsonl",
]);

function line(year: number, number: number, from = "forge"): string {
  return `{"from":"${from}","timestamp":"${year}-05-05T15:00:00Z","seq":${number}}\n`;
}

function append(disk: Disk, text: string, path = PATH): void {
  const file = disk.open(path, "append");
  file.append(Buffer.from(text));
  file.datasync();
  file.close();
}

function worldWith(text: string): MemoryDisk {
  const world = new MemoryDisk();
  const disk = world.process();
  disk.makeFolder("/wire/outbox", 0o700);
  append(disk, text);
  return world;
}

/** Every line of the file and its parts, by path. */
function linesOf(disk: MemoryProcess): string[] {
  const paths = listArchive(disk, "/wire", NAMES).parts.map(({ path }) => `/wire/${path}`);
  return [...paths, PATH].flatMap((path) => {
    if (disk.stat(path) === undefined) return [];
    const file = disk.open(path, "read");
    const lines = [...carrierLines(file)].map(({ bytes }) => Buffer.from(bytes ?? []).toString());
    file.close();
    return lines;
  });
}

const close = (disk: Disk, year: number, live = LIVE) =>
  archiveFile(disk, "/wire", NAMES, live, { year, author: "forge" });
const parts = (disk: Disk): string[] =>
  listArchive(disk, "/wire", NAMES).parts.map(({ path }) => path);

test("a file is archived when its first line with a date is of that year or an earlier one", () => {
  const disk = worldWith("").process();
  expect(close(disk, 2026)).toEqual({ outcome: "empty" });
  expect(close(disk, 2026, "forge_to_ann.jsonl")).toEqual({ outcome: "empty" });
  append(disk, `junk\n{"from":"forge"}\n${line(2020, 1, "scribe")}`);
  expect(close(disk, 2026)).toEqual({ outcome: "not due" });
  append(disk, line(2027, 2) + line(2025, 3));
  expect(close(disk, 2026)).toEqual({ outcome: "not due" });
  const size = disk.stat(PATH)?.size;
  expect(close(disk, 2027)).toEqual({
    ...{ outcome: "archived", to: "archive/2027/forge.jsonl", bytes: size },
  });
  expect(disk.stat(PATH)).toMatchObject({ size: 0, mode: 0o600 });
  expect(linesOf(disk)).toHaveLength(5);
});

test("a decision is dated by when it was ratified, and anybody may have recorded it", () => {
  const disk = worldWith("").process();
  append(disk, `{"ratified_at":"2026-01-01T00:30:00+01:00"}\n`, "/wire/decisions.jsonl");
  const archive = (year: number) => archiveFile(disk, "/wire", NAMES, "decisions.jsonl", { year });
  expect(archive(2024)).toEqual({ outcome: "not due" });
  expect(archive(2025)).toMatchObject({ to: "archive/2025/decisions.jsonl" });
});

test("it becomes the next free part, also where another file's part would have the name", () => {
  const disk = worldWith(line(2026, 1)).process();
  const archived: unknown[] = [];
  for (let seq = 2; seq < 7; seq += 1) {
    const done = close(disk, 2026);
    archived.push(done.outcome === "archived" ? done.to : done.outcome);
    if (seq === 3) compressPart(disk, "/wire/archive/2026/forge.3.jsonl");
    append(disk, line(2026, seq) + (seq === 4 ? line(2026, 9).trimEnd() : ""));
  }
  const year = "archive/2026";
  // `forge.2` is a handle, and its first part is named so.
  expect(archived).toEqual([
    ...[`${year}/forge.jsonl`, `${year}/forge.3.jsonl`, `${year}/forge.4.jsonl`],
    ...[`${year}/forge.5.jsonl`, `${year}/forge.6.jsonl`],
  ]);
  const numbers = linesOf(disk).map((text) => (JSON.parse(text) as { seq: number }).seq);
  expect(numbers.toSorted((x, y) => x - y)).toEqual([1, 2, 3, 4, 5, 6, 9]);
});

test("a pair's file stays where a handle has its name: parts would be the handle's", () => {
  const disk = worldWith("").process();
  append(disk, line(2025, 1), "/wire/forge_to_ann.jsonl");
  append(disk, line(2025, 1, "forge_to_ann"), "/wire/outbox/forge_to_ann.jsonl");
  const names = new PartNames(["forge_to_ann.jsonl", "outbox/forge_to_ann.jsonl"]);
  const archive = (live: string) => archiveFile(disk, "/wire", names, live, { year: 2026 });
  expect(archive("forge_to_ann.jsonl")).toEqual({ outcome: "not due" });
  expect(archive("outbox/forge_to_ann.jsonl")).toMatchObject({ outcome: "archived" });
  expect(listArchive(disk, "/wire", names).parts).toEqual([
    { path: "archive/2026/forge_to_ann.jsonl", live: "outbox/forge_to_ann.jsonl" },
  ]);
});

test("what another user owns than the live file is passed over, but for shared files", () => {
  const disk = worldWith(line(2026, 1)).process();
  append(disk, `{"ratified_at":"2026-01-01T00:00:00Z"}\n`, "/wire/decisions.jsonl");
  close(disk, 2026);
  archiveFile(disk, "/wire", NAMES, "decisions.jsonl", { year: 2026 });
  const stat = disk.stat.bind(disk);
  disk.stat = (path) => {
    const found = stat(path);
    return found && path.includes("archive") ? { ...found, uid: 7 } : found;
  };
  expect(listArchive(disk, "/wire", NAMES)).toMatchObject({
    parts: [{ path: "archive/2026/decisions.jsonl" }],
    passedOver: [{ path: "archive/2026/forge.jsonl", problem: "another user owns it" }],
  });
  disk.remove(PATH);
  expect(parts(disk)).toHaveLength(2);
});

test("a name that was claimed for a file that may not be moved is given back", () => {
  const disk = worldWith(line(2026, 1)).process();
  disk.renameExclusive = (_, to) => {
    disk.open(to, "append").close();
    throw new StorageError("denied", to, "permission denied", { hint: "" });
  };
  expect(() => close(disk, 2026)).toThrow(StorageError);
  expect(parts(disk)).toEqual([]);
  expect(linesOf(disk)).toHaveLength(1);
});

test("archived years change nothing for a publisher", () => {
  const disk = worldWith("").process();
  const chain: OwnChain = {
    last: 9,
    after: (seq, limit) =>
      Array.from({ length: Math.min(limit, 9 - seq) }, (_, at) => ({
        ...{ seq: seq + at + 1, bytes: Buffer.from(line(2026, seq + at + 1).trimEnd()) },
      })),
  };
  const carrier = () => ({
    ...{ path: PATH, mode: 0o600, others: parts(disk).map((path) => `/wire/${path}`) },
  });
  const short = { ...chain, last: 5, after: (seq: number) => chain.after(seq, 5 - seq) };
  publish(disk, carrier(), short, undefined, () => undefined);
  close(disk, 2026);
  compressPart(disk, "/wire/archive/2026/forge.jsonl");
  publish(disk, carrier(), chain, undefined, () => undefined);
  const numbers = linesOf(disk).map((text) => (JSON.parse(text) as { seq: number }).seq);
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("a file that another program keeps locked is archived later", () => {
  const world = worldWith(line(2026, 1));
  const holder = world.process().open(PATH, "append");
  holder.lock(0);
  const disk = world.process();
  expect(() => close(disk, 2026)).toThrow(expect.objectContaining({ code: "locked" }) as Error);
  holder.close();
  expect(close(disk, 2026)).toMatchObject({ outcome: "archived" });
});

test("wherever closing or compressing dies, no line is lost and none is there twice", () => {
  const works: [string, (disk: MemoryProcess) => unknown][] = [
    ["close", (disk) => close(disk, 2026)],
    [
      "compress",
      (disk) => {
        for (const path of parts(disk)) {
          if (!path.endsWith(".gz")) compressPart(disk, `/wire/${path}`);
        }
      },
    ],
  ];
  const ways = FAULTS.flatMap((fault) => POWER_CUTS.map((cut) => [fault, cut] as const));
  for (const [name, work] of works) {
    for (const [fault, cut] of ways) {
      for (let at = 1, isThrough = false; !isThrough; at += 1) {
        const world = worldWith(line(2026, 1) + line(2026, 2));
        const disk = world.process();
        if (name === "compress") close(disk, 2026);
        for (const folder of ["/wire", "/"]) disk.syncFolder(folder);
        const before = disk.operations;
        disk.failAt(at, fault);
        attempt(() => work(disk));
        isThrough = disk.operations - before < at;
        disk.kill();
        if (cut !== "none") world.powerCut(cut);
        const next = world.process();
        const where = `${name}: ${fault}, ${cut}, at ${at}`;
        expect(linesOf(next).length, where).toBe(2);
        work(next);
        expect(linesOf(next), where).toEqual([line(2026, 1).trim(), line(2026, 2).trim()]);
        if (name === "close") append(next, line(2027, 3));
        expect(linesOf(next).length, where).toBe(name === "close" ? 3 : 2);
      }
    }
  }
});

test("what is read back and differs removes nothing", () => {
  const disk = worldWith(line(2026, 1)).process();
  close(disk, 2026);
  const path = "/wire/archive/2026/forge.jsonl";
  const replace = disk.replace.bind(disk);
  disk.replace = (to, pieces, mode) => {
    const whole = pieces instanceof Uint8Array ? [pieces] : [...pieces];
    replace(to, Buffer.concat(whole).fill(0, 12, 14), mode);
  };
  expect(() => compressPart(disk, path)).toThrow(StorageError);
  expect(parts(disk)).toEqual(["archive/2026/forge.jsonl"]);
  expect(disk.stat(`${path}.gz`)).toBeUndefined();
});

test("parts of a real archive, compressed or not, are what gunzip says", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-archive-"));
  try {
    mkdirSync(join(folder, "outbox"));
    const random = randomFrom(9);
    let text = "";
    while (text.length < 2_500_000)
      text += line(2026, 1).replace("}", `,"x":"${String(random()).repeat(1 + 30 * random())}"}`);
    writeFileSync(join(folder, LIVE), text);
    const disk = nodeDisk({ wireDir: folder });
    const done = archiveFile(disk, folder, NAMES, LIVE, { year: 2026 });
    const path = join(folder, done.outcome === "archived" ? done.to : "");
    // A process that was killed while it compressed the part has left this.
    const left = join(folder, "archive/2026/.forge.jsonl.gz.0123456789ab");
    writeFileSync(left, "half of it");
    const compressed = compressPart(disk, path);
    expect(compressed).toMatchObject({ path: `${path}.gz`, before: text.length });
    expect([path, left].map(existsSync)).toEqual([false, false]);
    const { stdout } = spawnSync("gzip", ["-dc", `${path}.gz`], { maxBuffer: 1e9 });
    expect(stdout.toString()).toBe(text);
    expect(Buffer.from(readWhole(disk, join(folder, LIVE)) ?? [])).toHaveLength(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("links, folders and closed or strange names are passed over or told; the rest is listed", () => {
  const folder = mkdtempSync(join(tmpdir(), "deaddrop-archive-"));
  try {
    for (const name of ["2025", "2026", "2027", "1999", "2026/forge.9.jsonl"])
      mkdirSync(join(folder, "archive", name), { recursive: true });
    writeFileSync(join(folder, "archive/2030"), "");
    const year = join(folder, "archive/2026");
    for (const name of [
      ...["forge.jsonl", "forge.jsonl.gz", "forge.3.jsonl.gz", "forge_to_ann.2.jsonl"],
      ...["decisions.7.jsonl", "notes.txt", "ann.jsonl", "forge.x.jsonl", "forge.03.jsonl.gz"],
    ])
      writeFileSync(join(year, name), "");
    symlinkSync(join(year, "forge.jsonl"), join(year, "forge.4.jsonl"));
    linkSync(join(year, "ann.jsonl"), join(year, "forge.5.jsonl"));
    writeFileSync(join(folder, "archive/1999/forge.jsonl"), "");
    const listing = listArchive(nodeDisk({ wireDir: folder }), folder, NAMES);
    expect(listing.parts.map(({ path, live }) => [path.slice(13), live])).toEqual([
      ["decisions.7.jsonl", "decisions.jsonl"],
      ["forge.3.jsonl.gz", LIVE],
      ["forge.jsonl", LIVE],
      ["forge_to_ann.2.jsonl", "forge_to_ann.jsonl"],
    ]);
    expect(listing.unowned.map((path) => path.slice(13))).toEqual([
      ...["ann.jsonl", "forge.03.jsonl.gz", "forge.x.jsonl"],
    ]);
    expect(listing.passedOver).toEqual([
      { path: "archive/2026/forge.4.jsonl", problem: "it is no file" },
      { path: "archive/2026/forge.5.jsonl", problem: "it has another name (a hard link)" },
      { path: "archive/2026/forge.9.jsonl", problem: "it is no file" },
      { path: "archive/2030", problem: "it is no folder" },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
