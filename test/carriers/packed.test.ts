import { spawnSync } from "node:child_process";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { carrierLines, pack } from "../../src/carriers/packed.ts";
import { readCarrier, type ReadBudget } from "../../src/carriers/reader.ts";
import { amount } from "../support/amounts.ts";
import { MemoryDisk, type MemoryProcess } from "../support/disk/memory-disk.ts";
import { randomFrom } from "../support/random.ts";

// A compressed part is read as what it was compressed from, whoever compressed it and in whatever portions it is
// read; and a small one cannot give work without end.

const PATH = "/wire/forge.jsonl.gz";
const MIB = 1024 * 1024;

function diskWith(content: Uint8Array, path = PATH): MemoryProcess {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire", 0o700);
  disk.replace(path, content, 0o600);
  return disk;
}

interface ReadAll {
  readonly lines: string[];
  readonly oversized: number;
  readonly turns: number;
  readonly unreadable: string | undefined;
}

/** Reads to the end, with each cursor as it would come out of a store. */
function readAll(disk: MemoryProcess, budget: ReadBudget, path = PATH): ReadAll {
  let cursor: string | undefined;
  const lines: string[] = [];
  let [oversized, turns, unreadable] = [0, 0, undefined as string | undefined];
  for (let hasMore = true; hasMore; turns += 1) {
    const read = readCarrier(disk, path, cursor, budget);
    lines.push(...read.lines.map((line) => Buffer.from(line).toString("latin1")));
    oversized += read.oversized;
    unreadable ??= read.unreadable;
    ({ cursor, hasMore } = read);
  }
  const again = readCarrier(disk, path, cursor, budget);
  expect(again).toMatchObject({ lines: [], oversized: 0, hasMore: false, isAgain: false });
  return { lines, oversized, turns, unreadable };
}

const random = randomFrom(1);
const WORDS = Array.from({ length: 30_000 }, () => random().toString(36).slice(2, 18)).join("");

/** Lines of random lengths, now and then long ones. */
function textOf(seed: number, count: number): string {
  const next = randomFrom(seed);
  const line = (): string => {
    const length = 1 + Math.floor(next() * (next() < 0.02 ? 90_000 : 700));
    const at = Math.floor(next() * 300_000);
    return WORDS.slice(at, at + length);
  };
  return Array.from({ length: count }, () => `${line()}\n`).join("");
}

test("any members, any budget: the lines are those of the content", () => {
  fc.assert(
    fc.property(
      fc.nat(1_000),
      fc.array(fc.integer({ min: 600, max: 60_000 }), { minLength: 1, maxLength: 20 }),
      fc.record({
        bytes: fc.integer({ min: 1, max: 90_000 }),
        lines: fc.integer({ min: 1, max: 90 }),
      }),
      (seed, sizes, budget) => {
        const text = Buffer.from(textOf(seed, 80), "latin1");
        const members: Uint8Array[] = [];
        for (let at = 0, index = 0; at < text.length; index += 1) {
          const size = sizes[index % sizes.length] ?? MIB;
          const end = text.length - at - size < 600 ? text.length : at + size;
          members.push(gzipSync(text.subarray(at, end), { level: index % 10 }));
          at = end;
        }
        const read = readAll(diskWith(Buffer.concat(members)), budget);
        expect(read.lines).toEqual(text.toString("latin1").split("\n").slice(0, -1));
        expect(read).toMatchObject({ oversized: 0, unreadable: undefined });
      },
    ),
    { numRuns: amount(25, 3_000) },
  );
});

test("what we compress has members of at most 1 MiB, ends its last line, and gunzip reads it", () => {
  const text = textOf(3, 1_500);
  for (const content of [text, text.slice(0, -5), "", "a"]) {
    const disk = diskWith(Buffer.from(content, "latin1"), "/wire/forge.jsonl");
    const file = disk.open("/wire/forge.jsonl", "read");
    const members = [...pack(file)];
    for (const member of members) expect(gunzipSync(member).length).toBeLessThanOrEqual(MIB);
    const whole = content === "" || content.endsWith("\n") ? content : `${content}\n`;
    const packed = Buffer.concat(members);
    const { stdout } = spawnSync("gzip", ["-dc"], { input: packed, maxBuffer: 64 * MIB });
    expect(stdout.toString("latin1")).toBe(whole);
    disk.replace(PATH, packed, 0o600);
    const lines = [...carrierLines(disk.open(PATH, "read"))].map(({ bytes }) =>
      Buffer.from(bytes ?? []).toString("latin1"),
    );
    expect(lines).toEqual(whole.split("\n").slice(0, -1));
  }
});

