import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeDisk } from "../../../src/storage/disk/node-disk.ts";
import { segmentPlaces } from "../../../src/storage/archive/segments.ts";
import { openSegment } from "../../../src/storage/archive/whole-file.ts";
import { wholeLogs } from "../../../src/storage/archive/whole-logs.ts";
import {
  cursorWithin,
  readLinesFrom,
  readNewLines,
  type Cursor,
  type TailRead,
} from "../../../src/storage/files/tail.ts";
import { memoryInUse } from "../../support/memory-in-use.ts";

const MAX_LINE_BYTES = 1_048_576;
const disk = nodeDisk();
let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deaddrop-tail-"));
  path = join(folder, "a_to_b.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(cursor?: Cursor, maxBytes = 1_000_000): TailRead {
  return readNewLines(disk, path, cursor, maxBytes);
}

function shown(tail: TailRead): string[] {
  return tail.lines.map((line) =>
    line.kind === "line"
      ? `${line.line}:${Buffer.from(line.bytes).toString()}`
      : `${line.line}:(${line.kind})`,
  );
}

describe("reading on", () => {
  it("gives whole lines with their place, blank ones together, and never an unterminated tail", () => {
    writeFileSync(path, 'one\n\n \t\r\ntwo\n{"half":');
    const first = read();
    expect(shown(first)).toEqual(["1:one", "3:(blank)", "4:two"]);
    expect(first.lines.map(({ start, end }) => [start, end])).toEqual([
      [0, 4],
      [4, 9],
      [9, 13],
    ]);
    expect(read(first.cursor).lines).toEqual([]);
    appendFileSync(path, "1}\nthree\n");
    const second = read(JSON.parse(JSON.stringify(first.cursor)) as Cursor);
    expect(shown(second)).toEqual(['5:{"half":1}', "6:three"]);
  });

  it("takes a bounded number of lines at once, however short they are, and all in the end", () => {
    writeFileSync(path, "x\n".repeat(20_000));
    let cursor: Cursor | undefined;
    const numbers: number[] = [];
    for (let more = true; more;) {
      const part = read(cursor);
      expect(part.lines.length).toBeLessThanOrEqual(8_192);
      numbers.push(...part.lines.map(({ line }) => line));
      ({ cursor, more } = part);
    }
    expect(numbers).toEqual(Array.from({ length: 20_000 }, (_, at) => at + 1));
  });

  it("reads nothing through a link, a folder, a pipe or a second name, and says so", () => {
    const other = `${path}.other`;
    writeFileSync(other, "secret\n");
    const obstacles = [
      () => symlinkSync(other, path),
      () => mkdirSync(path),
      () => spawnSync("mkfifo", [path]),
      () => linkSync(other, path),
    ];
    for (const obstruct of obstacles) {
      rmSync(path, { recursive: true, force: true });
      obstruct();
      expect(read()).toMatchObject({ lines: [], anomaly: "obstructed", more: false });
    }
  });

  it("has no file yet, then an empty one, then lines", () => {
    const missing = read();
    expect(missing).toEqual({ lines: [], cursor: undefined, anomaly: undefined, more: false });
    writeFileSync(path, "");
    const empty = read(missing.cursor);
    expect(empty.lines).toEqual([]);
    writeFileSync(path, "one\n");
    expect(shown(read(empty.cursor))).toEqual(["1:one"]);
  });

  it("takes no more than asked for, and all of it in the end, in order", () => {
    const lines = Array.from({ length: 400 }, (_, n) => `${n}:${"x".repeat((n * 7919) % 20_011)}`);
    writeFileSync(path, `${lines.join("\n")}\n`);
    const got: string[] = [];
    let cursor: Cursor | undefined;
    for (let tail = read(undefined, 1); ; tail = read(cursor, 1)) {
      for (const line of tail.lines) {
        if (line.kind === "line") got.push(Buffer.from(line.bytes).toString());
      }
      expect(tail.lines.reduce((sum, line) => sum + line.end - line.start, 0)).toBeLessThan(
        1_100_000,
      );
      cursor = tail.cursor;
      if (!tail.more) break;
    }
    expect(got).toEqual(lines);
    expect(cursor?.lines).toBe(400);
  });
});

