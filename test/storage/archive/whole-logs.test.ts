import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { archiveFile } from "../../../src/storage/archive/archive-file.ts";
import { compressSegments } from "../../../src/storage/archive/compress.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import { StorageError, stillNamed, type Disk } from "../../../src/storage/disk/disk.ts";
import { readNewLines, type Cursor } from "../../../src/storage/files/tail.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const LOG = "/wire/a_to_b.jsonl";
const ARCHIVE = "/wire/archive";
const YEAR = 2026;

function newDisk(): MemoryProcess {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire/archive", 0o700);
  return disk;
}

function line(number: number): string {
  return `{"timestamp":"2026-05-05T15:00:00Z","n":${number}}\n`;
}

function append(disk: Disk, text: string, path = LOG): void {
  const file = disk.open(path, "append");
  file.append(Buffer.from(text));
  file.close();
}

function archive(disk: Disk) {
  return archiveFile(disk, ARCHIVE, { name: "a_to_b", path: LOG }, YEAR);
}

function textOf(disk: Disk, path = LOG): string {
  const file = wholeLogs(disk, "/wire").open(path, "read");
  try {
    return Buffer.from(file.read(file.stat().size, 0)).toString();
  } finally {
    file.close();
  }
}

/** What a reader that stays gets of new lines: their numbers and texts. */
function reader(disk: Disk) {
  const whole = wholeLogs(disk, "/wire");
  let cursor: Cursor | undefined;
  return () => {
    const read = readNewLines(whole, LOG, cursor, 1_000_000);
    cursor = read.cursor;
    const lines = read.lines.map((each) =>
      each.kind === "line" ? `${each.line}:${Buffer.from(each.bytes).toString()}` : each.kind,
    );
    return { lines, anomaly: read.anomaly };
  };
}

