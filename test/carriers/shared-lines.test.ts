import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveFile, compressPart, PartNames } from "../../src/carriers/archive.ts";
import { SharedLines } from "../../src/carriers/shared-lines.ts";
import type { Disk } from "../../src/storage/disk/disk.ts";
import { nodeDisk } from "../../src/storage/disk/node-disk.ts";

const disk = nodeDisk();
const FILE = "decisions.jsonl";
let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "shared-lines-"));
});
afterAll(() => {
  rmSync(root, { recursive: true });
});

/** A wire's folder whose shared file begins so. */
function wireWith(text?: string): { readonly dir: string; readonly path: string } {
  const dir = mkdtempSync(join(root, "wire-"));
  const path = join(dir, FILE);
  if (text !== undefined) writeFileSync(path, text);
  return { dir, path };
}

function textOf(lines: readonly Uint8Array[]): string[] {
  return lines.map((line) => Buffer.from(line).toString());
}

const needed = (): boolean => true;
const line = (text: string): Uint8Array => Buffer.from(text);

describe("a file that every agent writes (spec 4.8)", () => {
  test("two writers see each other's lines under the lock, and of one line there is one", () => {
    const { dir, path } = wireWith();
    const some = new SharedLines(disk, dir, FILE);
    const other = new SharedLines(disk, dir, FILE);
    expect(some.append(line("{}"), needed)).toBe(true);
    const isNew = other.append(line("{}"), ({ lines }) => !textOf(lines).includes("{}"));
    expect(isNew).toBe(false);
    expect(readFileSync(path, "utf8")).toBe("{}\n");
  });

  test("an unterminated last line is ended, and what it says is handed over before", () => {
    const { dir, path } = wireWith("one\ntw");
    const lines = new SharedLines(disk, dir, FILE);
    expect(textOf(lines.read().lines)).toEqual(["one"]);
    let news: string[] = [];
    lines.append(line("three"), (read) => {
      news = textOf(read.lines);
      return true;
    });
    expect(news).toEqual(["tw"]);
    expect(readFileSync(path, "utf8")).toBe("one\ntw\nthree\n");
  });

  test("a cursor that was kept goes on behind what was read, also with our own line", () => {
    const { dir, path } = wireWith("one\n");
    const first = new SharedLines(disk, dir, FILE);
    first.read();
    first.append(line("two"), needed);
    appendFileSync(path, "three\n");
    const next = new SharedLines(disk, dir, FILE, first.cursor);
    expect(textOf(next.read().lines)).toEqual(["two", "three"]);
    expect(next.read()).toEqual({ lines: [], isAgain: false, hasMore: false });
  });

  test("a file that was cut or replaced is read again from its beginning", () => {
    const { dir, path } = wireWith("one\ntwo\n");
    const lines = new SharedLines(disk, dir, FILE);
    lines.read();
    truncateSync(path, 4);
    expect(lines.read()).toMatchObject({ isAgain: true, lines: [line("one")] });
    writeFileSync(path, "other\nlines\n");
    expect(textOf(lines.read().lines)).toEqual(["other", "lines"]);
    rmSync(path);
    expect(lines.read()).toEqual({ lines: [], isAgain: true, hasMore: false });
    writeFileSync(path, "new\n");
    expect(textOf(lines.read().lines)).toEqual(["new"]);
  });

  test("archived parts are read before the live file, the earlier parts first", () => {
    const names = new PartNames();
    const { dir, path } = wireWith();
    const entry = (name: string): string =>
      JSON.stringify({ name, ratified_at: "2026-06-01T11:00:00.000000Z" });
    for (const name of ["one", "two"]) {
      appendFileSync(path, `${entry(name)}\n`);
      archiveFile(disk, dir, names, FILE, { year: 2026 });
    }
    compressPart(disk, join(dir, "archive/2026/decisions.jsonl"));
    appendFileSync(path, `${entry("three")}\n`);
    const lines = new SharedLines(disk, dir, FILE);
    const named = ({ lines: read }: { readonly lines: readonly Uint8Array[] }): unknown[] =>
      textOf(read).map((text) => (JSON.parse(text) as { name: string }).name);
    expect(named(lines.read())).toEqual(["one", "two", "three"]);
    archiveFile(disk, dir, names, FILE, { year: 2026 });
    expect(named(lines.read())).toEqual(["one", "two", "three"]);
  });

  test("what is archived or compressed while it is read is read all the same", () => {
    const { dir, path } = wireWith();
    const entry = JSON.stringify({ name: "one", ratified_at: "2026-06-01T11:00:00.000000Z" });
    for (const move of [
      () => archiveFile(disk, dir, new PartNames(), FILE, { year: 2026 }),
      () => compressPart(disk, join(dir, "archive/2026/decisions.jsonl")),
    ]) {
      if (!existsSync(path)) appendFileSync(path, `${entry}\n`);
      const moves = [move];
      const busy = new Proxy(disk, {
        get: (each, name: keyof Disk) => {
          if (name === "open") moves.pop()?.();
          return each[name].bind(each);
        },
      });
      const lines = new SharedLines(busy, dir, FILE);
      let [news, isMore] = [new Set<string>(), true];
      while (isMore) {
        const read = lines.read();
        news = new Set([...(read.isAgain ? [] : news), ...textOf(read.lines)]);
        isMore = read.hasMore;
      }
      expect([...news]).toEqual([entry]);
    }
  });

  test("however much a peer appends, one read takes a portion, and nothing is written before the end", () => {
    const { dir, path } = wireWith("junk\n".repeat(25));
    const lines = new SharedLines(disk, dir, FILE, undefined, { bytes: 1_000, lines: 10 });
    const sizes: number[] = [];
    let appended = false;
    while (!appended)
      appended = lines.append(line("ours"), (read) => {
        sizes.push(read.lines.length);
        return true;
      });
    expect(sizes).toEqual([10, 10, 5]);
    expect(readFileSync(path, "utf8").endsWith("junk\nours\n")).toBe(true);
  });

  test("a writer that waits for the lock in vain writes nothing", () => {
    const { dir, path } = wireWith("one\n");
    const holder = disk.open(path, "append");
    expect(holder.lock(0)).toBe(true);
    const lines = new SharedLines(disk, dir, FILE);
    expect(() => lines.append(line("two"), needed)).toThrow(/locked/u);
    holder.close();
    expect(lines.append(line("two"), needed)).toBe(true);
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
  });
});