describe("long lines", () => {
  it.each([-1, 0, 1])("a terminated line of the limit %i bytes", (more) => {
    writeFileSync(path, `${"x".repeat(MAX_LINE_BYTES + more)}\nnext\n`);
    const tail = read(undefined, 10_000_000);
    expect(tail.lines.map((line) => line.kind)).toEqual([more > 0 ? "oversized" : "line", "line"]);
    expect(tail.lines[1]).toMatchObject({ line: 2, start: MAX_LINE_BYTES + more + 1 });
  });

  it("an unterminated line of 512 MiB is passed over with flat memory, once, and its end found", () => {
    const size = 512 * 1024 * 1024;
    writeFileSync(path, "first\n");
    truncateSync(path, size);
    let tail = read(undefined, 16_000_000);
    expect(shown(tail)).toEqual(["1:first"]);
    const before = memoryInUse();
    let most = before;
    let calls = 1;
    while (tail.more) {
      tail = read(tail.cursor, 16_000_000);
      calls += 1;
      expect(tail.lines).toEqual([]);
      most = Math.max(most, memoryInUse());
    }
    expect(most - before).toBeLessThan(20_000_000);
    expect(calls).toBeLessThan(40);
    expect(tail.cursor).toMatchObject({ offset: 6, lines: 1 });
    appendFileSync(path, "end\nsecond\n");
    const last = read(tail.cursor, 4_000_000);
    expect(shown(last)).toEqual(["2:(oversized)", "3:second"]);
    expect(last.lines[0]).toMatchObject({ start: 6, end: size + 4 });
  });

  it("a tail over the limit that its writer cuts back is read again", () => {
    writeFileSync(path, `one\n${"x".repeat(MAX_LINE_BYTES + 10)}`);
    const first = read(undefined, 10_000_000);
    expect(first.cursor?.scanned).toBeGreaterThan(MAX_LINE_BYTES);
    truncateSync(path, 4);
    appendFileSync(path, "two\n");
    expect(shown(read(first.cursor))).toEqual(["2:two"]);
  });
});

describe("what was read is there no more", () => {
  function consumed(text: string): Cursor {
    writeFileSync(path, text);
    const { cursor } = read();
    if (cursor === undefined) throw new Error("nothing was read");
    return cursor;
  }

  it("shrunk", () => {
    const cursor = consumed("one\ntwo\n");
    truncateSync(path, 4);
    expect(read(cursor)).toEqual({ lines: [], cursor, anomaly: "shrunk", more: false });
  });

  it("missing", () => {
    const cursor = consumed("one\n");
    rmSync(path);
    expect(read(cursor).anomaly).toBe("missing");
  });

  it("replaced by a file with another content", () => {
    const cursor = consumed("one\ntwo\n");
    writeFileSync(`${path}.new`, "one\nsix\nten\n");
    renameSync(`${path}.new`, path);
    expect(read(cursor).anomaly).toBe("replaced");
  });

  it("replaced by a copy that goes on: the same log", () => {
    const cursor = consumed("one\ntwo\n");
    copyFileSync(path, `${path}.new`);
    appendFileSync(`${path}.new`, "three\n");
    renameSync(`${path}.new`, path);
    expect(shown(read(cursor))).toEqual(["3:three"]);
  });

  it("rewritten at equal size", () => {
    const cursor = consumed("one\ntwo\n");
    writeFileSync(path, "one\nsix\n");
    utimesSync(path, 1_000, 1_000);
    expect(read(cursor).anomaly).toBe("rewritten");
  });

  it("rewritten and grown", () => {
    const cursor = consumed("one\ntwo\n");
    writeFileSync(path, "one\nsix\nthree\n");
    expect(read(cursor).anomaly).toBe("rewritten");
  });
});

