import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readCarrier } from "../../src/carriers/reader.ts";
import { MemoryDisk } from "../support/disk/memory-disk.ts";

const PATH = "/wire/forge.jsonl.gz";

test("a part in one piece is read up to 256 MiB of content; a larger one is named after one turn", () => {
  const disk = new MemoryDisk().process();
  disk.makeFolder("/wire", 0o700);
  const budget = { bytes: 1024, lines: 10 };
  const readPiece = (bytes: number): ReturnType<typeof readCarrier> => {
    disk.replace(PATH, gzipSync(Buffer.alloc(bytes, "{}\n")), 0o600);
    return readCarrier(disk, PATH, undefined, budget);
  };
  const most = 256 * 1024 * 1024;
  const read = readPiece(most);
  expect(read).toMatchObject({ hasMore: true });
  expect(read.lines).toHaveLength(10);
  const larger = readPiece(most + 1);
  expect(larger).toMatchObject({ lines: [], hasMore: false });
  expect(larger.unreadable).toContain("in one piece");
  expect(readCarrier(disk, PATH, larger.cursor, budget).cursor).toEqual(larger.cursor);
});