describe("a log with archived segments is one file", () => {
  test("who reads goes on over the turn of the year, and over compression", () => {
    const disk = newDisk();
    const read = reader(disk);
    append(disk, line(1) + line(2));
    expect(read().lines).toHaveLength(2);
    append(disk, line(3));
    archive(disk);
    append(disk, line(4));
    expect(read()).toEqual({
      lines: [`3:${line(3).trim()}`, `4:${line(4).trim()}`],
      anomaly: undefined,
    });
    archive(disk);
    expect(read()).toEqual({ lines: [], anomaly: undefined });
    expect([...compressSegments(disk, ARCHIVE, "a_to_b")]).toHaveLength(2);
    append(disk, line(5));
    expect(read()).toEqual({ lines: [`5:${line(5).trim()}`], anomaly: undefined });
    expect(disk.openFiles).toBe(0);
  });

  test("one who was away reads the old segment first", () => {
    const disk = newDisk();
    const read = reader(disk);
    append(disk, line(1));
    expect(read().lines).toHaveLength(1);
    append(disk, line(2));
    archive(disk);
    append(disk, line(3));
    archive(disk);
    append(disk, line(4));
    expect(read().lines.map((each) => each.split(":")[0])).toEqual(["2", "3", "4"]);
  });

  test("the live file may be missing: a crash came between the rename and the new file", () => {
    const disk = newDisk();
    append(disk, line(1));
    const held = wholeLogs(disk, "/wire").open(LOG, "append");
    disk.makeFolder("/wire/archive/2026", 0o700);
    disk.renameExclusive(LOG, "/wire/archive/2026/a_to_b.jsonl");
    const whole = wholeLogs(disk, "/wire");
    expect(textOf(disk)).toBe(line(1));
    expect(whole.stat(LOG)?.size).toBe(line(1).length);
    // Who holds the file that was archived must not append to it.
    expect(stillNamed(whole, held)).toBe(false);
    held.close();
    const file = whole.open(LOG, "append");
    expect(stillNamed(whole, file)).toBe(true);
    file.append(Buffer.from(line(2)));
    file.close();
    expect(textOf(disk)).toBe(line(1) + line(2));
    expect(disk.stat(LOG)?.size).toBe(line(2).length);
  });

  const compressAll = (disk: Disk) => [...compressSegments(disk, ARCHIVE, "a_to_b")];
  test.each([
    ["archived", (disk: Disk) => archive(disk), [1, 2]],
    ["archived and compressed", (disk: Disk) => [archive(disk), compressAll(disk)], [1, 2]],
    [
      "archived, and the one after it too",
      (disk: Disk) => [archive(disk), append(disk, line(3)), archive(disk)],
      [1, 2, 3],
    ],
  ])("a file that is %s while it is opened is read once", (_what, meanwhile, numbers) => {
    const disk = newDisk();
    append(disk, line(1));
    archive(disk);
    append(disk, line(2));
    let isOpened = false;
    // That comes between the open and the look into the archive.
    const late: Disk = {
      ...({} as Disk),
      list: (path) => disk.list(path),
      stat: (path) => disk.stat(path),
      open: (path, how, mode) => {
        const file = disk.open(path, how, mode);
        if (path === LOG && !isOpened) {
          isOpened = true;
          meanwhile(disk);
        }
        return file;
      },
    };
    expect(textOf(late)).toBe(numbers.map(line).join(""));
    expect(disk.openFiles).toBe(0);
  });

  test("a segment that is compressed after its folder was listed is read", () => {
    const disk = newDisk();
    append(disk, line(1));
    archive(disk);
    append(disk, line(2));
    const late: Disk = {
      ...({} as Disk),
      list: (path) => {
        const names = disk.list(path);
        if (path === `${ARCHIVE}/${YEAR}`) compressAll(disk);
        return names;
      },
      stat: (path) => disk.stat(path),
      open: (path, how, mode) => disk.open(path, how, mode),
    };
    expect(textOf(late)).toBe(line(1) + line(2));
  });

  test("what no newline ended is ended where a segment ends, compressed or not", () => {
    const disk = newDisk();
    disk.makeFolder("/wire/archive/2026", 0o700);
    append(disk, `${line(1)}{"torn`, "/wire/archive/2026/a_to_b.jsonl");
    append(disk, line(2));
    const whole = `${line(1)}{"torn\n${line(2)}`;
    expect(textOf(disk)).toBe(whole);
    expect([...compressSegments(disk, ARCHIVE, "a_to_b")]).toHaveLength(1);
    expect(textOf(disk)).toBe(whole);
  });

  test("what another program wrote late into a segment is found with the next line", () => {
    const disk = newDisk();
    const read = reader(disk);
    append(disk, line(1));
    expect(read().lines).toHaveLength(1);
    archive(disk);
    append(disk, line(2));
    expect(read().lines).toHaveLength(1);
    append(disk, line(9), "/wire/archive/2026/a_to_b.jsonl");
    append(disk, line(3));
    expect(read().anomaly).toBe("rewritten");
    expect(textOf(disk)).toBe(line(1) + line(9) + line(2) + line(3));
  });

  test("a strange segment, or one that others have put there, is no part of it", () => {
    const disk = newDisk();
    disk.makeFolder("/wire/archive/2025", 0o700);
    disk.makeFolder("/wire/archive/2025/a_to_b.2.jsonl", 0o700);
    append(disk, "no gzip file", "/wire/archive/2025/a_to_b.jsonl.gz");
    append(disk, "", "/wire/archive/2025/a_to_b.3.jsonl");
    append(disk, line(7), "/wire/archive/2025/a_to_b.4.jsonl");
    append(disk, line(1));
    const stat: Disk["stat"] = (path) => {
      const found = disk.stat(path);
      // The sticky bit lets another user add a file, and not replace ours.
      const isOthers = path.endsWith(".4.jsonl") || path.endsWith(".gz");
      return found !== undefined && isOthers ? { ...found, uid: 1 } : found;
    };
    const other: Disk = {
      ...({} as Disk),
      stat,
      list: (path) => disk.list(path),
      open: (path, how, mode) => disk.open(path, how, mode),
    };
    expect(textOf(other)).toBe(line(1));
    // A damaged one of its owner's is missed: the log must not seem to end before it.
    expect(() => textOf(disk)).toThrow("is not a gzip file");
    expect(disk.openFiles).toBe(0);
  });

  test("a folder that is closed to us, or no year, holds no part of it, and hides none", () => {
    const disk = newDisk();
    append(disk, line(1));
    archive(disk);
    append(disk, line(2));
    for (const year of ["2027", "9999"]) {
      disk.makeFolder(`/wire/archive/${year}`, 0o700);
      append(disk, line(7), `/wire/archive/${year}/a_to_b.jsonl`);
    }
    const looked: string[] = [];
    let isTheirs = true;
    const other: Disk = {
      ...({} as Disk),
      stat: (path) => {
        const found = disk.stat(path);
        const isOthers = found !== undefined && isTheirs && path.endsWith("2027");
        return isOthers ? { ...found, uid: 1 } : found;
      },
      list: (path) => {
        looked.push(path);
        if (path.endsWith("2027")) {
          throw new StorageError("denied", path, "permission denied", { hint: "" });
        }
        return disk.list(path);
      },
      open: (path, how, mode) => disk.open(path, how, mode),
    };
    expect(textOf(other)).toBe(line(1) + line(2));
    expect(looked).toContain("/wire/archive/2027");
    expect(looked).not.toContain("/wire/archive/9999");
    // What the owner of the log has made is a part of it: it must not seem to lack what is there.
    isTheirs = false;
    expect(() => textOf(other)).toThrow(/a_to_b.*permission denied/);
  });

  test("one that another program has compressed is read; one in many tiny pieces is refused", () => {
    const disk = newDisk();
    disk.makeFolder("/wire/archive/2025", 0o700);
    append(disk, line(2));
    disk.replace("/wire/archive/2025/a_to_b.jsonl.gz", gzipSync(line(1)), 0o600);
    expect(textOf(disk)).toBe(line(1) + line(2));
    disk.replace(
      "/wire/archive/2025/a_to_b.jsonl.gz",
      Buffer.concat([gzipSync(line(1)), gzipSync(line(1))]),
      0o600,
    );
    expect(() => textOf(disk)).toThrow(StorageError);
  });

  test("an archived part is never cut, and what is in it is not written again", () => {
    const disk = newDisk();
    append(disk, line(1));
    archive(disk);
    append(disk, line(2));
    const file = wholeLogs(disk, "/wire").open(LOG, "append");
    expect(() => file.truncate(3)).toThrow("archived");
    file.overwrite(Buffer.from(line(1) + line(2)), 0);
    file.truncate(line(1).length);
    file.close();
    expect(textOf(disk)).toBe(line(1));
  });

  test("other files are as they are", () => {
    const disk = newDisk();
    disk.makeFolder("/wire/archive/2026", 0o700);
    append(disk, "segment\n", "/wire/archive/2026/config.jsonl");
    append(disk, "{}", "/wire/config.json");
    append(disk, "x\n", "/elsewhere.jsonl");
    const whole = wholeLogs(disk, "/wire");
    expect(whole.stat("/wire/config.json")).toEqual(disk.stat("/wire/config.json"));
    expect(whole.stat("/elsewhere.jsonl")?.size).toBe(2);
    expect(whole.stat("/wire/b_to_a.jsonl")).toBeUndefined();
    expect(() => whole.open("/wire/b_to_a.jsonl", "read")).toThrow("no such file");
  });
});

