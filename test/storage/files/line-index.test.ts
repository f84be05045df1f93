import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { threadDigits } from "../../../src/agent/state/indexed-journal.ts";
import { StorageError } from "../../../src/storage/disk/disk.ts";
import { openLineIndex, type IndexRange } from "../../../src/storage/files/line-index.ts";
import {
  idKey,
  logNumber,
  type IndexedLine,
  type LineRow,
} from "../../../src/storage/files/line-row.ts";
import { sha256Hex } from "../../../src/wire/canonical.ts";
import { MemoryDisk, type MemoryProcess } from "../../support/disk/memory-disk.ts";

const PATH = "/lines.index";
const hex = (length: number) =>
  fc.array(fc.constantFrom(...Array.from("0123456789abcdef")), {
    minLength: length,
    maxLength: length,
  });

/** Lines with growing entries, some of the same log, thread or beginning of an id. */
const manyLines = fc
  .array(
    fc.record({
      id: hex(6).map((digits) => digits.join("").padEnd(64, "3")),
      log: fc.constantFrom("a", "b", "c"),
      gap: fc.integer({ min: 1, max: 2 ** 40 }),
      start: fc.nat(2 ** 45),
      length: fc.nat(1_048_577),
      inbox: fc.option(fc.nat(2 ** 45), { nil: undefined }),
      thread: fc.option(
        fc.constantFrom(
          "0000000000000000",
          "000000000000000a",
          "0000000a00000000",
          "ffffffffffffffff",
        ),
        { nil: undefined },
      ),
      isAccepted: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((lines) => {
    let entry = 0;
    return lines.map(({ gap, ...line }): IndexedLine => ({ ...line, entry: (entry += gap) }));
  });

function filled(lines: readonly IndexedLine[], disk = new MemoryDisk().process()) {
  const index = openLineIndex(disk, PATH, 0);
  for (const line of lines) index.add(line);
  return index;
}

function numbered(count: number): IndexedLine[] {
  return Array.from({ length: count }, (_, at) => ({
    id: at.toString(16).padStart(16, "0").padEnd(64, "0"),
    ...{ log: "a", entry: at * 10, start: at, length: 1, inbox: at, thread: "000000000000000a" },
    isAccepted: true,
  }));
}

const everything = (): boolean => true;
const entriesOf = (lines: readonly IndexedLine[]): number[] => lines.map(({ entry }) => entry);

function zero(disk: MemoryProcess, from: number, length: number): void {
  const file = disk.open(PATH, "append");
  const bytes = Buffer.from(file.read(file.stat().size, 0));
  bytes.fill(0, from, from + length);
  file.truncate(0);
  file.append(bytes);
  file.close();
}

describe("the index of lines", () => {
  it("shows what was added, in whatever range and order it is asked", () => {
    fc.assert(
      fc.property(manyLines, fc.nat(), fc.nat(), fc.nat(5), (lines, a, b, most) => {
        const index = filled(lines);
        const shown: object[] = [];
        index.find(
          ({ entry, start, length, inbox, isAccepted, idKey: key }) =>
            shown.push({ entry, start, length, inbox, isAccepted, key }) > 0,
        );
        expect(shown).toEqual(
          lines.map(({ id, log: _log, thread: _thread, ...line }) => ({ ...line, key: idKey(id) })),
        );
        const entries = entriesOf(lines);
        const [from, before] = [entries[a % 50] ?? a, entries[b % 50] ?? b];
        const inRange = entries.filter((entry) => entry >= from && entry < before);
        const range = { from, before, most };
        expect(index.find(everything, range)).toEqual(inRange.slice(0, most));
        expect(index.find(everything, { ...range, order: "newest first" })).toEqual(
          inRange.toReversed().slice(0, most),
        );
      }),
    );
  });

  it("tells logs, threads and ids apart", () => {
    fc.assert(
      fc.property(manyLines, hex(64), fc.integer({ min: 6, max: 64 }), (lines, other, digits) => {
        const index = filled(lines);
        const found = (match: (row: LineRow) => boolean) => index.find(match);
        const ofLog = lines.filter(({ log }) => log === "b");
        expect(found((row) => row.log === logNumber("b"))).toEqual(entriesOf(ofLog));
        const inThread = lines.filter(
          ({ thread }) => thread === undefined || thread === "000000000000000a",
        );
        expect(index.find(everything, { thread: "000000000000000a" })).toEqual(entriesOf(inThread));
        for (const id of [...lines.map((line) => line.id), other.join("")]) {
          const prefix = id.slice(0, digits);
          const named = lines.filter((line) => line.id.startsWith(prefix.slice(0, 16)));
          expect(index.find(everything, { id: prefix })).toEqual(entriesOf(named));
        }
      }),
    );
  });

  it("keeps rows beyond what it holds in memory, and those alone that are known of it", () => {
    const disk = new MemoryDisk().process();
    const lines = numbered(10_000);
    const index = filled(lines, disk);
    expect(index.find(everything)).toEqual(entriesOf(lines));
    expect(index.find(({ inbox = 0 }) => inbox % 4_096 === 0, { from: 15 })).toEqual([
      40_960, 81_920,
    ]);
    index.close();
    const known = openLineIndex(disk, PATH, 9_000);
    expect(known.find(everything)).toEqual(entriesOf(lines.slice(0, 9_000)));
    known.add({ ...numbered(1)[0], entry: 90_000 } as IndexedLine);
    expect(known.find(everything, { from: 89_980 })).toEqual([89_980, 89_990, 90_000]);
    known.close();
    expect(openLineIndex(disk, PATH, 10_001).rows).toBe(0);
  });

  it("takes no zeros of a power cut for a row, and begins again when it is told to", () => {
    const disk = new MemoryDisk().process();
    const index = filled(numbered(100), disk);
    index.save();
    zero(disk, 44 * 50, 44);
    expect(() => index.find(everything)).toThrow(StorageError);
    index.clear();
    expect([index.rows, index.find(everything)]).toEqual([0, []]);
  });

  it("a write that fails leaves no part of a row, and loses none", () => {
    const disk = new MemoryDisk().process();
    const index = filled(numbered(100), disk);
    disk.failAt(1, "ENOSPC");
    expect(() => index.save()).toThrow(StorageError);
    index.save();
    expect(index.find(everything)).toEqual(entriesOf(numbered(100)));
    index.close();
    expect(openLineIndex(disk, PATH, 100).find(everything)).toHaveLength(100);
  });

  /** Each thread has three lines that follow each other; every thousandth does not say its thread. */
  function inThreads(count: number): IndexedLine[] {
    return numbered(count).map((line, at) => ({
      ...line,
      id: sha256Hex(Buffer.from(`line ${at}`)),
      thread: at % 1_000 === 999 ? undefined : threadDigits(`thread ${Math.floor(at / 3)}`),
    }));
  }

  it("finds each thread and id among many parts, also when parts were written piece by piece", () => {
    const disk = new MemoryDisk().process();
    const lines = inThreads(20_000);
    let index = openLineIndex(disk, PATH, 0);
    for (const [at, line] of lines.entries()) {
      index.add(line);
      if (at % 3_333 === 0) index.save();
      if (at % 7_001 === 0) {
        index.close();
        index = openLineIndex(disk, PATH, at + 1);
      }
    }
    for (let at = 0; at < lines.length; at += 97) {
      const { id, thread } = lines[at] as IndexedLine;
      if (thread === undefined) continue;
      const meant = lines.filter((line) => (line.thread ?? thread) === thread);
      expect(index.find(everything, { thread })).toEqual(entriesOf(meant));
      expect(index.find(everything, { thread, order: "newest first", most: 2 })).toEqual(
        entriesOf(meant).toReversed().slice(0, 2),
      );
      expect(index.find(everything, { id: id.slice(0, 8) })).toEqual([at * 10]);
    }
  });

  it("reads only parts that may have what is asked for", () => {
    const disk = new MemoryDisk().process();
    const lines = inThreads(30_000).map((line) => ({
      ...line,
      thread: line.thread ?? "1".repeat(16),
    }));
    filled(lines, disk).close();
    let bytesRead = 0;
    const counting = {
      open(...args: Parameters<MemoryProcess["open"]>) {
        const file = disk.open(...args);
        const read: typeof file.read = (length, at) => {
          bytesRead += length;
          return file.read(length, at);
        };
        return { stat: () => file.stat(), read } as typeof file;
      },
    } as unknown as MemoryProcess;
    const index = openLineIndex(counting, PATH, lines.length);
    const bytesFor = (range: IndexRange): number => {
      const before = bytesRead;
      index.find(everything, range);
      return bytesRead - before;
    };
    const { id, thread } = lines[5_000] as IndexedLine;
    const rest = 30_000 % 4_096;
    // The rows of its part and of the last one, which is not whole, and seven summaries.
    const least = (4_096 + rest) * 44 + 7 * 8_193;
    expect(bytesFor({})).toBe(30_000 * 44);
    for (const range of [{ thread }, { id }]) expect(bytesFor(range)).toBe(least);
  });

  it("takes no zeros of a power cut for a summary: nothing would be found in its part", () => {
    const disk = new MemoryDisk().process();
    const index = filled(inThreads(5_000), disk);
    index.save();
    zero(disk, 44 * 4_096, 8_193);
    expect(() => index.find(everything, { thread: threadDigits("thread 1") })).toThrow(
      StorageError,
    );
  });
});
