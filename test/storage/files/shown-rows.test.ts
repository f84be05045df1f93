import { describe, expect, test } from "vitest";
import {
  newShownRows,
  openShownRows,
  type ShownRow,
} from "../../../src/storage/files/shown-rows.ts";
import { MemoryDisk } from "../../support/disk/memory-disk.ts";

const PATH = "/state/shown/a.rows";
const HEADER_BYTES = 24;
const ROW_BYTES = 24;

function rowOf(n: number): ShownRow {
  return { words: [n, 0xffffffff - n, Math.imul(n, 77) >>> 0, 3], tag: (n * 0x01010101) >>> 0 };
}

function rows(from: number, to: number): ShownRow[] {
  return Array.from({ length: to - from }, (_, at) => rowOf(from + at));
}

function written(count: number) {
  const disk = new MemoryDisk().process();
  const file = newShownRows(disk, PATH);
  file.write(0, rows(0, count));
  return { disk, file };
}

describe("rows of what a log has shown", () => {
  test("are read back, by this process and by the next one", () => {
    const { disk, file } = written(1_000);
    file.write(1_000, rows(1_000, 1_500));
    const next = openShownRows(disk, PATH, { mark: file.mark, rows: 1_500 });
    for (const each of [file, next]) {
      for (const n of [0, 255, 256, 999, 1_000, 1_499]) expect(each?.at(n)).toEqual(rowOf(n));
    }
  });

  test("behind those that a checkpoint counts are replaced", () => {
    const { disk, file } = written(10);
    const next = openShownRows(disk, PATH, { mark: file.mark, rows: 4 });
    next?.write(4, rows(20, 22));
    expect([next?.at(3), next?.at(4)]).toEqual([rowOf(3), rowOf(20)]);
    expect(disk.stat(PATH)?.size).toBe(HEADER_BYTES + 6 * ROW_BYTES);
  });

  test("are not opened for a checkpoint that counts more of them, or other ones", () => {
    const { disk, file } = written(10);
    const { mark } = file;
    expect(openShownRows(disk, PATH, { mark, rows: 11 })).toBeUndefined();
    file.write(0, rows(0, 10));
    expect(file.mark).not.toBe(mark);
    expect(openShownRows(disk, PATH, { mark, rows: 10 })).toBeUndefined();
    disk.remove(PATH);
    expect(openShownRows(disk, PATH, { mark: file.mark, rows: 1 })).toBeUndefined();
  });

  test.each([
    ["zeros, as after a power cut", Buffer.alloc(ROW_BYTES)],
    ["one bit that is another", undefined],
  ])("%s are found, and the file is emptied: no checkpoint fits any more", (_what, bytes) => {
    const { disk, file } = written(10);
    const at = HEADER_BYTES + 5 * ROW_BYTES;
    const whole = disk.open(PATH, "append");
    const before = Buffer.from(whole.read(1_000, 0));
    const damage = bytes ?? Buffer.from([before[at]! ^ 4]);
    damage.copy(before, at);
    whole.truncate(0);
    whole.append(before);
    whole.close();
    const next = openShownRows(disk, PATH, { mark: file.mark, rows: 10 });
    expect(next?.at(4)).toEqual(rowOf(4));
    expect(() => next?.at(5)).toThrow(expect.objectContaining({ code: "corrupt" }));
    expect(openShownRows(disk, PATH, { mark: file.mark, rows: 10 })).toBeUndefined();
  });

  test("a row at another row's place is no row", () => {
    const { disk, file } = written(3);
    const whole = disk.open(PATH, "append");
    const bytes = Buffer.from(whole.read(1_000, 0));
    whole.append(bytes.subarray(HEADER_BYTES, HEADER_BYTES + ROW_BYTES));
    whole.close();
    const next = openShownRows(disk, PATH, { mark: file.mark, rows: 4 });
    expect(() => next?.at(3)).toThrow(expect.objectContaining({ code: "corrupt" }));
  });
});