test("any piece of it is the same as of all its parts in one file", async () => {
  const parts = fc.array(
    fc.record({ text: fc.string({ minLength: 1, maxLength: 40 }), isPacked: fc.boolean() }),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      parts,
      fc.string(),
      fc.nat(200),
      fc.nat(200),
      async (some, live, at, length) => {
        const disk = newDisk();
        disk.makeFolder("/wire/archive/2026", 0o700);
        const texts = some.map(({ text }) => `${text}\n`);
        some.forEach(({ isPacked }, index) => {
          const path = `/wire/archive/2026/a_to_b.${index + 2}.jsonl`;
          const bytes = Buffer.from(texts[index] ?? "");
          if (isPacked) disk.replace(`${path}.gz`, gzipSync(bytes), 0o600);
          else disk.replace(path, bytes, 0o600);
        });
        append(disk, live);
        const expected = Buffer.from(texts.join("") + live);
        const file = wholeLogs(disk, "/wire").open(LOG, "read");
        const piece = expected.subarray(at, at + length);
        expect(Buffer.from(file.read(length, at))).toEqual(Buffer.from(piece));
        expect(Buffer.from(file.read(length, at, Buffer.alloc(length)))).toEqual(
          Buffer.from(piece),
        );
        expect(file.stat().size).toBe(expected.length);
        const end = Math.min(at + length, expected.length);
        const found = expected.subarray(0, end).indexOf(0x0a, at);
        const searched = at < end ? await file.search(0x0a, at, end) : undefined;
        expect(searched).toBe(found < 0 ? undefined : found);
        file.close();
        expect(disk.openFiles).toBe(0);
      },
    ),
  );
});