test("a part that the program gzip has made in one piece, with a name in its header, is read", () => {
  const text = textOf(5, 1_000);
  const { stdout } = spawnSync(
    "sh",
    ["-c", "f=$(mktemp) && cat > $f && gzip -9 $f && cat $f.gz && rm $f.gz"],
    { input: Buffer.from(text, "latin1"), maxBuffer: 64 * MIB },
  );
  expect(stdout[3]).toBe(8);
  const read = readAll(diskWith(stdout), { bytes: 100_000, lines: 100 });
  expect(read.lines.join("\n")).toBe(text.trimEnd());
  expect(read.turns).toBeGreaterThan(5);
});

test("a line that is too long is skipped, over members and turns; the next ones are read", () => {
  const members = [
    "a\n",
    "y".repeat(MIB - 1),
    "y".repeat(MIB),
    "y".repeat(500_000),
    `z\n${"b".repeat(600)}\n`,
  ];
  const packed = Buffer.concat(members.map((member) => gzipSync(member.padEnd(600, "\n"))));
  const read = readAll(diskWith(packed), { bytes: 64 * 1024, lines: 64 });
  expect(read.lines[0]).toBe("a");
  expect(read.unreadable).toBe("it goes on for too long without a line");
  const short = [`a\n${"y".repeat(MIB)}`, `y\n${"b".repeat(600)}\n`];
  const other = readAll(diskWith(Buffer.concat(short.map((each) => gzipSync(each)))), {
    ...{ bytes: 64 * 1024, lines: 64 },
  });
  expect(other).toMatchObject({
    lines: ["a", "b".repeat(600)],
    oversized: 1,
    unreadable: undefined,
  });
});

test("a turn that ends within a long line goes on where that line begins", () => {
  const content = `${"a".repeat(100_000)}\n${"b".repeat(1_040_000)}\n${"c".repeat(9_000)}\n`;
  const members: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += 275_000)
    members.push(gzipSync(content.slice(at, at + 275_000)));
  const read = readAll(diskWith(Buffer.concat(members)), { bytes: MIB, lines: 100 });
  expect(read.lines.map((line) => [line[0], line.length])).toEqual([
    ["a", 100_000],
    ["b", 1_040_000],
    ["c", 9_000],
  ]);
  expect(read).toMatchObject({ turns: 3, oversized: 0, unreadable: undefined });
});

test("what is damaged is read up to there, and named once", () => {
  const good = gzipSync(`a\n${"b".repeat(700)}\n`);
  const budget = { bytes: MIB, lines: 100 };
  const cases: [string, Uint8Array][] = [
    ["its end is missing", Buffer.concat([good, good.subarray(0, -1)])],
    ["its end is missing", Buffer.concat([good, good.subarray(0, 5)])],
    ["it is no gzip file", Buffer.concat([good, Buffer.alloc(100)])],
    ["it is damaged", Buffer.concat([good, good.subarray(0, 10), Buffer.alloc(100, 0xff)])],
    ["it was compressed in too small pieces", Buffer.concat([good, gzipSync("c\n"), good])],
  ];
  for (const [problem, content] of cases) {
    const read = readAll(diskWith(content), budget);
    expect(read.unreadable).toBe(problem);
    expect(read.lines.slice(0, 2)).toEqual(["a", "b".repeat(700)]);
  }
  expect(readAll(diskWith(Buffer.from("no gzip at all")), budget)).toMatchObject({
    ...{ lines: [], unreadable: "it is no gzip file" },
  });
});

test("a bomb ends after one turn: of blanks, or of bytes without a newline", () => {
  const budget = { bytes: 64 * 1024, lines: 64 };
  const bombs = ["\n".repeat(4 * MIB), " ".repeat(4 * MIB), "\0".repeat(4 * MIB)];
  for (const bomb of bombs)
    expect(readAll(diskWith(gzipSync(bomb)), budget)).toMatchObject({
      ...{ lines: [], turns: 1, unreadable: "it goes on for too long without a line" },
    });
});

test("a part that was replaced is read from its beginning", () => {
  const budget = { bytes: 1, lines: 1 };
  const disk = diskWith(gzipSync("a\nb\n"));
  const { cursor } = readCarrier(disk, PATH, undefined, budget);
  disk.replace(PATH, gzipSync("c\nb\n"), 0o600);
  const read = readCarrier(disk, PATH, cursor, budget);
  expect(read.isAgain).toBe(true);
  expect(read.lines.map((line) => Buffer.from(line).toString())).toEqual(["c"]);
});