describe("archived segments", () => {
  it("are listed in order and read on with a cursor of the live file", () => {
    writeFileSync(path, "one\ntwo\n");
    const first = read();
    appendFileSync(path, "three\n");
    disk.makeFolder(join(folder, "archive", "2026"), 0o700);
    disk.makeFolder(join(folder, "archive", "2025"), 0o700);
    const old = join(folder, "archive", "2025", "a_to_b.jsonl");
    writeFileSync(old, "zero\n");
    const segment = join(folder, "archive", "2026", "a_to_b.jsonl");
    disk.renameExclusive(path, segment);
    writeFileSync(path, "four\n");
    const segments = segmentPlaces(disk, join(folder, "archive"), "a_to_b");
    expect(segments.map((place) => place.path)).toEqual([old, segment]);
    // An older segment that comes to light shifts all that follows.
    expect(readNewLines(wholeLogs(disk, folder), path, first.cursor, 1_000).anomaly).toBeDefined();
    rmSync(old);
    const rest = readNewLines(wholeLogs(disk, folder), path, first.cursor, 1_000);
    expect(shown(rest)).toEqual(["3:three", "4:four"]);
  });

  it("ten come after nine, and compressed ones read the same", () => {
    const folder2026 = join(folder, "archive", "2026");
    disk.makeFolder(folder2026, 0o700);
    for (const number of ["10.", "9.", "2.", ""]) {
      writeFileSync(join(folder2026, `a.${number}jsonl`), `${number}\n`);
    }
    writeFileSync(join(folder2026, "a.11.jsonl.gz"), gzipSync("packed\n"));
    writeFileSync(join(folder2026, "ab.jsonl"), "not ours\n");
    const segments = segmentPlaces(disk, join(folder, "archive"), "a").map((place) => place.path);
    expect(segments.map((at) => at.slice(folder2026.length + 1))).toEqual([
      "a.jsonl",
      "a.2.jsonl",
      "a.9.jsonl",
      "a.10.jsonl",
      "a.11.jsonl.gz",
    ]);
    const packed = openSegment(disk, segments[4] ?? "");
    expect(shown(readLinesFrom(packed, undefined, 1_000))).toEqual(["1:packed"]);
    writeFileSync(join(folder2026, "a.11.jsonl.gz"), randomBytes(64));
    expect(() => openSegment(disk, segments[4] ?? "")).toThrow("not a gzip file");
  });
});

describe("a cursor within what was read", () => {
  const TEXT = ["one", "", "  ", "three", "x".repeat(MAX_LINE_BYTES + 1), "five", "half"].join(
    "\n",
  );

  it.each([0, 1, 2, 3, 4, 5])("goes on behind the first %i of the lines", (count) => {
    writeFileSync(path, TEXT);
    const whole = read(undefined, 4_000_000);
    expect(shown(whole)).toHaveLength(5);
    const cursor = cursorWithin(disk, path, undefined, whole.lines.slice(0, count));
    const rest = read(cursor, 4_000_000);
    expect([rest.anomaly, rest.lines]).toEqual([undefined, whole.lines.slice(count)]);
    expect(rest.cursor?.offset).toBe(whole.cursor?.offset);
  });

  it("begins where the read began", () => {
    writeFileSync(path, TEXT);
    const { cursor: first } = read(undefined, 1);
    const rest = read(first, 4_000_000);
    expect(cursorWithin(disk, path, first, [])).toBe(first);
    const cursor = cursorWithin(disk, path, first, rest.lines.slice(0, 2));
    expect(read(cursor, 4_000_000).lines).toEqual(rest.lines.slice(2));
  });

  it("fits no file that has changed since, not even behind the change", () => {
    writeFileSync(path, TEXT);
    const { lines } = read(undefined, 4_000_000);
    const changed = [TEXT.replace("three", "THREE"), TEXT.replace("one\n", ""), "", undefined];
    for (const text of changed) {
      if (text === undefined) rmSync(path);
      else writeFileSync(path, text);
      const cursor = cursorWithin(disk, path, undefined, lines.slice(0, 3));
      expect(cursor?.offset).toBe(lines[2]?.end);
      expect(read(cursor).lines).toEqual([]);
      expect(read(cursor).anomaly).not.toBeUndefined();
    }
  });
});
